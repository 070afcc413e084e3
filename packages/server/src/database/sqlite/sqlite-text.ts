/** SQL about texts, and the check of the deadline, which long texts need too. */
import { type BindEnvironment, identifier, type Param, type Sql, sql } from '../sql.ts';
import { foldTextOrNull } from '../text-fold.ts';

/** Texts of this many bytes and more are folded by `_fold`, which checks the deadline. */
const maxNativeFold = 65_536;

/** Whether all characters of a text are ASCII: lower() folds those as `foldText` does, in a quarter of the time. */
export const isShortAscii = (text: Sql): Sql =>
  sql`octet_length(${text})<${maxNativeFold} AND octet_length(${text})=length(${text})`;

/** See text-fold.ts. */
export const buildFold = (text: Sql): Sql => sql`iif(${isShortAscii(text)},lower(${text}),_fold(${text}))`;

/** Other characters than ASCII whose lower case contains ASCII. There are only two: KELVIN SIGN and LATIN CAPITAL LETTER I WITH DOT ABOVE. */
const foldToAscii = (text: Sql): Sql => sql`replace(replace(lower(${text}),'\u212a','k'),'\u0130','i\u0307')`;

/**
 * Whether a text contains another one, after folding. SQLite's lower() only folds ASCII. That is enough to find a needle of ASCII characters,
 * because only `k` and `i` are lower cases of other characters too. Any other needle is not in a text of ASCII characters. So JavaScript only
 * folds the other texts, for needles that are not ASCII.
 */
export function buildContains(text: Sql, needle: Param): Sql {
  const read = (environment: BindEnvironment): string | null =>
    foldTextOrNull(needle.read(environment) as string | null);
  const folded: Param = { ...needle, read };
  const isFound = (haystack: Sql): Sql => sql`instr(${haystack},${folded})>0`;
  const test = (pattern: RegExp): Param => ({
    storage: 'boolean',
    read: (environment) => pattern.test(read(environment) ?? ''),
  });
  return sql`CASE WHEN octet_length(${text})>=${maxNativeFold} THEN ${isFound(sql`_fold(${text})`)}
WHEN ${test(/^[\0-hjl-\x7f]*$/)} THEN ${isFound(sql`lower(${text})`)}
WHEN octet_length(${text})=length(${text}) THEN ${isFound(sql`lower(${text})`)}
WHEN ${test(/^[\0-\x7f]*$/)} THEN ${isFound(foldToAscii(text))}
ELSE ${isFound(sql`_fold(${text})`)} END`;
}

/**
 * Checks the deadline once in about a thousand rows, or about 8,000 conditions. The multiplier spreads the row ids, so that it
 * works for tables with only even ids, or every hundredth.
 */
export function deadlineCheck(alias: string, tests: number): Sql {
  const rows = 2 ** Math.max(0, 10 - Math.ceil(Math.log2(Math.max(1, tests / 8))));
  return sql`(${identifier(alias)}.rowid*2654435761>>16&${rows - 1} OR _tick())`;
}
