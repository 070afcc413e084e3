/** What of a text stands in the full-text index: its tokens in order, then marked ones, which no phrase reaches. */

import { readWords, type TextWord, textTokens } from './text-words.ts';
import { detectLanguages, indexedStems, type StemLanguage, stemLanguages } from './word-stems.ts';

/**
 * Changes when the same text is indexed otherwise: then stores index their e-mails again in the background.
 */
export const indexVersion = 2;

/** Marks are of private use: both engines keep them in a token, and no word of a text has them. */
const stemMark = '\ue000';
const signMark = '\ue001';
/** Stands in no text. */
export const absentToken = '\ue002';

const maxSigns = 100;

export const markedStem = (stem: string): string => stemMark + stem;

/** The pictures (`🎸`) in a text, as tokens. A picture is one code point; colours of skin and hair are left out. */
export function signTokens(text: string): string[] {
  const signs = new Set<string>();
  for (const [sign] of text.matchAll(/\p{Extended_Pictographic}/gu)) {
    signs.add(`${signMark}${sign.codePointAt(0)?.toString(16)}`);
    if (signs.size === maxSigns) break;
  }
  return [...signs];
}

/** The tokens of a name or an address, which have no forms. */
export function indexedName(text: string): string[] {
  return [...textTokens(readWords(text)), ...signTokens(text)];
}

/** The tokens of a short text, which may be in any language. */
export function indexedTitle(text: string): string[] {
  const words = [...readWords(text)];
  return [...textTokens(words), ...markedTokens(words, text, stemLanguages)];
}

/** The tokens of a long text, with stems of the languages in which it is written. @param max of its words at most. */
export function indexedBody(text: string, max: number): string[] {
  const words: TextWord[] = [];
  for (const word of readWords(text)) if (words.push(word) === max) break;
  return [...textTokens(words, max), ...markedTokens(words, text, detectLanguages(words))];
}

function markedTokens(words: readonly TextWord[], text: string, among: readonly StemLanguage[]): string[] {
  const marked = new Set<string>();
  const seen = new Set<string>();
  for (const each of words) {
    if (seen.has(each.written)) continue;
    seen.add(each.written);
    for (const stem of indexedStems(each, among)) marked.add(markedStem(stem));
  }
  return [...marked, ...signTokens(text)];
}
