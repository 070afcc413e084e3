/** Which of the stored copies (`mail-copies.ts`) a search finds: by a plain look at the words of each. */
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import { textWords } from '../../src/mail/search/text-words.ts';
import { flagsOf } from './mail-copies.ts';

type Column = 'subject' | 'sender' | 'recipients' | 'body' | 'files';
type Words = Readonly<Record<Column, readonly string[]>>;

/** One stored copy: what was parsed, and its number. */
export interface Copy {
  readonly number: number;
  readonly words: Words;
}

type Holds = (copy: Copy) => boolean;

/** The words of a message by where they stand, as both engines have them. */
export function wordsOf(mail: ParsedMail): Words {
  const people = (list: ParsedMail['from']): string[] =>
    list.flatMap(({ name, address }) => textWords(`${name} ${address}`));
  return {
    subject: textWords(mail.subject),
    sender: people(mail.from),
    recipients: people([...mail.to, ...mail.cc, ...mail.bcc]),
    body: textWords(mail.text, 10_000),
    files: [],
  };
}

const everywhere: readonly Column[] = ['subject', 'sender', 'recipients', 'body', 'files'];

/** Words that follow each other in one of some columns; the last may be the beginning of one. */
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
const not =
  (holds: Holds): Holds =>
  (copy) =>
    !holds(copy);
const all =
  (...of: readonly Holds[]): Holds =>
  (copy) =>
    of.every((holds) => holds(copy));
const unread: Holds = ({ number }) => !flagsOf(number).read;
const starred: Holds = ({ number }) => flagsOf(number).starred;

/** Searches, each with what it means. */
export const searches: readonly (readonly [search: string, holds: Holds])[] = [
  ['the', has('the')],
  ['linux', has('linux')],
  ['the linux', all(has('the'), has('linux'))],
  ['gnupg', has('gnupg')],
  ['zeppelin', has('zeppelin')],
  ['xyzzyqq', has('xyzzyqq')],
  ['the xyzzyqq', all(has('the'), has('xyzzyqq'))],
  ['"mailing list"', has('mailing list')],
  ['"list the mailing"', has('list the mailing')],
  ['apt-get kernel', all(has('apt get'), has('kernel'))],
  ['from:list', has('list', ['sender'])],
  ['from:com linux', all(has('com', ['sender']), has('linux'))],
  ['subject:re', has('re', ['subject'])],
  ['spam -linux', all(has('spam'), not(has('linux')))],
  ['-the', not(has('the'))],
  ['wor*', has('wor*')],
  ['the is:unread', all(has('the'), unread)],
  ['the is:starred', all(has('the'), starred)],
  ['linux is:starred', all(has('linux'), starred)],
  ['"mailing list" is:unread', all(has('mailing list'), unread)],
  ['zeppelin is:read', all(has('zeppelin'), not(unread))],
  ['the in:sent', () => false],
];
