import { JsonNumber } from '../protocol/exact-json.ts';

/** Whether both engines can store a text: it contains no U+0000 and no lone surrogate. */
export function isWellFormedText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** In JSON text: U+0000 and halves of surrogate pairs, which JSON.stringify writes as escapes. */
const illFormedEscape = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

/** Replaces each character that the engines cannot store by U+FFFD. */
export function storableText(text: string): string {
  return isWellFormedText(text) ? text : text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

/** As {@link storableText}, for JSON text: an engine would decode its escapes. */
export function storableJson(text: string): string {
  return text.includes('\\u') ? text.replace(illFormedEscape, '$1\\ufffd') : text;
}

/** The nesting depth of a JSON value: 0 for a scalar, 1 for `[]`; stops counting past `bound`. */
export function jsonDepth(value: unknown, bound: number): number {
  if (value === null || typeof value !== 'object' || value instanceof JsonNumber) return 0;
  if (bound <= 0) return 1;
  let deepest = 0;
  for (const member of Object.values(value)) {
    deepest = Math.max(deepest, jsonDepth(member, bound - 1));
    if (deepest >= bound) break;
  }
  return deepest + 1;
}

/** Whether every string and key in a JSON value is well formed, and every number is finite as a 64-bit float. */
export function isWellFormedJson(value: unknown): boolean {
  if (typeof value === 'string') return isWellFormedText(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (value instanceof JsonNumber) return Number.isFinite(value.nearest);
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isWellFormedJson);
  return Object.entries(value).every(([key, member]) => isWellFormedText(key) && isWellFormedJson(member));
}
