/**
 * Lists of e-mails and conversations. Their own parameters and the words of `search` are converted to a normal record
 * request, so that the grants apply to each field that a search word refers to.
 */
import { hasOwnRowFilter } from '../../access/grants.ts';
import type { FullTextColumn, FullTextTerm } from '../../database/full-text-index.ts';
import { keysPerSecond } from '../../database/mail/email-keys.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { requireRelationAccess } from '../../query/filter-plan.ts';
import { requireGrant } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { requireRelation } from '../../schema/field-parts.ts';
import { type Field, getField } from '../../schema/registry.ts';
import { isMailboxRole } from '../collections/mailbox-roles.ts';
import { absentToken, extractEmojiTokens, toStemToken } from './indexed-text.ts';
import { isDay, parseBoolean, parseDay, parseFilterJson, parseListKey, parseText } from './list-parameters.ts';
import { parseSearch, type SearchedText, type SearchTerm } from './search-query.ts';
import { parseTeamConditions } from './team-conditions.ts';
import { endsInWord, readWords, searchTokens, type TextWord } from './text-words.ts';
import { findSearchStems, isStopWord } from './word-stems.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Filter = Readonly<Record<string, unknown>>;

/** Parameters that only these lists have. */
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
  'label',
  'state',
  'assigneeId',
  'muted',
] as const;

const searchableCollections = new Set(['emails', 'conversations']);
/** Folders that a list leaves out unless the request names a folder. */
const hiddenFolders = ['trash', 'junk'];
/** Messages that have not been sent: lists omit them too, but a search finds them. */
const unsent = ['drafts', 'outbox'];
/** Fields of e-mails that a role must be allowed to read to search a column. */
const searchedFields: Readonly<Record<FullTextColumn, readonly string[]>> = {
  subject: ['subject'],
  sender: ['from'],
  recipients: ['to', 'cc', 'content'], // Bcc is a part of the content
  body: ['content'],
  files: ['attachments'],
};
const everywhere: readonly FullTextColumn[] = ['subject', 'sender', 'recipients', 'body', 'files'];
/** The column that a search operator searches. */
const columnByOperator = {
  from: 'sender',
  to: 'recipients',
  cc: 'recipients',
  bcc: 'recipients',
  subject: 'subject',
  filename: 'files',
} as const satisfies Readonly<Record<string, FullTextColumn>>;
/** A shorter unfinished word is searched as a whole word, because too many words begin with it. */
const minPrefixLength = 3;

/** Whether lists of a collection have the parameters of mail lists and the mail search. */
export function isSearchable(collection: string): boolean {
  return searchableCollections.has(collection);
}

/** @throws ApiError 400 naming the invalid parameter or search word, 403 for fields that the role may not read. */
export function parseMailListRequest(
  collection: string,
  parameters: Parameters,
  fromText: boolean,
  context: RecordContext,
): RecordRequest {
  const parser = new MailListRequestParser(collection, context);
  const rest = parser.parse(parameters);
  const isText = fromText && typeof rest['filter'] === 'object';
  const isEmails = collection === 'emails';
  const given = {
    ...rest,
    sort: rest['sort'] ?? (isEmails ? '-id' : '-lastEmailId'),
    count: rest['count'] ?? 'none',
    filter: parser.combineFilter(rest['filter']),
  };
  const request = addFolderConditions(normaliseRequest('list', given, isText), parser.folders);
  const { expression } = parser;
  if (expression === null) return request;
  const values = [...request.values, expression];
  const fullText = { slot: values.length - 1, plain: parser.hasOnlyWholeWords };
  return { ...request, values, fullText, shape: `${request.shape} words ${values.length} ${fullText.plain}` };
}

/** A folder by its role, or by the path of a mailbox without a role; `not`: e-mails outside of the folder. */
export interface FolderCondition {
  readonly folder: string;
  readonly not: boolean;
}

/** A request for the e-mails in folders: any placement of an e-mail counts. */
export function addFolderConditions(request: RecordRequest, folders: readonly FolderCondition[]): RecordRequest {
  if (folders.length === 0) return request;
  const first = request.values.length;
  const placed = folders.map(({ not }, index) => ({ slot: first + index, not }));
  const values = [...request.values, ...folders.map(({ folder }) => folder)];
  return {
    ...request,
    values,
    folders: placed,
    shape: `${request.shape} placed ${first} ${folders.map(({ not }) => not)}`,
  };
}

class MailListRequestParser {
  readonly #isEmails: boolean;
  readonly #context: RecordContext;
  readonly #conditions: Filter[] = [];
  readonly #terms: FullTextTerm[] = [];
  readonly folders: FolderCondition[] = [];
  /** The request names a folder. */
  #isFolderNamed = false;
  #isSearch = false;
  /** The search contains a text without words. */
  #hasNoWords = false;

  constructor(collection: string, context: RecordContext) {
    this.#isEmails = collection === 'emails';
    this.#context = context;
  }

  /** Extracts the parameters of mail lists; returns the others. */
  parse(parameters: Parameters): Record<string, unknown> {
    const {
      search,
      unread,
      starred,
      folder,
      accountId,
      conversationId,
      hasAttachment,
      from,
      to,
      before,
      label,
      ...more
    } = parameters;
    const { conditions, rest } = parseTeamConditions(more);
    this.#conditions.push(...(this.#isEmails ? conditions.map((conversation) => ({ conversation })) : conditions));
    this.#isSearch = search !== undefined && search !== null && search !== '';
    if (search !== undefined && search !== null)
      for (const term of parseSearch(parseText('search', search))) this.#add(term);
    // A search without any letter or digit finds nothing, instead of everything.
    if (this.#hasNoWords && this.#terms.length === 0) this.#addTokens([absentToken], everywhere, false);
    const given = { phrase: true, unfinished: false };
    if (from !== undefined) this.#add({ negated: false, kind: 'from', text: parseText('from', from), ...given });
    if (to !== undefined) this.#add({ negated: false, kind: 'to', text: parseText('to', to), ...given });
    if (label !== undefined) this.#filterByLabel(parseText('label', label).normalize('NFC'), false);
    if (before !== undefined) this.#add({ negated: false, kind: 'before', time: parseDay('before', before) });
    if (isDay(rest['after'])) {
      this.#add({ negated: false, kind: 'after', time: parseDay('after', rest['after']) });
      delete rest['after'];
    }
    if (folder !== undefined) this.#filterByFolder(parseText('folder', folder), false);
    if (unread !== undefined) this.#filterByState('unread', parseBoolean('unread', unread));
    if (starred !== undefined) this.#filterByState('starred', parseBoolean('starred', starred));
    if (hasAttachment !== undefined) this.#filterByAttachment(parseBoolean('hasAttachment', hasAttachment));
    if (accountId !== undefined) this.#conditions.push({ accountId: parseListKey('accountId', accountId) });
    if (conversationId !== undefined) this.#filterByConversation(parseListKey('conversationId', conversationId));
    return rest;
  }

  /**
   * The filter of the request with all conditions. Folders that lists omit by default are omitted unless the request
   * names a folder.
   */
  combineFilter(given: unknown): unknown {
    const filter = typeof given === 'string' && given.trim() !== '' ? parseFilterJson(given) : given;
    const whole = !this.#isFolderNamed && (filter === undefined || filter === null || filter === '');
    const folderConditions = whole ? this.#hideFolders() : [];
    const conditions = [...(filter ? [filter] : []), ...this.#conditions, ...folderConditions];
    return conditions.length === 0 ? undefined : { $and: conditions };
  }

  /** The search in the full-text index; null without words. */
  get expression(): string | null {
    return this.#terms.length === 0 ? null : this.#context.database.fullText.expression(this.#terms);
  }

  /** Whether the search only consists of whole words. */
  get hasOnlyWholeWords(): boolean {
    return this.#terms.every(({ words, prefix }) => words.length === 1 && !prefix);
  }

  #add(term: SearchTerm): void {
    switch (term.kind) {
      case 'text':
        this.#addText(term, everywhere, term.negated, false);
        break;
      case 'from':
      case 'to':
      case 'cc':
      case 'bcc':
      case 'subject':
      case 'filename':
        this.#addText(term, [columnByOperator[term.kind]], term.negated, true);
        break;
      case 'in':
        this.#filterByFolder(term.mailbox, term.negated);
        break;
      case 'label':
        this.#filterByLabel(term.label, term.negated);
        break;
      case 'has':
        this.#filterByAttachment(!term.negated);
        break;
      case 'is':
        this.#filterByState(term.state === 'read' ? 'unread' : term.state, (term.state === 'read') === term.negated);
        break;
      case 'larger':
        this.#filterBySize('$gt', term.bytes, term.negated);
        break;
      case 'smaller':
        this.#filterBySize('$lt', term.bytes, term.negated);
        break;
      case 'before':
        this.#filterByReceivedAt('$lt', term.time, term.negated);
        break;
      case 'after':
        this.#filterByReceivedAt('$gte', term.time, term.negated);
        break;
    }
  }

  /**
   * @param areColumnsNamed the request names the columns, so all of them must be readable; otherwise only readable
   * columns are searched.
   */
  #addText(
    searchedText: SearchedText,
    columns: readonly FullTextColumn[],
    not: boolean,
    areColumnsNamed: boolean,
  ): void {
    const { text } = searchedText;
    const words = [...readWords(text)].slice(0, 50);
    const emojis = extractEmojiTokens(text);
    if (words.length + emojis.length === 0) {
      this.#hasNoWords ||= !not;
      return;
    }
    const readable = columns.filter((each) => this.#canRead(each));
    if (readable.length === 0 || (areColumnsNamed && readable.length < columns.length))
      throw new ApiError('FIELD_DENIED', `The role may not search ${columns.join(', ')} of emails.`);
    // E-mails without the words are already excluded.
    for (const emoji of not && words.length > 0 ? [] : emojis) this.#addTokens([emoji], readable, not);
    if (words.length === 0) return;
    const { tokens, isPart } = searchTokens(words);
    const prefix = isPart || isExplicitPrefix(text, words) || (!not && isPrefixSearch(searchedText, words));
    this.#terms.push({ columns: readable, words: tokens, prefix, stems: findStemTokens(searchedText, words), not });
  }

  #addTokens(tokens: readonly string[], columns: readonly FullTextColumn[], not: boolean): void {
    this.#terms.push({ columns, words: tokens, prefix: false, stems: [], not });
  }

  #canRead(column: FullTextColumn): boolean {
    const emails = this.#context.registry.get('emails');
    const grant = requireGrant(this.#context, emails, 'list');
    const fields = searchedFields[column].map((name) => getField(emails, name));
    return fields.every((field) => grant.may(field) && (field.relation === null || this.#canFollow(field)));
  }

  /**
   * Texts and files are stored next to an e-mail. The index contains all of them, so a role may only search them if it
   * may read all of them.
   */
  #canFollow(field: Field): boolean {
    const { registry, findGrant, caller, access: table } = this.#context;
    const target = registry.get(requireRelation(field).target);
    try {
      const { grant } = requireRelationAccess(field, registry.get('emails'), target, { registry, findGrant });
      if (target.internal) return true;
      const isLimited = hasOwnRowFilter(caller.role, target.name, 'list', { table, registry });
      return !isLimited && grant.may(getField(target, 'filename'));
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  #filterBySize(operator: '$gt' | '$lt', bytes: number, not: boolean): void {
    const size = { size: { [operator]: bytes } };
    const condition = this.#isEmails ? size : { emails: size };
    this.#conditions.push(not ? { $not: condition } : condition);
  }

  #filterByState(state: 'unread' | 'starred', wanted: boolean): void {
    if (this.#isEmails) this.#conditions.push(state === 'unread' ? { read: !wanted } : { starred: wanted });
    else this.#conditions.push({ [state]: wanted ? { $gt: 0 } : 0 });
  }

  #filterByLabel(label: string, not: boolean): void {
    this.#conditions.push({ labels: { [not ? '$noneOf' : '$anyOf']: [label] } });
  }

  #filterByAttachment(wanted: boolean): void {
    if (this.#isEmails) this.#conditions.push({ hasAttachments: wanted });
    else this.#conditions.push({ attachments: wanted ? { $gt: 0 } : 0 });
  }

  #filterByFolder(name: string, not: boolean): void {
    this.#isFolderNamed = true;
    const role = name.toLowerCase();
    const folder = isMailboxRole(role) ? role : name;
    this.folders.push({ folder, not });
  }

  #filterByReceivedAt(operator: '$lt' | '$gte', time: number, not: boolean): void {
    const field = this.#isEmails ? 'receivedAt' : 'lastAt';
    const condition = { [field]: { [operator]: new Date(time).toISOString() } };
    this.#conditions.push(not ? { $not: condition } : condition);
    // The key of an e-mail begins with the second in which it was received, so a list can seek to that time.
    const key = this.#isEmails ? 'id' : 'lastEmailId';
    if (not || !this.#canFilter(this.#isEmails ? 'emails' : 'conversations', key)) return;
    const second = operator === '$gte' ? Math.floor(time / 1000) : Math.ceil(time / 1000);
    this.#conditions.push({ [key]: { [operator]: computeLowestKey(second) } });
  }

  #filterByConversation(id: number): void {
    this.#isFolderNamed = true;
    this.#conditions.push(this.#isEmails ? { conversationId: id } : { id });
  }

  #hideFolders(): Filter[] {
    if (!this.#isEmails) return this.#canFilter('conversations', 'messages') ? [{ messages: { $gt: 0 } }] : [];
    const excludedFolders = this.#isSearch ? hiddenFolders : [...hiddenFolders, ...unsent];
    return this.#canFilter('emails', 'folder') ? [{ folder: { $notIn: excludedFolders } }] : [];
  }

  #canFilter(collection: string, name: string): boolean {
    const field = this.#context.registry.get(collection).byName.get(name)!;
    return this.#context.findGrant(collection, 'list')?.may(field) ?? false;
  }
}

/**
 * `word*`.
 *
 * @throws ApiError 400 for a prefix of one character, which nearly all e-mails contain.
 */
function isExplicitPrefix(text: string, words: readonly TextWord[]): boolean {
  const last = words.at(-1);
  if (!text.endsWith('*') || last === undefined || last.isCjk) return false;
  if (last.word.length > 1) return true;
  const why = `${text.slice(-40).toWellFormed()} is too short. A prefix must have at least two characters.`;
  throw new ApiError('PARAMETER_INVALID', `The search cannot be read. ${why}`, { details: { search: why } });
}

/** Whether the last word is searched as a prefix, because the user may still be typing. */
function isPrefixSearch({ text, unfinished }: SearchedText, words: readonly TextWord[]): boolean {
  const last = words.at(-1);
  if (!unfinished || last === undefined || last.isCjk || !endsInWord(text)) return false;
  return last.word.length >= minPrefixLength && !isStopWord(last.word);
}

/**
 * Tokens of other forms of a word. Phrases have none, and neither have words that are joined by punctuation
 * (`apt-get`).
 */
function findStemTokens({ text, phrase }: SearchedText, words: readonly TextWord[]): string[] {
  const [word, ...others] = words;
  if (word === undefined || others.length > 0 || phrase || text.endsWith('*')) return [];
  const found = findSearchStems(word);
  return [...found.stems.map(toStemToken), ...found.words];
}

/** The lowest key of an e-mail that was received at or after a time, in seconds since the epoch. */
function computeLowestKey(second: number): number {
  return Math.min(Math.max(0, second) * keysPerSecond, Number.MAX_SAFE_INTEGER);
}
