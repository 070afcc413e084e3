import { randomInt } from 'node:crypto';

/**
 * Scans JSON text in linear time before it is parsed, because JSON.parse limits neither values nor nesting nor time.
 */

/** The result of a scan. The text may still be malformed. */
export type ScanFinding = 'values' | 'depth' | 'keys' | { readonly forbiddenKey: string } | null;

export interface ScanLimits {
  readonly values: number;
  readonly depth: number;
  /** Number of different keys. Each takes JSON.parse longer than a hundred values. */
  readonly keys: number;
}

/** A shorter text cannot exceed a limit, because each level and each value takes at least one character. */
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

/** Long numbers, and names that JavaScript would reorder, take exact-json.ts as long as this many further values. */
const exactnessCost = 9;
const maxCheapDigits = 15;

/** Number of bits of {@link KeyCounter}; a power of two. */
const buckets = 1 << 18;
/** A random seed, so that clients cannot construct keys that fall into one bucket. */
const seed = randomInt(2 ** 31);

/** Maximum stored bytes of a key. Each character of a forbidden key may be written as a six-character escape. */
const maxStoredKeyLength = 6 * 'constructor'.length;

/**
 * Counts values, levels and different keys, and finds forbidden keys, also in escaped spellings. The text is passed in
 * pieces of any length, and takes linear time.
 */
export class JsonScanner {
  readonly #limits: ScanLimits;
  readonly #forbidden: ReadonlySet<string>;
  readonly #forbiddenLengths: ReadonlySet<number>;
  readonly #keys = new KeyCounter();
  /** For each open level: whether it is an object. */
  readonly #objects: Uint8Array;
  #finding: ScanFinding = null;
  #values = 1;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** Whether the open or next string is a key. */
  #isKey = false;
  /** Number of digits and points of the open number. */
  #digits = 0;

  /** @param forbidden keys of at most eleven characters. */
  constructor(limits: ScanLimits, forbidden: ReadonlySet<string>) {
    this.#limits = limits;
    this.#forbidden = forbidden;
    this.#forbiddenLengths = new Set([...forbidden].map((key) => key.length));
    this.#objects = new Uint8Array(limits.depth + 1);
  }

  /**
   * Scans the next piece, and returns the first problem in all pieces so far.
   *
   * @param bytes the next piece of the text, in UTF-8.
   */
  scan(bytes: Uint8Array): ScanFinding {
    let index = 0;
    while (index < bytes.length && this.#finding === null)
      index = this.#inString ? this.#inside(bytes, index) : this.#outside(bytes, index);
    return this.#finding;
  }

  /** Continues to the end of a string. @returns the index after it. */
  #inside(bytes: Uint8Array, start: number): number {
    // A backslash at the end of the previous piece escapes the first character.
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

  /** Continues to the next string. @returns the index of its first character. */
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

  /** Counts the value after a comma, or after the beginning of a list or an object. */
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

/**
 * Bytes that are compared one by one first. Most strings are short, and a call of `indexOf` takes as long as many
 * bytes.
 */
const shortString = 40;

/** The index of the next quotation mark; -1 if there is none. */
function nextQuote(bytes: Uint8Array, from: number): number {
  const near = Math.min(bytes.length, from + shortString);
  for (let index = from; index < near; index += 1) if (bytes[index] === quote) return index;
  return bytes.indexOf(quote, near);
}

/** Whether the character at `end` is escaped by the backslashes before it, back to `from`. */
function isEscaped(bytes: Uint8Array, from: number, end: number): boolean {
  let first = end;
  while (first > from && bytes[first - 1] === backslash) first -= 1;
  return (end - first) % 2 === 1;
}

/** Estimates the number of different keys: the number of buckets that their hashes fall into. */
class KeyCounter {
  #seen: Uint8Array | null = null;
  #count = 0;
  /** The state of the key that is being read. */
  #hash = seed;
  length = 0;
  isEscaped = false;
  readonly #start = Buffer.alloc(maxStoredKeyLength);

  /** Adds the next bytes of the key. */
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

  /** Whether JavaScript might list the key before others, such as "10". */
  get mayBeIndex(): boolean {
    const first = this.#start[0]!;
    return this.length > 0 && (isDigit(first) || first === backslash);
  }

  /** The unescaped key; null if it is malformed or long. */
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

  /** Ends the key. @returns the number of different keys so far. */
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
