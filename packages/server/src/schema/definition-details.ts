/** What a definition is refused for, gathered under the paths of its properties. */
import { isWellFormedJson, jsonDepth } from '../base/well-formed.ts';
import { limits } from '../protocol/limits.ts';

export type Raw = Readonly<Record<string, unknown>>;
export type Details = Record<string, string>;

/** Notes a problem under its path; the first one of a path stays. */
export function note(details: Details, key: string, problem: string | null): void {
  if (problem !== null) details[key] ??= problem;
}

/** What is wrong with a value that is to be stored as JSON or text; null: nothing. */
export function wellFormed(value: unknown): string | null {
  if (jsonDepth(value, limits.jsonDepth + 1) > limits.jsonDepth) return `Nest at most ${limits.jsonDepth} deep.`;
  return isWellFormedJson(value) ? null : 'The text holds U+0000 or half a surrogate pair.';
}
