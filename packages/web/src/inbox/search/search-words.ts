/** Splits a search text into the words before the cursor and the one that is being typed, and puts suggestions in its place. */

/** The word at the end of a search text. */
export interface TypedWord {
  /** The text before the word, including the space. */
  readonly before: string;
  /** `-` if the word excludes messages. */
  readonly minus: '' | '-';
  /** The operator without its colon, in lower case; null if the word has none. */
  readonly operator: string | null;
  /** The text of the value, without quotation marks. */
  readonly value: string;
}

/** The word at the end of a text; an empty one after a space. */
export function readTypedWord(text: string): TypedWord {
  const [whole = '', minus = '', operator, quoted, bare] =
    /(-?)(?:([a-z]+):)?(?:"([^"]*)|([^\s"]*))$/i.exec(text) ?? [];
  return {
    before: text.slice(0, text.length - whole.length),
    minus: minus === '-' ? '-' : '',
    operator: operator?.toLowerCase() ?? null,
    value: quoted ?? bare ?? '',
  };
}

/** `label:"To do"`: a value with characters that end a word is quoted. */
export function formatSearchWord(operator: string, value: string): string {
  const clean = value.replaceAll('"', ' ').trim();
  return /^[\p{L}\p{N}@._+/-]+$/u.test(clean) ? `${operator}:${clean}` : `${operator}:"${clean}"`;
}

/** The text with a word in the place of the one that is being typed. A complete word is followed by a space. */
export function replaceTypedWord({ before, minus }: TypedWord, word: string): string {
  return `${before}${minus}${word}${word.endsWith(':') ? '' : ' '}`;
}

/** Operators with a fixed set of values. */
const fixedValues: Readonly<Record<string, readonly string[]>> = {
  is: ['unread', 'read', 'starred'],
  has: ['attachment'],
};
export const searchOperators = [
  'from:',
  'to:',
  'subject:',
  'label:',
  'has:attachment',
  'is:unread',
  'is:starred',
  'in:',
  'before:',
  'after:',
  'filename:',
] as const;

/** Values that can be suggested: labels in use, folders, and days. */
export interface SuggestionSources {
  readonly labels: readonly string[];
  readonly folders: readonly string[];
  /** Days as `YYYY-MM-DD`. */
  readonly days: readonly string[];
}

const maxWords = 6;

/** The words that complete the typed one, except people. */
export function suggestWords(word: TypedWord, { labels, folders, days }: SuggestionSources): readonly string[] {
  const { operator, value } = word;
  const starts = (text: string): boolean => text.toLowerCase().includes(value.toLowerCase()) && text !== value;
  if (operator === null)
    return value === ''
      ? []
      : searchOperators.filter((each) => each.startsWith(value.toLowerCase())).slice(0, maxWords);
  const values =
    operator === 'label'
      ? labels
      : operator === 'in'
        ? folders
        : operator === 'before' || operator === 'after'
          ? days
          : (fixedValues[operator] ?? []);
  return values
    .filter(starts)
    .slice(0, maxWords)
    .map((each) => formatSearchWord(operator, each));
}

/** The days that `before:` and `after:` suggest: today, a week, a month and a year ago, of the user's calendar. */
export function listRecentDays(now: Date): readonly string[] {
  return [
    [0, 0, 0],
    [0, 0, 7],
    [0, 1, 0],
    [1, 0, 0],
  ].map(([years = 0, months = 0, days = 0]) => {
    const day = new Date(Date.UTC(now.getFullYear() - years, now.getMonth() - months, now.getDate() - days));
    return day.toISOString().slice(0, 10);
  });
}
