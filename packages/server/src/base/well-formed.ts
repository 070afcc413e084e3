/** Text that both engines can hold: no U+0000 and no lone surrogate. */
export function isWellFormedText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** The nesting depth of a JSON value: 0 for a scalar, 1 for `[]`; stops counting past `bound`. */
export function jsonDepth(value: unknown, bound: number): number {
  if (value === null || typeof value !== 'object') return 0;
  if (bound <= 0) return 1;
  let deepest = 0;
  for (const member of Object.values(value)) {
    deepest = Math.max(deepest, jsonDepth(member, bound - 1));
    if (deepest >= bound) break;
  }
  return deepest + 1;
}

/** Whether every text and key inside a JSON value is well formed. */
export function isWellFormedJson(value: unknown): boolean {
  if (typeof value === 'string') return isWellFormedText(value);
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isWellFormedJson);
  return Object.entries(value).every(([key, member]) => isWellFormedText(key) && isWellFormedJson(member));
}
