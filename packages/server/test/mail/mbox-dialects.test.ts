import { describe, expect, test } from 'vitest';
import type { FileMessage } from '../../src/mail/files/mail-file.ts';
import { readMbox } from '../../src/mail/files/mbox-reader.ts';
import { measureProcessorTime } from '../support/timing.ts';

const all = (text: string, length = text.length): Promise<FileMessage[]> =>
  Array.fromAsync(readMbox(pieces(text, length)));
const textOf = ({ raw }: FileMessage): string => Buffer.from(raw).toString('latin1');

function* pieces(text: string, length: number): Generator<Uint8Array> {
  for (let at = 0; at < text.length; at += length) yield Buffer.from(text.slice(at, at + length), 'latin1');
}

/** A file with a message after each of these separators. */
const fileOf = (separators: readonly string[], end = '\n'): string =>
  separators
    .map((separator, index) => `${separator}\nSubject: ${index}\n\nText ${index}\n\n`)
    .join('')
    .replaceAll('\n', end);
const dated = 'From a@b.example Thu Aug 22 12:36:23 2002';

describe('mbox separators', () => {
  test.each([
    ['Thunderbird', ['From ', 'From ', 'From '], '\r\n'],
    ['Thunderbird, older and newer', ['From - Thu Aug 22 12:36:23 2002', 'From - ', 'From '], '\n'],
    [
      'Gmail Takeout',
      ['From 184434@xxx Thu Aug 22 12:36:23 +0000 2002', 'From 17@xxx Fri Aug 23 12:36:23 +0000 2002'],
      '\r\n',
    ],
    ['ids without a date', ['From 1844@xxx', 'From 99@xxx', 'From 7@xxx'], '\n'],
    ['an address without a date', ['From ada@b.example', 'From bob@b.example'], '\n'],
    ['a word without a date', ['From ada', 'From bob'], '\n'],
    ['dates of ISO 8601', ['From a@b.example 2002-08-22T12:36:23Z', 'From a@b.example 2002-08-22 12:36:23'], '\n'],
    ['a sender with spaces', ['From Ada Lovelace', 'From Bob B'], '\n'],
    ['dated, then bare', [dated, 'From ', dated], '\n'],
  ])('%s', async (_, separators, end) => {
    for (const length of [1, 7, 10_000]) {
      const found = await all(fileOf(separators, end), length);
      expect(found.map(textOf)).toEqual(
        separators.map((_, index) => `Subject: ${index}\n\nText ${index}\n`.replaceAll('\n', end)),
      );
      expect(found.every(({ doubts }) => doubts === undefined)).toBe(true);
    }
  });

  test('contain times, which are read', async () => {
    const found = await all(
      fileOf([
        'From a 2002-08-22 12:36:23',
        'From a 2002-08-22T14:36:23+02:00',
        dated,
        'From 1@x Thu Aug 22 12:36:23 +0000 2002',
        'From ',
      ]),
    );
    expect(found.map(({ receivedAt }) => receivedAt)).toEqual([
      ...Array(4).fill('2002-08-22T12:36:23.000Z'),
      undefined,
    ]);
  });

  test.each([
    ['a sentence', `${dated}\nA: b\n\nFrom now on\nall is well\n`],
    ['a sentence in a bare file', 'From \nA: b\n\nFrom \nnow on\n'],
    ['no empty line before it', 'From \nA: b\n\nx\nFrom \nText\n'],
  ])('%s is text and not a separator', async (_, file) => {
    const found = await all(file);
    expect([found.length, found[0]!.doubts]).toEqual([1, undefined]);
  });

  test('a possible separator stays text and is reported with its offset', async () => {
    const one = `${dated}\nA: b\n\nFrom someone else\nSubject: x\n\n`;
    const two = `last line\n${dated}\nSubject: y\n\n`;
    const found = await all(`${one}${two}${dated}\nA: c\n`, 5);
    expect(found.map(({ doubts }) => doubts)).toEqual([
      { count: 2, offsets: [one.indexOf('From someone'), one.length + two.indexOf('From ')] },
      undefined,
    ]);
  });

  test('ten million bytes of near-separators are read in linear time', { timeout: 240_000 }, async () => {
    for (const line of [
      '\nFrom x y\nA: b\n',
      '\nFrom \n',
      'From - \n\n',
      `\nFrom ${'x '.repeat(480)}\nA: b\n`,
      '>'.repeat(30),
    ]) {
      const read = async (): Promise<void> => {
        const found = await Array.fromAsync(
          readMbox([Buffer.from(`${dated}\nA: b\n`), Buffer.alloc(10 * 1024 * 1024, line)]),
        );
        expect(found).toHaveLength(1);
        expect(found[0]!.doubts?.offsets.length ?? 0).toBeLessThanOrEqual(10);
      };
      expect(await measureProcessorTime(read)).toBeLessThan(10_000);
    }
  });

  test('a file of many messages is read in bounded memory, whatever lengths it states', {
    timeout: 240_000,
  }, async () => {
    function* file(): Generator<Uint8Array> {
      const piece = Buffer.from(`${dated}\nContent-Length: 40000000\n\n${'x'.repeat(1000)}\n\n`.repeat(100));
      for (let at = 0; at < 2000; at += 1) yield piece;
    }
    let count = 0;
    for await (const message of readMbox(file())) count += message.raw.length === 1027 ? 1 : 0;
    expect(count).toBe(200_000);
  });
});

describe('Content-Length', () => {
  const message = (body: string, length = body.length): string =>
    `${dated}\nSubject: x\nContent-Length: ${length}\n\n${body}`;
  const inner = `one\n\n${dated}\nSubject: quoted\n\n>From here\n`;

  test('is used if a separator follows the body (mboxcl2), which has no escapes', async () => {
    const file = `${message(inner)}\n${message('two\n')}\n${message('three')}\n\n`;
    for (const length of [1, 1000]) {
      const found = await all(file, length);
      expect(found.map((each) => textOf(each).split('\n\n').slice(1).join('\n\n'))).toEqual([inner, 'two\n', 'three']);
    }
  });

  test('is used without an empty line before the next separator', async () => {
    const found = await all(`${message('one\n')}${message('two\n')}${message('>From x\n')}`);
    expect(found.map((each) => textOf(each).split('\n\n')[1])).toEqual(['one\n', 'two\n', 'From x\n']);
  });

  test('is ignored in a file where it is wrong', async () => {
    const found = await all(
      `${message('one\n', 2)}\n${message('two\n', 100_000)}\n${message('x\n')}\n${message('three\n', 0)}`,
    );
    expect(found.map((each) => textOf(each).split('\n\n')[1])).toEqual(['one\n', 'two\n', 'x\n', 'three\n']);
  });
});

describe('flags of mail programs', () => {
  const notesOf = async (headers: string, separator = 'From - '): Promise<Partial<FileMessage>> => {
    const [{ raw, flags, receivedAt, ...rest } = {} as FileMessage] = await all(`${separator}\n${headers}\n\nx\n`);
    return { ...rest, ...(flags && { flags: flags.toSorted() }) };
  };

  test.each<[string, Partial<FileMessage>]>([
    ['Subject: x', {}],
    ['X-Mozilla-Status: 0000', { flags: [] }],
    ['X-Mozilla-Status: 0007\nX-Mozilla-Status2: 00000000', { flags: ['answered', 'flagged', 'seen'] }],
    ['X-Mozilla-Status: 0009', { flags: ['seen'], expunged: true }],
    ['X-Mozilla-Status: nonsense', {}],
    [
      'X-Gmail-Labels: Inbox,Unread,Orders,"Big, Clients"',
      { flags: [], labels: ['Orders', 'Big', 'Clients'], mailbox: 'INBOX' },
    ],
    ['X-Gmail-Labels: Sent,Opened,Starred', { flags: ['flagged', 'seen'], labels: [], mailbox: 'Sent' }],
    ['X-Gmail-Labels: Spam,Inbox', { flags: ['seen'], labels: [], mailbox: 'Spam' }],
    ['X-Gmail-Labels: =?UTF-8?Q?Papierkorb,Ge=C3=B6ffnet?=', { flags: ['seen'], labels: [], mailbox: 'Trash' }],
    ['X-Gmail-Labels: Archived,Draft', { flags: ['draft', 'seen'], labels: [], mailbox: 'Drafts' }],
    ['X-Gmail-Labels: Important', { flags: ['seen'], labels: ['Important'], mailbox: 'Archive' }],
  ])('%s', async (headers, notes) => {
    expect(await notesOf(headers)).toEqual(notes);
  });

  test('are only trusted in files of Thunderbird, because otherwise a sender could hide a message', async () => {
    expect(await notesOf('X-Mozilla-Status: 0009', dated)).toEqual({});
  });
});
