/**
 * Lists of e-mails and conversations: their own parameters and the words of `search` become the one request value that every
 * list is planned from, so that grants hold for each field that a word stands for.
 */
import type { WordColumn, WordTerm } from '../../database/dialect.ts';
import { numbersPerSecond } from '../../database/mail/mail-writer.ts';
import { ApiError, notTruth } from '../../protocol/api-error.ts';
import { parseJson } from '../../protocol/json-text.ts';
import type { AskedRecordRequest } from '../../protocol/record-request.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { requireGrant } from '../../records/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { isMailboxRole } from '../../schema/mailbox-roles.ts';
import { absentToken, markedStem, signTokens } from './indexed-text.ts';
import { parseSearch, type SearchedText, type SearchTerm } from './search-words.ts';
import { endsInWord, readWords, searchTokens, type TextWord } from './text-words.ts';
import { isStopWord, searchedStems } from './word-stems.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Filter = Readonly<Record<string, unknown>>;

/** Parameters of these lists beside those of every list. */
export const mailParameters = [
  'unread',
  'starred',
  'folder',
  'accountId',
  'conversationId',
  'hasAttachment',
  'from',
  'to',
  'before',
] as const;

const searched = new Set(['emails', 'conversations']);
/** Folders that a list leaves out unless the request names a folder. */
const putAside = ['trash', 'junk'];
/** Messages that have not been sent: a list leaves them out too, a search finds them. */
const unsent = ['drafts', 'outbox'];
/** Fields that a role must be allowed to read to search a column. */
const searchedFields: Readonly<Record<WordColumn, readonly string[]>> = {
  subject: ['subject'],
  sender: ['from'],
  recipients: ['to', 'cc'],
  body: ['content'],
  files: ['attachments'],
};
const everywhere: readonly WordColumn[] = ['subject', 'sender', 'recipients', 'body', 'files'];
/** Where the words of an operator are looked for. */
const columnOf = {
  from: 'sender',
  to: 'recipients',
  cc: 'recipients',
  bcc: 'recipients',
  subject: 'subject',
  filename: 'files',
} as const satisfies Readonly<Record<string, WordColumn>>;
/** An unfinished word of fewer characters is taken as it stands: it is the beginning of too many. */
const minBeginning = 3;

export function isSearched(collection: string): boolean {
  return searched.has(collection);
}

/**
 * @throws ApiError 400 naming the parameter or the word that is none, 403 for what the role may not read.
 */
export function askedMail(
  collection: string,
  parameters: Parameters,
  fromText: boolean,
  context: RecordContext,
): AskedRecordRequest {
  const asked = new AskedMail(collection, context);
  const rest = asked.take(parameters);
  const isText = fromText && typeof rest['filter'] === 'object';
  const isEmails = collection === 'emails';
  const given = {
    ...rest,
    sort: rest['sort'] ?? (isEmails ? '-id' : '-lastEmailId'),
    count: rest['count'] ?? 'none',
    filter: asked.filterWith(rest['filter']),
  };
  const request = withFolders(normaliseRequest('list', given, isText), asked.folders);
  const { expression } = asked;
  if (expression === null) return request;
  const values = [...request.values, expression];
  const words = { slot: values.length - 1, plain: asked.isPlain };
  return { ...request, values, words, shape: `${request.shape} words ${values.length} ${words.plain}` };
}

/** A folder by its role, or the path of a mailbox without one; `not`: what does not lie there. */
export interface AskedFolder {
  readonly folder: string;
  readonly not: boolean;
}

/** A request for what lies in folders: any placement of an e-mail counts. */
export function withFolders(request: AskedRecordRequest, folders: readonly AskedFolder[]): AskedRecordRequest {
  if (folders.length === 0) return request;
  const first = request.values.length;
  const placed = folders.map(({ not }, index) => ({ slot: first + index, not }));
  const values = [...request.values, ...folders.map(({ folder }) => folder)];
  return { ...request, values, placed, shape: `${request.shape} placed ${first} ${folders.map(({ not }) => not)}` };
}

class AskedMail {
  readonly #isEmails: boolean;
  readonly #context: RecordContext;
  readonly #conditions: Filter[] = [];
  readonly #terms: WordTerm[] = [];
  readonly folders: AskedFolder[] = [];
  /** Somebody said which folder is meant. */
  #placed = false;
  #isSearch = false;
  /** The search asks for a text that has no words. */
  #isWithoutWords = false;

  constructor(collection: string, context: RecordContext) {
    this.#isEmails = collection === 'emails';
    this.#context = context;
  }

  /** Takes what is mail's own out of the parameters; returns the others. */
  take(parameters: Parameters): Record<string, unknown> {
    const { search, unread, starred, folder, accountId, conversationId, hasAttachment, from, to, before, ...others } =
      parameters;
    const rest: Record<string, unknown> = others;
    this.#isSearch = search !== undefined && search !== null && search !== '';
    if (search !== undefined && search !== null)
      for (const term of parseSearch(textOf('search', search))) this.#add(term);
    // A search for nothing but signs finds nothing, and not everything.
    if (this.#isWithoutWords && this.#terms.length === 0) this.#find([absentToken], everywhere, false);
    const given = { phrase: true, unfinished: false };
    if (from !== undefined) this.#add({ negated: false, kind: 'from', text: textOf('from', from), ...given });
    if (to !== undefined) this.#add({ negated: false, kind: 'to', text: textOf('to', to), ...given });
    if (before !== undefined) this.#add({ negated: false, kind: 'before', at: dayOf('before', before) });
    if (isDay(rest['after'])) {
      this.#add({ negated: false, kind: 'after', at: dayOf('after', rest['after']) });
      delete rest['after'];
    }
    if (folder !== undefined) this.#inFolder(textOf('folder', folder), false);
    if (unread !== undefined) this.#state('unread', truthOf('unread', unread));
    if (starred !== undefined) this.#state('starred', truthOf('starred', starred));
    if (hasAttachment !== undefined) this.#attached(truthOf('hasAttachment', hasAttachment));
    if (accountId !== undefined) this.#conditions.push({ accountId: keyOf('accountId', accountId) });
    if (conversationId !== undefined) this.#ofConversation(keyOf('conversationId', conversationId));
    return rest;
  }

  /** The filter of the request with all conditions. What is put aside is left out where nobody says what is meant. */
  filterWith(given: unknown): unknown {
    const filter = typeof given === 'string' && given.trim() !== '' ? parsed(given) : given;
    const whole = !this.#placed && (filter === undefined || filter === null || filter === '');
    const aside = whole ? this.#withoutAside() : [];
    const all = [...(filter ? [filter] : []), ...this.#conditions, ...aside];
    return all.length === 0 ? undefined : { $and: all };
  }

  /** What the index is asked for; null where no words are. */
  get expression(): string | null {
    return this.#terms.length === 0 ? null : this.#context.database.dialect.words.expression(this.#terms);
  }

  /** Whether the index is asked for whole words alone. */
  get isPlain(): boolean {
    return this.#terms.every(({ words, prefix }) => words.length === 1 && !prefix);
  }

  #add(term: SearchTerm): void {
    switch (term.kind) {
      case 'text':
        this.#words(term, everywhere, term.negated, false);
        break;
      case 'from':
      case 'to':
      case 'cc':
      case 'bcc':
      case 'subject':
      case 'filename':
        this.#words(term, [columnOf[term.kind]], term.negated, true);
        break;
      case 'in':
        this.#inFolder(term.mailbox, term.negated);
        break;
      case 'has':
        this.#attached(!term.negated);
        break;
      case 'is':
        this.#state(term.state === 'read' ? 'unread' : term.state, (term.state === 'read') === term.negated);
        break;
      case 'larger':
        this.#sized('$gt', term.bytes, term.negated);
        break;
      case 'smaller':
        this.#sized('$lt', term.bytes, term.negated);
        break;
      case 'before':
        this.#received('$lt', term.at, term.negated);
        break;
      case 'after':
        this.#received('$gte', term.at, term.negated);
        break;
    }
  }

  /** @param named the request names the columns: they must be readable; else those that are count. */
  #words(searched: SearchedText, columns: readonly WordColumn[], not: boolean, named: boolean): void {
    const { text } = searched;
    const words = [...readWords(text)].slice(0, 50);
    const signs = signTokens(text);
    if (words.length + signs.length === 0) {
      this.#isWithoutWords ||= !not;
      return;
    }
    const readable = columns.filter((each) => this.#mayRead(each));
    if (readable.length === 0 || (named && readable.length < columns.length))
      throw new ApiError('FIELD_DENIED', `The role may not search ${columns.join(', ')} of emails.`);
    // An e-mail that lacks the words is left out already.
    for (const sign of not && words.length > 0 ? [] : signs) this.#find([sign], readable, not);
    if (words.length === 0) return;
    const { tokens, isPart } = searchTokens(words);
    const prefix = isPart || isExplicitBeginning(text, words) || (!not && isBeginning(searched, words));
    this.#terms.push({ columns: readable, words: tokens, prefix, stems: stemsFor(searched, words), not });
  }

  #find(tokens: readonly string[], columns: readonly WordColumn[], not: boolean): void {
    this.#terms.push({ columns, words: tokens, prefix: false, stems: [], not });
  }

  #mayRead(column: WordColumn): boolean {
    const { registry } = this.#context;
    const emails = registry.get('emails');
    const grant = requireGrant(this.#context, emails, 'list');
    return searchedFields[column].every((name) => grant.may(emails.byName.get(name)!));
  }

  #sized(operator: '$gt' | '$lt', bytes: number, not: boolean): void {
    const size = { size: { [operator]: bytes } };
    const condition = this.#isEmails ? size : { emails: size };
    this.#conditions.push(not ? { $not: condition } : condition);
  }

  #state(state: 'unread' | 'starred', wanted: boolean): void {
    if (this.#isEmails) this.#conditions.push(state === 'unread' ? { read: !wanted } : { starred: wanted });
    else this.#conditions.push({ [state]: wanted ? { $gt: 0 } : 0 });
  }

  #attached(wanted: boolean): void {
    if (this.#isEmails) this.#conditions.push({ hasAttachments: wanted });
    else this.#conditions.push({ attachments: wanted ? { $gt: 0 } : 0 });
  }

  #inFolder(name: string, not: boolean): void {
    this.#placed = true;
    const role = name.toLowerCase();
    const folder = isMailboxRole(role) ? role : name;
    this.folders.push({ folder, not });
  }

  #received(operator: '$lt' | '$gte', at: number, not: boolean): void {
    const field = this.#isEmails ? 'receivedAt' : 'lastAt';
    const condition = { [field]: { [operator]: new Date(at).toISOString() } };
    this.#conditions.push(not ? { $not: condition } : condition);
    // The key of an e-mail begins with its second: a list need not walk to that moment.
    const key = this.#isEmails ? 'id' : 'lastEmailId';
    if (not || !this.#mayFilter(this.#isEmails ? 'emails' : 'conversations', key)) return;
    const second = operator === '$gte' ? Math.floor(at / 1000) : Math.ceil(at / 1000);
    this.#conditions.push({ [key]: { [operator]: firstKeyOf(second) } });
  }

  #ofConversation(id: number): void {
    this.#placed = true;
    this.#conditions.push(this.#isEmails ? { conversationId: id } : { id });
  }

  #withoutAside(): Filter[] {
    if (!this.#isEmails) return this.#mayFilter('conversations', 'messages') ? [{ messages: { $gt: 0 } }] : [];
    const left = this.#isSearch ? putAside : [...putAside, ...unsent];
    return this.#mayFilter('emails', 'folder') ? [{ folder: { $notIn: left } }] : [];
  }

  #mayFilter(collection: string, name: string): boolean {
    const field = this.#context.registry.get(collection).byName.get(name)!;
    return this.#context.grantOf(collection, 'list')?.may(field) ?? false;
  }
}

/**
 * `word*`.
 *
 * @throws ApiError 400 for a beginning of one character: nearly all e-mails have it.
 */
function isExplicitBeginning(text: string, words: readonly TextWord[]): boolean {
  const last = words.at(-1);
  if (!text.endsWith('*') || last === undefined || last.isCjk) return false;
  if (last.word.length > 1) return true;
  const why = `${text.slice(-40).toWellFormed()} is too short; a beginning has at least two characters.`;
  throw new ApiError('PARAMETER_INVALID', `The search cannot be read. ${why}`, { details: { search: why } });
}

/** Whether the last word is taken as the beginning of one: somebody may still be typing. */
function isBeginning({ text, unfinished }: SearchedText, words: readonly TextWord[]): boolean {
  const last = words.at(-1);
  if (!unfinished || last === undefined || last.isCjk || !endsInWord(text)) return false;
  return last.word.length >= minBeginning && !isStopWord(last.word);
}

/** Tokens that other forms of a word have. A phrase is looked for as it stands, and so are words joined by signs (`apt-get`). */
function stemsFor({ text, phrase }: SearchedText, words: readonly TextWord[]): string[] {
  const [word, ...others] = words;
  if (word === undefined || others.length > 0 || phrase || text.endsWith('*')) return [];
  const found = searchedStems(word);
  return [...found.stems.map(markedStem), ...found.words];
}

/** The lowest key of an e-mail that was received in a second since the epoch, or later. */
function firstKeyOf(second: number): number {
  return Math.min(Math.max(0, second) * numbersPerSecond, Number.MAX_SAFE_INTEGER);
}

function textOf(name: string, input: unknown): string {
  if (typeof input === 'string') return input;
  if (typeof input === 'number') return String(input);
  throw new ApiError('PARAMETER_INVALID', `${name} must be text.`);
}

function truthOf(name: string, input: unknown): boolean {
  if (input === true || input === 'true' || input === '1' || input === null || input === '') return true;
  if (input === false || input === 'false' || input === '0') return false;
  throw notTruth(name);
}

function keyOf(name: string, input: unknown): number {
  const key = typeof input === 'string' && /^\d{1,15}$/.test(input) ? Number(input) : input;
  if (typeof key === 'number' && Number.isSafeInteger(key)) return key;
  throw new ApiError('PARAMETER_INVALID', `${name} must be the id of a record.`);
}

/** A cursor never looks like one. */
function isDay(input: unknown): boolean {
  return typeof input === 'string' && /^\d{4}-\d\d-\d\d/.test(input);
}

function dayOf(name: string, input: unknown): number {
  const moment = isDay(input) ? Date.parse(input as string) : Number.NaN;
  if (Number.isFinite(moment)) return moment;
  throw new ApiError('PARAMETER_INVALID', `${name} takes a day such as 2026-03-01, or a moment in ISO 8601.`);
}

function parsed(text: string): unknown {
  return parseJson(text, () => new ApiError('PARAMETER_INVALID', 'filter is not valid JSON.'));
}
