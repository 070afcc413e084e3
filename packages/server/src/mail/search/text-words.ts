/** How many words of a text are found by a search, and how long a word is. */
const mostWords = 20_000;
const longestWord = 60;

/**
 * The words of a text as the index has them: letters and digits, without case and accents. Both engines and whoever
 * searches fold alike.
 */
export function textWords(text: string, most = mostWords): string[] {
  const folded = text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase();
  const words: string[] = [];
  for (const [word] of folded.matchAll(/[\p{L}\p{N}]+/gu)) {
    words.push(word.length > longestWord ? [...word].slice(0, longestWord).join('') : word);
    if (words.length === most) break;
  }
  return words;
}
