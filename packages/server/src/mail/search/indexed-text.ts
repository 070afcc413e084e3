/** The tokens of a text in the full-text index: the words in order, then marked tokens, which no phrase reaches. */

import { readWords, type TextWord, textTokens } from './text-words.ts';
import { detectLanguages, findIndexStems, type StemLanguage, stemLanguages } from './word-stems.ts';

/** Increased when text is indexed in another way: stores then index their e-mails again in the background. */
export const indexVersion = 3;

/** Marks are private-use characters: both engines keep them in a token, and no word of a text contains them. */
const stemMark = '\ue000';
const emojiMark = '\ue001';
/** A character that no text contains. */
export const absentToken = '\ue002';

const maxEmojis = 100;

/** The token of a word stem in the full-text index; it cannot equal the token of a word. */
export const toStemToken = (stem: string): string => stemMark + stem;

/** The emoji (`🎸`) in a text, as tokens. An emoji is one code point; modifiers of skin and hair colour are left out. */
export function extractEmojiTokens(text: string): string[] {
  const emojis = new Set<string>();
  for (const [emoji] of text.matchAll(/\p{Extended_Pictographic}/gu)) {
    emojis.add(`${emojiMark}${emoji.codePointAt(0)?.toString(16)}`);
    if (emojis.size === maxEmojis) break;
  }
  return [...emojis];
}

/** The tokens of a name or an address, without stems. */
export function tokenizeName(text: string): string[] {
  return [...textTokens(readWords(text)), ...extractEmojiTokens(text)];
}

/** The tokens of a short text, which may be in any language. */
export function tokenizeTitle(text: string): string[] {
  const words = [...readWords(text)];
  return [...textTokens(words), ...createMarkedTokens(words, text, stemLanguages)];
}

/** The tokens of a long text, with stems in its languages. @param max maximum number of words. */
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
