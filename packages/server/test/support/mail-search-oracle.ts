/**
 * Computes which of the stored copies (`stored-mail-copies.ts`) a search finds, by comparing the words of each copy.
 */
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import { toStemToken } from '../../src/mail/search/indexed-text.ts';
import { readWords } from '../../src/mail/search/text-words.ts';
import { findSearchStems } from '../../src/mail/search/word-stems.ts';
import { buildIndexEntry } from '../../src/mail/store/new-email.ts';
import { makeMailFlags } from './stored-mail-copies.ts';

type Column = 'subject' | 'sender' | 'recipients' | 'body' | 'files';
type Words = Readonly<Record<Column, readonly string[]>>;

/** One stored copy: what was parsed, and its number. */
export interface StoredCopy {
  readonly number: number;
  readonly words: Words;
}

type Holds = (copy: StoredCopy) => boolean;

/** The words of a message by column, as both engines index them. */
export function readIndexedWords(mail: ParsedMail): Words {
  return { ...buildIndexEntry(0, 0, mail), files: [] };
}

const everywhere: readonly Column[] = ['subject', 'sender', 'recipients', 'body', 'files'];

/** Consecutive words in one of some columns; the last word may be a prefix. */
const has =
  (phrase: string, columns: readonly Column[] = everywhere): Holds =>
  ({ words }) => {
    const wanted = phrase.replace('*', '').split(' ');
    const isPart = (word: string | undefined, index: number): boolean =>
      phrase.endsWith('*') && index === wanted.length - 1
        ? word?.startsWith(wanted[index]!) === true
        : word === wanted[index];
    return columns.some((column) =>
      words[column].some((_, at) => wanted.every((_, index) => isPart(words[column][at + index], index))),
    );
  };
/**
 * A word outside of quotation marks: it matches itself and its other forms; at the end of the search, it also matches
 * longer words.
 */
const any = (word: string, columns?: readonly Column[]): Holds => {
  const [read] = [...readWords(word)];
  const { stems, words } = findSearchStems(read!);
  const forms = [...stems.map(toStemToken), ...words];
  const stemmed = (columns ?? everywhere).filter((each) => each !== 'sender' && each !== 'recipients');
  return (copy) => has(word, columns)(copy) || forms.some((form) => has(form, stemmed)(copy));
};
const last = (word: string, columns?: readonly Column[]): Holds => {
  const [whole, begun] = [any(word, columns), has(`${word}*`, columns)];
  return (copy) => whole(copy) || begun(copy);
};
const not =
  (holds: Holds): Holds =>
  (copy) =>
    !holds(copy);
const all =
  (...of: readonly Holds[]): Holds =>
  (copy) =>
    of.every((holds) => holds(copy));
const unread: Holds = ({ number }) => !makeMailFlags(number).read;
const starred: Holds = ({ number }) => makeMailFlags(number).starred;

/** Searches, each with the condition that it means. */
export const searchExpectations: readonly (readonly [search: string, holds: Holds])[] = [
  ['the', has('the')],
  ['linux', last('linux')],
  ['linux ', any('linux')],
  ['the linux', all(has('the'), last('linux'))],
  ['gnupg', last('gnupg')],
  ['zeppelin', last('zeppelin')],
  ['xyzzyqq', last('xyzzyqq')],
  ['the xyzzyqq', all(has('the'), last('xyzzyqq'))],
  ['"mailing list"', has('mailing list')],
  ['"list the mailing"', has('list the mailing')],
  ['apt-get kernel', all(has('apt get'), last('kernel'))],
  ['messages attached ', all(any('messages'), any('attached'))],
  ['from:list', last('list', ['sender'])],
  ['from:com linux', all(has('com', ['sender']), last('linux'))],
  ['subject:re', has('re', ['subject'])],
  ['spam -linux', all(any('spam'), not(any('linux')))],
  ['-the', not(has('the'))],
  ['wor*', has('wor*')],
  ['the is:unread', all(has('the'), unread)],
  ['the is:starred', all(has('the'), starred)],
  ['linux is:starred', all(any('linux'), starred)],
  ['"mailing list" is:unread', all(has('mailing list'), unread)],
  ['zeppelin is:read', all(any('zeppelin'), not(unread))],
  ['the in:sent', () => false],
];
