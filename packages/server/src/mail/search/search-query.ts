import { ApiError } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';

/**
 * A parsed search: a message is found if it matches each term. Texts are as users wrote them; the caller quotes them
 * for the index.
 */
export type SearchTerm = { readonly negated: boolean } & (
  | (SearchedText & { readonly kind: 'text' | TextOperator })
  | { readonly kind: 'in'; readonly mailbox: string }
  | { readonly kind: 'label'; readonly label: string }
  | { readonly kind: 'has'; readonly what: 'attachment' }
  | { readonly kind: 'is'; readonly state: MessageState }
  /** Received before, or at or after, the beginning of that day in UTC, in milliseconds since the Unix epoch. */
  | { readonly kind: 'before' | 'after'; readonly time: number }
  | { readonly kind: 'larger' | 'smaller'; readonly bytes: number }
);

export interface SearchedText {
  readonly text: string;
  /** The text was in quotation marks: exactly these words are searched. */
  readonly phrase: boolean;
  /** The search ends with this term, and the user may still be typing its last word. */
  readonly unfinished: boolean;
}

export type TextOperator = 'from' | 'to' | 'cc' | 'bcc' | 'subject' | 'filename';
export type MessageState = 'unread' | 'read' | 'starred';

const textOperators = ['from', 'to', 'cc', 'bcc', 'subject', 'filename'] as const;
const states = ['unread', 'read', 'starred'] as const;
const operatorExamples: Readonly<Record<string, string>> = {
  from: 'from:ada',
  to: 'to:ada@example.com',
  cc: 'cc:ada',
  bcc: 'bcc:ada',
  subject: 'subject:"order 12"',
  filename: 'filename:invoice',
  in: 'in:inbox',
  label: 'label:Invoices',
  has: 'has:attachment',
  is: 'is:unread, is:read or is:starred',
  before: 'before:2026-03-01',
  after: 'after:2026-03-01',
  larger: 'larger:10M',
  smaller: 'smaller:500K',
};
/** Operators of other mail programs. As words they would find nothing, and users would not see why. */
const unsupportedOperators: ReadonlySet<string> = new Set(
  'labels tag keyword category list folder mailbox participants deliveredto older newer older_than newer_than date received sent size body flag flagged attachment attachments hasattachment importance priority rfc822msgid'.split(
    ' ',
  ),
);
const units: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/**
 * Parses a search: `from: to: cc: bcc: subject: filename: in: label: has:attachment is:unread|read|starred
 * before: after: larger: smaller:`, quoted phrases, and words; a `-` before any of them negates it. Other words with a colon, such as
 * `colour:red`, are searched as text. Operators of other mail programs are refused.
 *
 * @throws ApiError `PARAMETER_INVALID` naming the invalid word and the correct form.
 */
export function parseSearch(text: string): SearchTerm[] {
  if (text.length > mailLimits.searchLength)
    throw invalid(`It is longer than ${mailLimits.searchLength} characters; use fewer words.`);
  const parts = [...splitQuery(text)];
  if (parts.length > mailLimits.searchWords)
    throw invalid(`It has ${parts.length} words; at most ${mailLimits.searchWords} are looked for at once.`);
  return parts.map((part, index) => toTerm(part, index === parts.length - 1 && text.endsWith(part.value)));
}

interface QueryPart {
  readonly negated: boolean;
  /** The operator before the colon; null if it is not one. */
  readonly name: string | null;
  readonly value: string;
  readonly quoted: boolean;
}

const partPattern = /(-?)(?:([a-z][a-z0-9_]*):)?(?:"([^"]*)("?)|([^\s"]\S*))?/iuy;

function* splitQuery(written: string): Generator<QueryPart> {
  const text = written
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === ' ') continue;
    partPattern.lastIndex = index;
    const match = partPattern.exec(text)!;
    yield toQueryPart(match);
    index = partPattern.lastIndex - 1;
  }
}

function toQueryPart([whole, minus, written, quoted, end, bare]: RegExpExecArray): QueryPart {
  if (quoted !== undefined && end === '')
    throw invalid(`The phrase ${abbreviate(`"${quoted}`)} has no end; close it with a quotation mark.`);
  const name = written?.toLowerCase() ?? '';
  if (Object.hasOwn(operatorExamples, name))
    return { negated: minus === '-', name, value: (quoted ?? bare ?? '').trim(), quoted: quoted !== undefined };
  if (unsupportedOperators.has(name) && (quoted ?? bare) !== undefined)
    throw invalid(
      `${name}: is not supported; these are: ${Object.keys(operatorExamples).join(': ')}:. To look for the text itself, put it in quotation marks: "${abbreviate(`${name}:${quoted ?? bare ?? ''}`)}".`,
    );
  const prefix = written === undefined ? '' : `${written}:`;
  const value = (prefix + (quoted ?? bare ?? '')).trim();
  // A minus without a word is a dash.
  if (value === '') return { negated: false, name: null, value: whole!.trim(), quoted: quoted !== undefined };
  return { negated: minus === '-', name: null, value, quoted: quoted !== undefined };
}

function toTerm({ negated, name, value, quoted }: QueryPart, isLast: boolean): SearchTerm {
  const searched = { text: value, phrase: quoted, unfinished: isLast && !quoted };
  if (name === null) {
    if (value === '""') throw invalid('A phrase between "" is empty; put words into it, or leave it out.');
    return { negated, kind: 'text', ...searched };
  }
  if (value === '')
    throw invalid(`${name}: needs a value directly after the colon, for example ${operatorExamples[name]}.`);
  const textOperator = textOperators.find((each) => each === name);
  if (textOperator) return { negated, kind: textOperator, ...searched };
  if (name === 'label') return { negated, kind: 'label', label: value.normalize('NFC') };
  if (name === 'in') return { negated, kind: 'in', mailbox: value };
  if (name === 'has') return parseHasTerm(value, negated);
  if (name === 'is') return parseIsTerm(value, negated);
  if (name === 'larger' || name === 'smaller') return { negated, kind: name, bytes: parseBytes(name, value) };
  return { negated, kind: name === 'before' ? 'before' : 'after', time: parseDay(name, value) };
}

function parseBytes(name: string, value: string): number {
  const [, number, unit = ''] = /^(\d{1,12})([kmg]?)b?$/i.exec(value) ?? [];
  const bytes = Number(number) * (units[unit.toLowerCase()] ?? 1);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw invalid(`${name}:${abbreviate(value)} is not a size. Use ${operatorExamples[name]}, or a number of bytes.`);
}

function parseHasTerm(value: string, negated: boolean): SearchTerm {
  if (!/^attachments?$/i.test(value))
    throw invalid(`has:${abbreviate(value)} is not known; write ${operatorExamples['has']}.`);
  return { negated, kind: 'has', what: 'attachment' };
}

function parseIsTerm(value: string, negated: boolean): SearchTerm {
  const state = states.find((each) => each === value.toLowerCase());
  if (!state) throw invalid(`is:${abbreviate(value)} is not known; write ${operatorExamples['is']}.`);
  return { negated, kind: 'is', state };
}

function parseDay(name: string, value: string): number {
  const [, year, month, day] = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$/.exec(value)?.map(Number) ?? [];
  const time = Date.UTC(year ?? 0, (month ?? 0) - 1, day ?? 0);
  const isRealDate =
    year !== undefined && new Date(time).getUTCMonth() === month! - 1 && new Date(time).getUTCDate() === day;
  if (!isRealDate || year < 1000)
    throw invalid(`${name}:${abbreviate(value)} is no day; write ${operatorExamples[name]}.`);
  return time;
}

const abbreviate = (text: string): string => (text.length > 40 ? `${text.slice(0, 40).toWellFormed()}…` : text);

const invalid = (why: string): ApiError =>
  new ApiError('PARAMETER_INVALID', `The search cannot be read. ${why}`, { details: { search: why } });
