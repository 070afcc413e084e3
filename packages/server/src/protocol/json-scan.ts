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

/** Bytes of a key that are kept; every character of a forbidden one may be written as a six-character escape. */
const maxStoredKeyLength = 6 * 'constructor'.length;

/**
 * Counts values, levels and different keys, and looks for forbidden keys, escaped spellings included. Takes the text in
 * pieces of any length, and time in proportion to them.
 */
export class JsonScanner {
  readonly #limits: ScanLimits;
  readonly #forbidden: ReadonlySet<string>;
  readonly #forbiddenLengths: ReadonlySet<number>;
  readonly #keys = new KeyCounter();
  /** For each open level, whether it is an object. */
  readonly #objects: Uint8Array;
  #finding: ScanFinding = null;
  #values = 1;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The string that is open, or comes next, is a key. */
  #isKey = false;
  /** Digits and points of the number that is open. */
  #digits = 0;

  /** @param forbidden keys of at most eleven characters. */
  constructor(limits: ScanLimits, forbidden: ReadonlySet<string>) {
    this.#limits = limits;
    this.#forbidden = forbidden;
    this.#forbiddenLengths = new Set([...forbidden].map((key) => key.length));
    this.#objects = new Uint8Array(limits.depth + 1);
  }

  /**
   * The first finding in all pieces so far.
   *
   * @param bytes the next piece of the text, in UTF-8.
   */
  scan(bytes: Uint8Array): ScanFinding {
    let index = 0;
    while (index < bytes.length && this.#finding === null)
      index = this.#inString ? this.#inside(bytes, index) : this.#outside(bytes, index);
    return this.#finding;
  }

  /** Goes on to the end of a string; returns the index behind it. */
  #inside(bytes: Uint8Array, start: number): number {
    // A backslash at the end of the piece before makes the first character a plain one.
    const from = this.#isEscaped && start < bytes.length ? start + 1 : start;
    let end = nextQuote(bytes, from);
    while (end >= 0 && isEscaped(bytes, from, end)) end = nextQuote(bytes, end + 1);
    const isClosed = end >= 0;
    if (!isClosed) end = bytes.length;
    if (this.#isKey) this.#keys.add(bytes, start, end);
    this.#isEscaped = !isClosed && isEscaped(bytes, from, end);
    if (!isClosed) return end;
    this.#inString = false;
    if (this.#isKey) this.#endKey();
    return end + 1;
  }

  #endKey(): void {
    this.#isKey = false;
    if (this.#keys.mayBeIndex) this.#addValues(exactnessCost);
    const mayBeForbidden = this.#keys.isEscaped || this.#forbiddenLengths.has(this.#keys.length);
    const key = mayBeForbidden ? this.#keys.shortKey() : null;
    if (key !== null && this.#forbidden.has(key)) this.#finding = { forbiddenKey: key };
    else if (this.#keys.end() > this.#limits.keys) this.#finding = 'keys';
  }

  /** Goes on to the next string; returns the index of its first character. */
  #outside(bytes: Uint8Array, start: number): number {
    let digits = this.#digits;
    let index = start;
    for (; index < bytes.length && this.#finding === null; index += 1) {
      const code = bytes[index]!;
      if (isDigit(code) || (code === point && digits > 0)) {
        digits += 1;
        continue;
      }
      if (digits > 0) {
        if (digits > maxCheapDigits || (code | lowerCase) === exponent) this.#addValues(exactnessCost + (digits >> 4));
        digits = 0;
      }
      if (code === quote) {
        this.#inString = true;
        index += 1;
        break;
      }
      if (code === comma || code === openList || code === openObject) this.#beginValue(code);
      else if ((code === closeList || code === closeObject) && this.#depth > 0) this.#depth -= 1;
    }
    this.#digits = digits;
    return index;
  }

  /** A comma, or the beginning of a list or an object. */
  #beginValue(code: number): void {
    this.#addValues(1);
    if (code === comma) this.#isKey = this.#objects[this.#depth] === 1;
    else {
      this.#depth += 1;
      this.#isKey = code === openObject;
      this.#objects[this.#depth] = this.#isKey ? 1 : 0;
      if (this.#depth > this.#limits.depth) this.#finding = 'depth';
    }
  }

  #addValues(count: number): void {
    this.#values += count;
    if (this.#values > this.#limits.values) this.#finding ??= 'values';
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Most strings are short: a call of `indexOf` costs as much as looking at many bytes. */
const shortString = 40;

/** The index of the next quotation mark; -1 without one. */
function nextQuote(bytes: Uint8Array, from: number): number {
  const near = Math.min(bytes.length, from + shortString);
  for (let index = from; index < near; index += 1) if (bytes[index] === quote) return index;
  return bytes.indexOf(quote, near);
}

/** Whether the backslashes directly before `end`, back to `from`, escape what stands there. */
function isEscaped(bytes: Uint8Array, from: number, end: number): boolean {
  let first = end;
  while (first > from && bytes[first - 1] === backslash) first -= 1;
  return (end - first) % 2 === 1;
}

/** About how many different keys there are: one for each bucket that a hash of a key falls into. */
class KeyCounter {
  #seen: Uint8Array | null = null;
  #count = 0;
  /** Of the key that is being read. */
  #hash = seed;
  length = 0;
  isEscaped = false;
  readonly #start = Buffer.alloc(maxStoredKeyLength);

  /** The next bytes of the key. */
  add(bytes: Uint8Array, from: number, to: number): void {
    let hash = this.#hash;
    for (let index = from; index < to; index += 1) {
      const code = bytes[index]!;
      hash = Math.imul(hash ^ code, 0x01000193);
      if (code === backslash) this.isEscaped = true;
    }
    this.#hash = hash;
    const storedEnd = Math.min(to, from + maxStoredKeyLength - this.length);
    for (let index = from; index < storedEnd; index += 1) this.#start[this.length + index - from] = bytes[index]!;
    this.length += to - from;
  }

  /** Whether JavaScript might list the key before others, as it does "10". */
  get mayBeIndex(): boolean {
    const first = this.#start[0]!;
    return this.length > 0 && (isDigit(first) || first === backslash);
  }

  /** What the key says; null where it is malformed or long. */
  shortKey(): string | null {
    if (this.length > maxStoredKeyLength) return null;
    const written = this.#start.toString('latin1', 0, this.length);
    if (!this.isEscaped) return written;
    try {
      return JSON.parse(`"${written}"`) as string;
    } catch {
      return null;
    }
  }

  /** The key is complete; returns how many different ones there were. */
  end(): number {
    const bucket = (this.#hash ^ (this.#hash >>> 15)) & (buckets - 1);
    this.#hash = seed;
    this.length = 0;
    this.isEscaped = false;
    this.#seen ??= new Uint8Array(buckets >> 3);
    const bit = 1 << (bucket & 7);
    if ((this.#seen[bucket >> 3]! & bit) !== 0) return this.#count;
    this.#seen[bucket >> 3]! |= bit;
    this.#count += 1;
    return this.#count;
  }
}
