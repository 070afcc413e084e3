import { randomInt } from 'node:crypto';

/** A linear look at JSON text before it is parsed: JSON.parse itself has no bound on values, nesting or time. */

/** What a scan found; the text may still be malformed. */
export type ScanFinding = 'values' | 'depth' | 'keys' | { readonly forbiddenKey: string } | null;

export interface ScanLimits {
  readonly values: number;
  readonly depth: number;
  /** Different keys: each costs JSON.parse more than a hundred values do. */
  readonly keys: number;
}

/** A shorter text can exceed neither limit: each level and each value takes at least one character. */
export const unscannedLength = 1000;

const quote = 0x22;
const comma = 0x2c;
const point = 0x2e;
const colon = 0x3a;
const openList = 0x5b;
const backslash = 0x5c;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
const exponent = 0x65;
const lowerCase = 0x20;

/** Long numbers, and names that JavaScript would put in another order, cost exact-json.ts as much as this many more values. */
const exactnessCost = 9;
const maxCheapDigits = 15;

/** Bits of {@link KeyCounter}, a power of two. */
const buckets = 1 << 18;
/** So that nobody outside can prepare keys that fall into one bucket. */
const seed = randomInt(2 ** 31);

/** Every character of a key may be written as a six-character escape. */
const maxForbiddenLength = 6 * 'constructor'.length;

/**
 * Counts values, levels and different keys, and looks for keys that `isForbidden` names, escaped spellings included. Takes
 * time in proportion to the length of the text, and stops at the first finding.
 *
 * @param isForbidden null where the text cannot hold such a key.
 */
export function scanJson(
  text: string,
  limits: ScanLimits,
  isForbidden: ((key: string) => boolean) | null,
): ScanFinding {
  const counter = new KeyCounter();
  let values = 1;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) {
      const end = stringEnd(text, index);
      if (isKey(text, end)) {
        const key = isForbidden && end - index <= maxForbiddenLength ? unescaped(text.slice(index + 1, end)) : null;
        if (key !== null && isForbidden!(key)) return { forbiddenKey: key };
        if (counter.add(text, index + 1, end) > limits.keys) return 'keys';
        const first = text.charCodeAt(index + 1);
        if (isDigit(first) || first === backslash) values += exactnessCost;
      }
      index = end;
    } else if (code === comma) {
      values += 1;
      if (values > limits.values) return 'values';
    } else if (isDigit(code)) {
      const end = digitsEnd(text, index);
      const next = text.charCodeAt(end) | lowerCase;
      if (end - index > maxCheapDigits || next === exponent) values += exactnessCost + ((end - index) >> 4);
      index = end - 1;
    } else if (code === openList || code === openObject) {
      values += 1;
      depth += 1;
      if (depth > limits.depth) return 'depth';
      if (values > limits.values) return 'values';
    } else if (code === closeList || code === closeObject) depth -= 1;
  }
  return values > limits.values ? 'values' : null;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The index after the digits, and the point, that begin at `start`. */
function digitsEnd(text: string, start: number): number {
  let end = start + 1;
  for (let code = text.charCodeAt(end); isDigit(code) || code === point; code = text.charCodeAt(end)) end += 1;
  return end;
}

/** The index of the closing quotation mark, or of the last character where there is none. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length - 1;
}

/** Whether a colon follows the string that ends at `end`. */
function isKey(text: string, end: number): boolean {
  let next = end + 1;
  while (isBlank(text.charCodeAt(next))) next += 1;
  return text.charCodeAt(next) === colon;
}

/** What a string says; null where it is malformed. */
function unescaped(written: string): string | null {
  if (!written.includes('\\')) return written;
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return null;
  }
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** About how many different keys there are: one for each bucket that a hash of a key falls into. */
class KeyCounter {
  #seen: Uint8Array | null = null;
  #count = 0;

  /** @returns the number so far. */
  add(text: string, start: number, end: number): number {
    let hash = seed;
    for (let index = start; index < end; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    const bucket = (hash ^ (hash >>> 15)) & (buckets - 1);
    this.#seen ??= new Uint8Array(buckets >> 3);
    const bit = 1 << (bucket & 7);
    if ((this.#seen[bucket >> 3]! & bit) !== 0) return this.#count;
    this.#seen[bucket >> 3]! |= bit;
    this.#count += 1;
    return this.#count;
  }
}
