import { ApiError } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';

/** What a search asks for: a message is found when each term holds. Texts are as people wrote them; whoever runs it quotes them for the index. */
export type SearchTerm = { readonly negated: boolean } & (
  | { readonly kind: 'text'; readonly text: string; readonly phrase: boolean }
  | { readonly kind: TextWord; readonly text: string }
  | { readonly kind: 'in'; readonly mailbox: string }
  | { readonly kind: 'has'; readonly what: 'attachment' }
  | { readonly kind: 'is'; readonly state: State }
  /** Received before, or from, the first moment of that day in UTC, in milliseconds since the Unix epoch. */
  | { readonly kind: 'before' | 'after'; readonly at: number }
);

export type TextWord = 'from' | 'to' | 'cc' | 'subject' | 'filename';
export type State = 'unread' | 'read' | 'starred';

const textWords = ['from', 'to', 'cc', 'subject', 'filename'] as const;
const states = ['unread', 'read', 'starred'] as const;
const example: Readonly<Record<string, string>> = {
  from: 'from:ada',
  to: 'to:ada@example.com',
  cc: 'cc:ada',
  subject: 'subject:"order 12"',
  filename: 'filename:invoice',
  in: 'in:inbox',
  has: 'has:attachment',
  is: 'is:unread, is:read or is:starred',
  before: 'before:2026-03-01',
  after: 'after:2026-03-01',
};

/**
 * Reads the words of a search: `from: to: cc: subject: filename: in: has:attachment is:unread|read|starred before: after:`, quoted phrases, and
 * all else as words; a `-` before any of them negates it. `colour:red` is no such word, and looked for as it stands.
 *
 * @throws ApiError `PARAMETER_INVALID` with the word at fault and how to write it.
 */
export function parseSearch(text: string): SearchTerm[] {
  if (text.length > mailLimits.searchLength)
    throw invalid(`It is longer than ${mailLimits.searchLength} characters; use fewer words.`);
  const words = [...splitWords(text)];
  if (words.length > mailLimits.searchWords)
    throw invalid(`It has ${words.length} words; at most ${mailLimits.searchWords} are looked for at once.`);
  return words.map(toTerm);
}

interface Word {
  readonly negated: boolean;
  /** What stands before the colon, where that is a word of the search; else null. */
  readonly name: string | null;
  readonly value: string;
  readonly quoted: boolean;
}

const form = /(-?)(?:([a-z]+):)?(?:"([^"]*)("?)|([^\s"]\S*))?/iuy;

function* splitWords(written: string): Generator<Word> {
  const text = written
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === ' ') continue;
    form.lastIndex = at;
    const match = form.exec(text)!;
    yield toWord(match);
    at = form.lastIndex - 1;
  }
}

function toWord([whole, minus, written, quoted, end, bare]: RegExpExecArray): Word {
  if (quoted !== undefined && end === '')
    throw invalid(`The phrase ${shown(`"${quoted}`)} has no end; close it with a quotation mark.`);
  const name = written?.toLowerCase() ?? '';
  if (Object.hasOwn(example, name))
    return { negated: minus === '-', name, value: (quoted ?? bare ?? '').trim(), quoted: quoted !== undefined };
  const prefix = written === undefined ? '' : `${written}:`;
  const value = (prefix + (quoted ?? bare ?? '')).trim();
  // A lone minus is a dash.
  if (value === '') return { negated: false, name: null, value: whole!.trim(), quoted: quoted !== undefined };
  return { negated: minus === '-', name: null, value, quoted: quoted !== undefined };
}

function toTerm({ negated, name, value, quoted }: Word): SearchTerm {
  if (name === null) {
    if (value === '""') throw invalid('A phrase between "" is empty; put words into it, or leave it out.');
    return { negated, kind: 'text', text: value, phrase: quoted };
  }
  if (value === '') throw invalid(`${name}: stands alone; write what it looks for right behind it: ${example[name]}.`);
  const textWord = textWords.find((each) => each === name);
  if (textWord) return { negated, kind: textWord, text: value };
  if (name === 'in') return { negated, kind: 'in', mailbox: value };
  if (name === 'has') return hasTerm(value, negated);
  if (name === 'is') return isTerm(value, negated);
  return { negated, kind: name === 'before' ? 'before' : 'after', at: dayOf(name, value) };
}

function hasTerm(value: string, negated: boolean): SearchTerm {
  if (!/^attachments?$/i.test(value)) throw invalid(`has:${shown(value)} is not known; write ${example['has']}.`);
  return { negated, kind: 'has', what: 'attachment' };
}

function isTerm(value: string, negated: boolean): SearchTerm {
  const state = states.find((each) => each === value.toLowerCase());
  if (!state) throw invalid(`is:${shown(value)} is not known; write ${example['is']}.`);
  return { negated, kind: 'is', state };
}

function dayOf(name: string, value: string): number {
  const [, year, month, day] = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$/.exec(value)?.map(Number) ?? [];
  const at = Date.UTC(year ?? 0, (month ?? 0) - 1, day ?? 0);
  const real = year !== undefined && new Date(at).getUTCMonth() === month! - 1 && new Date(at).getUTCDate() === day;
  if (!real || year < 1000) throw invalid(`${name}:${shown(value)} is no day; write ${example[name]}.`);
  return at;
}

const shown = (text: string): string => (text.length > 40 ? `${text.slice(0, 40).toWellFormed()}…` : text);

const invalid = (why: string): ApiError =>
  new ApiError('PARAMETER_INVALID', `The search cannot be read. ${why}`, { details: { search: why } });
