import type { Param } from './sql.ts';

/**
 * Lower case, code point by code point, independent of neighbours: the meaning of "case-insensitive" on both engines.
 *
 * The final sigma folds to σ like any other, since lower-casing by neighbours would make `ΟΔΟΣ` and `οδοσ` differ.
 */
export function foldText(text: string): string {
  // Lower-casing a whole text differs from that of its code points only in the final sigma.
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/**
 * Matches a folded text of ASCII that nothing else than ASCII folds to. Only two other characters fold to ASCII: KELVIN SIGN to `k`, and
 * LATIN CAPITAL LETTER I WITH DOT ABOVE to `i` and a combining dot.
 */
export const unambiguousAscii = /^[\0-hjl-\x7f]*$/;

/** The folded text; null if a variable has no value. */
export function foldTextOrNull(text: string | null): string | null {
  return text === null ? null : foldText(text);
}

/** A parameter with the folded text of another one. */
export const foldParam = (param: Param): Param => ({
  ...param,
  read: (environment) => foldTextOrNull(param.read(environment) as string | null),
});
