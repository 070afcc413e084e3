/** The tokens of a text in the full-text index: the words in order, then marked tokens, which no phrase reaches. */

import { readWords, type TextWord, textTokens } from './text-words.ts';
import { detectLanguages, findIndexStems, type StemLanguage, stemLanguages } from './word-stems.ts';

/**
 * Changes when the same text is indexed otherwise: then stores index their e-mails again in the background.
 */
export const indexVersion = 2;

/** Marks are of private use: both engines keep them in a token, and no word of a text has them. */
const stemMark = '\ue000';
const emojiMark = '\ue001';
/** Stands in no text. */
export const absentToken = '\ue002';

const maxEmojis = 100;

/** The token of a word stem in the full-text index; it cannot equal the token of a word. */
export const toStemToken = (stem: string): string => stemMark + stem;

/** The pictures (`🎸`) in a text, as tokens. A picture is one code point; colours of skin and hair are left out. */
export function extractEmojiTokens(text: string): string[] {
  const emojis = new Set<string>();
  for (const [emoji] of text.matchAll(/\p{Extended_Pictographic}/gu)) {
    emojis.add(`${emojiMark}${emoji.codePointAt(0)?.toString(16)}`);
    if (emojis.size === maxEmojis) break;
  }
  return [...emojis];
}

/** The tokens of a name or an address, which have no forms. */
export function tokenizeName(text: string): string[] {
  return [...textTokens(readWords(text)), ...extractEmojiTokens(text)];
}

/** The tokens of a short text, which may be in any language. */
export function tokenizeTitle(text: string): string[] {
  const words = [...readWords(text)];
  return [...textTokens(words), ...createMarkedTokens(words, text, stemLanguages)];
}

/** The tokens of a long text, with stems of the languages in which it is written. @param max of its words at most. */
export function tokenizeBody(text: string, max: number): string[] {
  const words: TextWord[] = [];
  for (const word of readWords(text)) if (words.push(word) === max) break;
  return [...textTokens(words, max), ...createMarkedTokens(words, text, detectLanguages(words))];
}

function createMarkedTokens(words: readonly TextWord[], text: string, languages: readonly StemLanguage[]): string[] {
  const marked = new Set<string>();
  const seen = new Set<string>();
  for (const each of words) {
    if (seen.has(each.written)) continue;
    seen.add(each.written);
    for (const stem of findIndexStems(each, languages)) marked.add(toStemToken(stem));
  }
  return [...marked, ...extractEmojiTokens(text)];
}
