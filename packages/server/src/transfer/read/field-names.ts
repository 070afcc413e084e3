import { fieldNameProblem } from '../../schema/names.ts';

const maxLength = 60;
/** Letters that are no combination of a basic letter and a mark. */
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ı: 'i',
};
const maxHeaderLength = 500;

/** The basic letters and digits of a text in lower case, in words: `Größe (cm)` becomes `['grosse', 'cm']`. */
export function splitWords(text: string): string[] {
  const plain = text
    .slice(0, maxHeaderLength)
    .replace(/(?<=\p{Ll}|\d)(?=\p{Lu})/gu, ' ')
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[ßæœøđðþłı]/g, (letter) => letters[letter] ?? letter);
  return plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
}

/**
 * A valid name of a field that is not taken: `Unit price (€)` becomes `unitPrice`, then `unitPrice2`. The result is added to `taken`.
 *
 * @param fallback the name for texts without Latin letters and digits.
 */
export function proposeName(text: string, fallback: string, taken: Set<string>): string {
  const words = splitWords(text)
    .map((word) => word.replace(/[^a-z0-9]/g, ''))
    .filter((word) => word !== '');
  const joined = words.map((word, index) => (index === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join('');
  const given = text.trim();
  const isName = fieldNameProblem(given) === null;
  const base = (isName ? given : /^[a-z]/.test(joined) ? joined : joined === '' ? fallback : `n${joined}`).slice(
    0,
    maxLength,
  );
  let name = base;
  for (let number = 2; taken.has(name) || fieldNameProblem(name) !== null; number += 1)
    name = base.slice(0, maxLength - String(number).length) + number;
  taken.add(name);
  return name;
}
