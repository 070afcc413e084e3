/** Words of a text, normalised the same way for the full-text index and for searches. */

/** Maximum number of indexed words of one text, and maximum length of a word. */
const maxWords = 20_000;
const maxWordLength = 60;

/** Characters of Chinese, Japanese and Korean, which are written without spaces or with endings attached. */
const cjk = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}]`;
const letter = String.raw`[\p{L}\p{N}\p{M}]`;
const wordPattern = new RegExp(`[${cjk}&&${letter}]+|[${letter}--${cjk}]+`, 'gv');
const beginsCjk = new RegExp(`^${cjk}`, 'v');
/** All letters before this one belong to other scripts. */
const firstCjk = 0x1100;
const endsInLetter = new RegExp(`${letter}$`, 'v');

/** Letters that are written as other letters on keyboards without them. Unicode does not decompose them. */
const spellings: Readonly<Record<string, string>> = {
  ß: 'ss',
  ı: 'i',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ς: 'σ',
};

/** A sequence of letters and digits. */
export interface TextWord {
  /** The indexed form: without case, accents and differences of width; the same on both engines. */
  readonly word: string;
  /** The original form in lower case. Stemmers need the accents. */
  readonly written: string;
  readonly isCjk: boolean;
}

/**
 * The sequences of letters and digits in a text, in order. Chinese, Japanese and Korean characters are separated from
 * other letters.
 */
export function* readWords(text: string): Generator<TextWord> {
  // A soft hyphen is not part of the word.
  const normal = text.replaceAll('\u00ad', '').normalize('NFKC').toLowerCase();
  for (const written of normal.match(wordPattern) ?? []) {
    const word = fold(written);
    if (word === '') continue;
    yield { word, written, isCjk: written.charCodeAt(0) >= firstCjk && beginsCjk.test(written) };
  }
}

/**
 * The tokens of a text in the index. A Chinese, Japanese or Korean sequence of n characters has n tokens: each
 * character with the next one, and the last character. So any part of the sequence is itself a sequence of tokens.
 *
 * @param max maximum number of tokens.
 */
export function textTokens(words: Iterable<TextWord>, max = maxWords): string[] {
  const tokens: string[] = [];
  for (const { word, isCjk } of words) {
    if (isCjk) {
      const characters = [...word];
      tokens.push(...characters.map((each, index) => each + (characters[index + 1] ?? '')));
    } else tokens.push(truncateWord(word));
    if (tokens.length >= max) return tokens.slice(0, max);
  }
  return tokens;
}

/** The tokens of words that are searched for. */
export interface SearchTokens {
  readonly tokens: readonly string[];
  /** The last token is a single Chinese, Japanese or Korean character: tokens that begin with it contain it. */
  readonly isPart: boolean;
}

/**
 * Tokens that follow each other wherever a text contains the words. A Chinese, Japanese or Korean sequence at the end
 * may continue in the text.
 */
export function searchTokens(words: readonly TextWord[]): SearchTokens {
  const tokens = textTokens(words);
  if (words.at(-1)?.isCjk !== true) return { tokens, isPart: false };
  const isPart = [...words.at(-1)!.word].length === 1;
  return { tokens: isPart ? tokens : tokens.slice(0, -1), isPart };
}

/** Whether a text ends within a word, which may be unfinished. */
export function endsInWord(text: string): boolean {
  return endsInLetter.test(text);
}

/** Removes accents and other marks, except the voicing marks of Japanese, which make other letters. */
function fold(written: string): string {
  if (/^[a-z0-9]*$/.test(written)) return written;
  return written
    .normalize('NFKD')
    .replaceAll(/[\p{M}--[\u3099\u309a]]+/gv, '')
    .normalize('NFC')
    .replaceAll(/[ßıæœøłđðþς]/gu, (each) => spellings[each] ?? each);
}

function truncateWord(word: string): string {
  return word.length > maxWordLength ? [...word].slice(0, maxWordLength).join('') : word;
}
