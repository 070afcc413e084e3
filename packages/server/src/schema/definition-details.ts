/** Collects the problems of a definition by the paths of its properties. */
import { isWellFormedJson, jsonDepth } from '../base/well-formed.ts';
import { JsonNumber } from '../protocol/exact-json.ts';
import { limits } from '../protocol/limits.ts';

export type Raw = Readonly<Record<string, unknown>>;
export type Details = Record<string, string>;

/** Adds a problem under its path, which can be of any length. If a path has several problems, the first one is kept. */
export function addDetail(details: Details, key: string, problem: string | null): void {
  if (problem !== null) details[key.slice(0, 200)] ??= problem;
}

/** The problem of a value that will be stored as JSON or text; null if it is valid. */
export function findMalformedText(value: unknown): string | null {
  if (jsonDepth(value, limits.jsonDepth + 1) > limits.jsonDepth)
    return `The value is nested deeper than ${limits.jsonDepth} levels. Flatten it.`;
  if (isWellFormedJson(value)) return null;
  return value instanceof JsonNumber || typeof value === 'object'
    ? 'The value contains U+0000, a lone surrogate, or a number beyond ±1.8e308. Remove it.'
    : 'The text contains U+0000 or a lone surrogate. Remove it.';
}

/** The problem of a text with more than `maximum` code points; null for any other value. */
export function lengthProblem(value: unknown, maxLength: number): string | null {
  if (typeof value !== 'string' || value.length <= maxLength) return null;
  // A code point takes one or two units, so a long text need not be counted.
  const tooLong = value.length > 2 * maxLength || [...value].length > maxLength;
  return tooLong ? `At most ${maxLength} characters are allowed.` : null;
}

/** The problem of a JSON value whose text is too long for a definition. The value is known to be well formed. */
export function jsonSizeProblem(value: unknown): string | null {
  if (value === null || (typeof value !== 'object' && typeof value !== 'string')) return null;
  const size = JSON.stringify(value).length;
  return size > limits.definitionJsonLength
    ? `The value has more than ${limits.definitionJsonLength} characters as JSON. Shorten it.`
    : null;
}

/** Checks a title: text of limited length. */
export const titleProblem = createTextCheck(limits.titleLength);
/** Checks a description: text of limited length. */
export const descriptionProblem = createTextCheck(limits.descriptionLength);

function createTextCheck(maxLength: number): (value: unknown) => string | null {
  return (value) => {
    if (typeof value !== 'string') return 'Give text.';
    return lengthProblem(value, maxLength) ?? findMalformedText(value);
  };
}

/** Problems of the display name and description of a record of a system collection. */
export function findDescriptionProblems(row: Raw, nameForPeople: string): Details {
  const details: Details = {};
  addDetail(details, nameForPeople, lengthProblem(row[nameForPeople], limits.titleLength));
  addDetail(details, 'description', lengthProblem(row['description'], limits.descriptionLength));
  return details;
}
