/** SQL about texts, and the check of the deadline, which long texts need too. */
import { identifier, type Sql, sql } from '../sql.ts';

/** Texts of this many bytes and more are folded by `_fold`, which checks the deadline. */
const maxNativeFold = 65_536;

/** Whether all characters of a text are ASCII: lower() folds those as `foldText` does, in a quarter of the time. */
export const isShortAscii = (text: Sql): Sql =>
  sql`octet_length(${text})<${maxNativeFold} AND octet_length(${text})=length(${text})`;

/** See text-fold.ts. */
export const buildFold = (text: Sql): Sql => sql`iif(${isShortAscii(text)},lower(${text}),_fold(${text}))`;

/**
 * Checks the deadline once in about a thousand rows, or about 8,000 conditions. The multiplier spreads the row ids, so that it
 * works for tables with only even ids, or every hundredth.
 */
export function deadlineCheck(alias: string, tests: number): Sql {
  const rows = 2 ** Math.max(0, 10 - Math.ceil(Math.log2(Math.max(1, tests / 8))));
  return sql`(${identifier(alias)}.rowid*2654435761>>16&${rows - 1} OR _tick())`;
}
