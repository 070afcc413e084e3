/**
 * Detects the encoding of a text that is not Unicode, from its lines with bytes of 0x80 and above. The other lines say nothing
 * about it, and neither do the ASCII words in these lines: a detector that sees them takes any text for a Latin one.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises';

const fallback = 'windows-1252';
/** Minimum confidence of the detector for encodings with one byte and with several bytes for a character. */
const minConfidence = { single: 20, several: 40 } as const;
/** How much better than windows-1252 another Latin encoding must fit. */
const margin = 10;
/** The share of the words that must be possible in an encoding of another script. */
const minShare = 0.9;
const minWordLength = 3;
const sampleBytes = 64 * 1024;
const lineFeed = 0x0a;
const separator = Buffer.from(' ');

const severalBytes: ReadonlySet<string> = new Set(['shift_jis', 'euc-jp', 'euc-kr', 'big5', 'gb18030']);
/** Encodings of ISO that programs replace by a superset. */
const supersets: Readonly<Record<string, string>> = {
  'iso-8859-1': 'windows-1252',
  'iso-8859-7': 'windows-1253',
  'iso-8859-8': 'windows-1255',
  'iso-8859-9': 'windows-1254',
};

/** Upper and lower case as words have them: the wrong encoding of a script swaps or mixes them. */
const cyrillic = /^(?:[А-ЯЁЄІЇҐЎ]?[а-яёєіїґў]+|[А-ЯЁЄІЇҐЎ]+)$/;
const greek = /^(?:[Α-ΩΆΈΉΊΌΎΏ]?[α-ώϊϋΐΰς]+|[Α-ΩΆΈΉΊΌΎΏΪΫ]+)$/;
const greekAccents = /[άέήίόύώΐΰΆΈΉΊΌΎΏ]/g;
/** The final forms of letters are only at the end of a word. */
const hebrew = /^[\u05D0-\u05D9\u05DB\u05DC\u05DE\u05E0-\u05E2\u05E4\u05E6-\u05EA]*[\u05D0-\u05EA]$/;
/** Marks above and below follow a consonant. */
const thai =
  /^(?:[\u0E40-\u0E44]?[\u0E01-\u0E2E][\u0E31\u0E34-\u0E3A\u0E47-\u0E4E]{0,2}[\u0E2F\u0E30\u0E32\u0E33\u0E45\u0E46]*)+$/;

/**
 * Encodings of scripts without ASCII letters, and whether a word is possible in them. If several fit equally, the first
 * one is taken.
 */
const scripts: readonly (readonly [encoding: string, isWord: (word: string) => boolean])[] = [
  ['windows-1255', (word) => hebrew.test(word)],
  ['windows-1251', (word) => cyrillic.test(word)],
  ['koi8-r', (word) => cyrillic.test(word)],
  ['ibm866', (word) => cyrillic.test(word)],
  ['windows-1253', isGreek],
  ['windows-874', (word) => thai.test(word)],
];

/** Latin alphabets that the detector takes for windows-1252: all their foreign letters, and those of which a text has some. */
const alphabets: readonly (readonly [encoding: string, letters: string, typical: string])[] = [
  ['windows-1254', 'ÇçĞğİıÖöŞşÜüÂâÎîÛû', 'ĞğİıŞş'],
  ['windows-1250', 'ÁáÉéÍíÓóÖöŐőÚúÜüŰű', 'Őő'],
];

/** @param lines whole lines with bytes of 0x80 and above. @returns a label that iconv-lite knows. */
export async function detectCharset(lines: Uint8Array): Promise<string> {
  const [{ default: chardet }, { default: iconv }] = await Promise.all([import('chardet'), import('iconv-lite')]);
  const several = chardet
    .analyse(lines)
    .map(({ name, confidence }) => ({ name: name.toLowerCase(), confidence }))
    .find(
      ({ name, confidence }) => severalBytes.has(name) && confidence >= minConfidence.several && isValid(lines, name),
    );
  if (several) return several.name;
  await yieldToOthers();
  const words = splitForeignWords(lines);
  const byScript = detectScript(words, (bytes, encoding) => iconv.decode(bytes, encoding));
  if (byScript !== null) return byScript;
  const byAlphabet = alphabets.find(([encoding, letters, typical]) => {
    const foreign = [...iconv.decode(Buffer.concat(words), encoding)].filter((each) => each > '\u007F');
    return foreign.every((each) => letters.includes(each)) && foreign.some((each) => typical.includes(each));
  });
  if (byAlphabet) return byAlphabet[0];
  const text = Buffer.concat(words.flatMap((word) => [word, separator]));
  const matches = chardet
    .analyse(text)
    .map(({ name, confidence }) => ({ name: name.toLowerCase(), confidence }))
    .filter(({ name }) => !severalBytes.has(name) && !/^(?:utf|iso-2022|ascii)/.test(name));
  const [best] = matches;
  if (!best || best.confidence < minConfidence.single || !iconv.encodingExists(best.name)) return fallback;
  const latin = matches.find(({ name }) => name === 'iso-8859-1' || name === 'windows-1252');
  if (latin && latin.confidence + margin > best.confidence) return fallback;
  return supersets[best.name] ?? best.name;
}

function isValid(bytes: Uint8Array, encoding: string): boolean {
  try {
    new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** The encoding of a script without ASCII letters in which nearly all words are possible; null for a Latin text. */
function detectScript(words: readonly Buffer[], decode: (bytes: Buffer, encoding: string) => string): string | null {
  const long = words.filter((word) => word.length >= minWordLength);
  if (long.length === 0) return null;
  const shares = scripts.map(([encoding, isWord]) => ({
    encoding,
    share: long.filter((word) => isWord(decode(word, encoding))).length / long.length,
  }));
  const best = shares.reduce((one, other) => (other.share > one.share ? other : one));
  return best.share >= minShare ? best.encoding : null;
}

/** Greek words of several syllables have one accent, unless they are in capitals. */
function isGreek(word: string): boolean {
  const accents = word.match(greekAccents)?.length ?? 0;
  return (
    greek.test(word) &&
    (accents === 1 || (accents === 0 && (word.length === minWordLength || word === word.toUpperCase())))
  );
}

/** Words of letters and foreign bytes that contain a foreign byte. */
function splitForeignWords(bytes: Uint8Array): Buffer[] {
  const words: Buffer[] = [];
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let start = 0;
  let isForeign = false;
  for (let index = 0; index <= source.length; index += 1) {
    const byte = source[index] ?? 0;
    isForeign ||= byte >= 0x80;
    if (byte >= 0x80 || isAsciiLetter(byte)) continue;
    if (isForeign) words.push(source.subarray(start, index));
    start = index + 1;
    isForeign = false;
  }
  return words;
}

function isAsciiLetter(byte: number): boolean {
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x7a;
}

/** Collects lines with bytes of 0x80 and above. Longer lines than the sample are taken in parts. */
export class ForeignLines {
  readonly #parts: Uint8Array[] = [];
  #size = 0;
  /** The beginning of a line whose end is in the next piece. */
  #open: Buffer = Buffer.alloc(0);

  get isFull(): boolean {
    return this.#size >= sampleBytes;
  }

  add(piece: Uint8Array): void {
    const text = Buffer.concat([this.#open, piece]);
    let start = 0;
    for (;;) {
      const end = text.indexOf(lineFeed, start);
      if (end < 0) break;
      this.#addLine(text.subarray(start, end + 1));
      start = end + 1;
    }
    this.#open = text.subarray(start);
    if (this.#open.length < sampleBytes) return;
    this.#addLine(this.#open);
    this.#open = Buffer.alloc(0);
  }

  take(): Uint8Array {
    this.#addLine(this.#open);
    return Buffer.concat(this.#parts);
  }

  #addLine(line: Uint8Array): void {
    if (this.isFull || !line.some((byte) => byte >= 0x80)) return;
    this.#parts.push(line);
    this.#size += line.length;
  }
}
