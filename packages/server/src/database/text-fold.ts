/**
 * Lower case, code point by code point, independent of neighbours: the meaning of "case-insensitive" on both engines.
 *
 * The final sigma folds to σ like any other, since lower-casing by neighbours would make `ΟΔΟΣ` and `οδοσ` differ.
 */
export function foldText(text: string): string {
  // Lower-casing a whole text differs from that of its code points only in the final sigma.
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/** The folded text; null if a variable has no value. */
export function foldTextOrNull(text: string | null): string | null {
  return text === null ? null : foldText(text);
}
