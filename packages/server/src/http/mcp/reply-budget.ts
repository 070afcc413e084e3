/** Keeps the replies of tools within their budget of bytes. */
import { limits } from '../../protocol/limits.ts';

/** Bytes that the envelope of a reply and its notice may need. */
const reservedBytes = 2048;
/** Characters that remain of a long text if its record is too long. The second attempt shortens more. */
const shortenedLengths = [20_000, 2000, 200];
const maxListedPaths = 20;

/** Whether JSON text of data is within the budget. */
export function isWithinBudget(data: string): boolean {
  return Buffer.byteLength(data) <= limits.mcpReplyBytes - reservedBytes;
}

/** How many records of a page are within the budget, from the first one on. */
export function countFitting(data: string): number {
  const records = JSON.parse(data) as unknown[];
  let bytes = 2;
  for (const [index, record] of records.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(record)) + 1;
    if (bytes > limits.mcpReplyBytes - reservedBytes) return index;
  }
  return records.length;
}

export interface ShortenedData {
  readonly data: string;
  /** Where texts were shortened, at most 20 of the places. */
  readonly paths: readonly string[];
}

/** Data whose long texts are shortened until it is within the budget; null if that is not enough. */
export function shortenTexts(data: string): ShortenedData | null {
  const parsed = JSON.parse(data) as unknown;
  for (const length of shortenedLengths) {
    const paths: string[] = [];
    const shortened = JSON.stringify(shortenValue(parsed, length, '', paths));
    if (isWithinBudget(shortened)) return { data: shortened, paths: paths.slice(0, maxListedPaths) };
  }
  return null;
}

function shortenValue(value: unknown, length: number, path: string, paths: string[]): unknown {
  if (typeof value === 'string') {
    if (value.length <= length) return value;
    paths.push(path);
    return `${value.slice(0, length).toWellFormed()}…`;
  }
  if (Array.isArray(value)) return value.map((each, index) => shortenValue(each, length, `${path}[${index}]`, paths));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([name, each]) => [name, shortenValue(each, length, path === '' ? name : `${path}.${name}`, paths)]),
  );
}
