/**
 * Lower case code point by code point, without looking at neighbours: the one meaning of "case-insensitive".
 *
 * The final sigma folds to σ like any other, since lower-casing by neighbours would make `ΟΔΟΣ` and `οδοσ` differ.
 */
export function foldText(text: string): string {
  // Lower-casing a whole text differs from code point by code point in the final sigma alone.
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/** The folded text, or null where a variable gives none. */
export function foldTextOrNull(text: string | null): string | null {
  return text === null ? null : foldText(text);
}
