/** SQL about texts, and the check of the deadline, which long texts need too. */
import { type BindEnvironment, identifier, type Param, type Sql, sql } from '../sql.ts';
import { foldParam, foldTextOrNull, unambiguousAscii } from '../text-fold.ts';

/** Texts of this many bytes and more are folded by `_fold`, which checks the deadline. */
const maxNativeFold = 65_536;

/** Whether all characters of a text are ASCII: lower() folds those as `foldText` does, in a quarter of the time. */
export const isShortAscii = (text: Sql): Sql =>
  sql`octet_length(${text})<${maxNativeFold} AND octet_length(${text})=length(${text})`;

/** See text-fold.ts. */
export const buildFold = (text: Sql): Sql => sql`iif(${isShortAscii(text)},lower(${text}),_fold(${text}))`;

/** Other characters than ASCII whose lower case contains ASCII. There are only two: KELVIN SIGN and LATIN CAPITAL LETTER I WITH DOT ABOVE. */
const foldToAscii = (text: Sql): Sql => sql`replace(replace(lower(${text}),'\u212a','k'),'\u0130','i\u0307')`;

/** Texts of fewer bytes are matched with a pattern in less than a millisecond, or 10 ms for the longest patterns. */
const maxQuickMatch = 4096;
/** Needles that LIKE can search for: up to 32 ASCII characters without wildcards. */
const plainNeedle = /^[^%_\x80-\uffff]{0,32}$/;
/** Of those, needles without characters that are lower cases of characters outside of ASCII. */
const unambiguousNeedle = /^[^ik%_\x80-\uffff]{0,32}$/;
const asciiNeedle = /^[\0-\x7f]*$/;

/**
 * Whether a text contains another one, after folding. SQLite's LIKE and lower() only fold ASCII. That is enough to find a needle of ASCII
 * characters, because only `k` and `i` are lower cases of other characters too. Any other needle is not in a text of ASCII characters. So
 * JavaScript only folds the other texts, for needles that are not ASCII. LIKE copies no text, unlike lower(), but compares slowly with a
 * text that almost contains a long needle many times; so it is only used for short ones (decisions/051).
 */
export function buildContains(text: Sql, needle: Param): Sql {
  const folded = foldParam(needle);
  const read = folded.read as (environment: BindEnvironment) => string | null;
  const isFound = (haystack: Sql): Sql => sql`instr(${haystack},${folded})>0`;
  const test = (pattern: RegExp): Param => ({
    storage: 'boolean',
    read: (environment) => pattern.test(read(environment) ?? ''),
  });
  const isLike = sql`${text} LIKE ${{ ...needle, read: (environment) => toLikePattern(read(environment)) }}`;
  const isQuick = (pattern: RegExp): Sql => sql`${test(pattern)} AND octet_length(${text})<${maxQuickMatch}`;
  return sql`CASE WHEN ${isQuick(unambiguousNeedle)} THEN ${isLike}
WHEN octet_length(${text})>=${maxNativeFold} THEN ${isFound(sql`_fold(${text})`)}
WHEN ${test(unambiguousAscii)} THEN ${isFound(sql`lower(${text})`)}
WHEN octet_length(${text})=length(${text}) THEN iif(${isQuick(plainNeedle)},${isLike},${isFound(sql`lower(${text})`)})
WHEN ${test(asciiNeedle)} THEN ${isFound(foldToAscii(text))}
ELSE ${isFound(sql`_fold(${text})`)} END`;
}

/** The pattern of a needle that {@link plainNeedle} matches. For other needles it is not used, and could be longer than SQLite permits. */
function toLikePattern(needle: string | null): string | null {
  return needle !== null && plainNeedle.test(needle) ? `%${needle}%` : null;
}

/** Whether a text matches a pattern. LIKE ignores the case of ASCII; GLOB does not, and has other wildcards. Long texts check the deadline. */
export function buildLike(text: Sql, pattern: Param, ignoreCase: boolean): Sql {
  const convert = ignoreCase ? foldTextOrNull : toGlob;
  const converted: Param = { ...pattern, read: (environment) => convert(pattern.read(environment) as string | null) };
  const inTime = sql`iif(octet_length(${text})>=${maxQuickMatch},_tick(),1)`;
  const isMatch = ignoreCase ? sql`${buildFold(text)} LIKE ${converted} ESCAPE '\\'` : sql`${text} GLOB ${converted}`;
  return sql`(${inTime} AND ${isMatch})`;
}

/** `_` and `%` become `?` and `*`; a backslash escapes the next character. */
function toGlob(like: string | null): string | null {
  if (like === null) return null;
  return like.replaceAll(/\\(.)|[%_*?[]/gsu, (found, escaped: string | undefined) => {
    if (found === '%') return '*';
    if (found === '_') return '?';
    const character = escaped ?? found;
    return '*?['.includes(character) ? `[${character}]` : character;
  });
}

/**
 * Checks the deadline once in about a thousand rows, or about 8,000 conditions. The multiplier spreads the row ids, so that it
 * works for tables with only even ids, or every hundredth.
 */
export function deadlineCheck(alias: string, tests: number): Sql {
  const rows = 2 ** Math.max(0, 10 - Math.ceil(Math.log2(Math.max(1, tests / 8))));
  return sql`(${identifier(alias)}.rowid*2654435761>>16&${rows - 1} OR _tick())`;
}
