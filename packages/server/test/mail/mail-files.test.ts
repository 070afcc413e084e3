import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FileMessage, MailFlag } from '../../src/mail/files/mail-file.ts';
import { readMailSource } from '../../src/mail/files/mail-source.ts';
import { type MboxVariant, readMbox } from '../../src/mail/files/mbox-reader.ts';
import { writeExactMbox, writeMbox } from '../../src/mail/files/mbox-writer.ts';
import { measureProcessorTime } from '../support/timing.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mail-files-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const textOf = ({ raw }: FileMessage): string => Buffer.from(raw).toString('latin1');
const all = <T>(source: AsyncIterable<T>): Promise<T[]> => Array.fromAsync(source);

/** The bytes of a text in pieces of a certain length. */
function* pieces(text: string, length: number): Generator<Uint8Array> {
  for (let at = 0; at < text.length; at += length) yield Buffer.from(text.slice(at, at + length), 'latin1');
}

const readText = async (text: string, variant?: MboxVariant, length = 7): Promise<FileMessage[]> =>
  all(readMbox(pieces(text, length), variant));

describe('mbox', () => {
  test.each(['1:11 ', '1:11 19', '1:11:11 19 20 ', 'a '])(
    'lines that resemble separators are read in linear time: %j',
    async (text) => {
      const line = `From a@b.example ${text.repeat(Math.floor(970 / text.length))}\n\n`;
      const read = async (): Promise<void> =>
        expect(await all(readMbox([Buffer.from(line.repeat(3000))]))).toHaveLength(1);
      expect(await measureProcessorTime(read)).toBeLessThan(7500);
    },
  );

  test('messages are read with their times and flags', async () => {
    const file = `From a@b.example Thu Aug 22 12:36:23 2002
Subject: one
Status: RO
X-Status: AF

Body
>From the sea
>>From afar
From here on nothing is parted
Content-Length: 9999

From - Thu Aug  2 12:36 +0200 2007
Subject: two

`;
    const [one, two, ...rest] = await readText(file);
    expect(rest).toEqual([]);
    expect(textOf(one!)).toBe(
      'Subject: one\nStatus: RO\nX-Status: AF\n\nBody\nFrom the sea\n>From afar\nFrom here on nothing is parted\nContent-Length: 9999\n',
    );
    expect([one!.flags, one!.receivedAt]).toEqual([['seen', 'answered', 'flagged'], '2002-08-22T12:36:23.000Z']);
    expect([textOf(two!), two!.flags, two!.receivedAt]).toEqual([
      'Subject: two\n',
      undefined,
      '2007-08-02T10:36:00.000Z',
    ]);
  });

  test('the variant mboxo only removes one level of escapes', async () => {
    const file = 'From a Thu Aug 22 12:36:23 2002\nA: b\n\n>From x\n>>From y\n';
    expect((await readText(file, 'mboxo')).map(textOf)).toEqual(['A: b\n\nFrom x\n>>From y\n']);
  });

  test.each([
    ['nothing', '', []],
    ['empty lines', '\n\n', []],
    ['no separator', 'Subject: a\n\nb', ['Subject: a\n\nb']],
    [
      'CRLF',
      'From a Thu Aug 22 12:36:23 2002\r\nA: b\r\n\r\nc\r\n\r\nFrom a Thu Aug 22 12:36:23 2002\r\nA: d\r\n',
      ['A: b\r\n\r\nc\r\n', 'A: d\r\n'],
    ],
    [
      'From without an empty line before it',
      'From a Thu Aug 22 12:36:23 2002\nA: b\n\nc\nFrom a Thu Aug 22 12:36:23 2002\n',
      ['A: b\n\nc\nFrom a Thu Aug 22 12:36:23 2002\n'],
    ],
    ['From with a year alone', 'From a 2002\nA: b\n\nFrom a 2002 12:36\n', ['A: b\n\nFrom a 2002 12:36\n']],
    ['From without an address', 'From Thu Aug 22 12:36:23 2002\nA: b\n', ['A: b\n']],
    ['From without a date', 'From a Thu Aug 22 12:36:23 2002\nA: b\n\nFrom now on\n', ['A: b\n\nFrom now on\n']],
  ])('%s', async (_, file, messages) => {
    for (const length of [1, 2, 1000]) expect((await readText(file, 'mboxrd', length)).map(textOf)).toEqual(messages);
  });

  test('a message over the limit is reported and not stored, and the next one is read', async () => {
    const line = Buffer.alloc(1024 * 1024, 'x');
    line[line.length - 1] = 0x0a;
    function* file(): Generator<Uint8Array> {
      yield Buffer.from('From a Thu Aug 22 12:36:23 2002\nSubject: long\n\n');
      for (let at = 0; at < 52; at += 1) yield line;
      yield Buffer.from('\nFrom a Thu Aug 22 12:36:23 2002\nSubject: next\n\n');
    }
    const [long, next] = await all(readMbox(file()));
    expect([long!.tooLong! > 52 * 1024 * 1024, long!.raw.length, textOf(long!).slice(0, 13)]).toEqual([
      true,
      256 * 1024,
      'Subject: long',
    ]);
    expect([next!.tooLong, textOf(next!)]).toEqual([undefined, 'Subject: next\n']);
  });

  test('a written mbox is read back', async () => {
    const flags = fc.option(fc.subarray<MailFlag>(['seen', 'answered', 'flagged', 'deleted', 'draft']), {
      nil: undefined,
    });
    const line = fc.constantFrom(
      'From ',
      '>From x',
      '>>From ',
      'From a Thu Aug 22 12:36:23 2002',
      '',
      '>',
      'Status: X',
      'text',
      '\xff\x80',
      '. ',
    );
    const message = fc.record({
      lines: fc.array(line, { maxLength: 8 }),
      flags,
      at: fc.integer({ min: 0, max: 4_000_000_000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { maxLength: 5 }),
        fc.integer({ min: 1, max: 100 }),
        async (messages, length) => {
          const files = messages.map(({ lines, flags: set, at }) => ({
            raw: Buffer.from(
              `From: Ada <ada@x.example>\r\nSubject: x\r\n\r\n${lines.map((each) => `${each}\r\n`).join('')}`,
              'latin1',
            ),
            receivedAt: new Date(at * 1000).toISOString(),
            ...(set ? { flags: set } : {}),
          }));
          const written = Buffer.concat(await all(writeMbox(files))).toString('latin1');
          const read = await readText(written, 'mboxrd', length);
          expect(read.map(({ receivedAt }) => receivedAt)).toEqual(files.map(({ receivedAt }) => receivedAt));
          expect(read.map((each) => [...(each.flags ?? [])].sort())).toEqual(
            files.map((each) => [...(each.flags ?? [])].sort()),
          );
          const bare = (text: string): string => text.replace(/^Status: .*\nX-Status: .*\n/, '');
          expect(read.map((each) => bare(textOf(each)))).toEqual(
            files.map(({ raw }) => raw.toString('latin1').replaceAll('\r\n', '\n')),
          );
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('mail folders', () => {
  const put = (path: string, text: string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };

  test('a Maildir is read with sub-folders, flags and times; incomplete messages and links are skipped', async () => {
    put('box/cur/1700000000.a.host:2,FRS', 'Subject: 1');
    put('box/new/1700000001.b.host', 'Subject: 2');
    put('box/tmp/1700000002.c.host', 'Subject: 3');
    put('box/.Sent/cur/1700000003.d.host;2,S', 'Subject: 4');
    put('box/.Clients.Entw&APw-rfe/new/x!2,DTxQ', 'Subject: 5');
    put('box/.Sent/cur/.hidden', 'no');
    put('box/other/cur/1', 'no');
    symlinkSync('/etc/passwd', join(folder, 'box/cur/1700000009.link:2,'));
    const found = await all(readMailSource(join(folder, 'box')));
    expect(found.map((each) => [each.mailbox, textOf(each), each.flags])).toEqual([
      ['INBOX', 'Subject: 1', ['flagged', 'answered', 'seen']],
      ['INBOX', 'Subject: 2', []],
      ['Clients/Entwürfe', 'Subject: 5', ['draft', 'deleted']],
      ['Sent', 'Subject: 4', ['seen']],
      ['other', 'no', []],
    ]);
    expect(found.find(({ mailbox }) => mailbox === 'INBOX')!.receivedAt).toBe('2023-11-14T22:13:20.000Z');
    expect(found.every(({ receivedAt }) => /^\d{4}-/.test(receivedAt!))).toBe(true);
  });

  test('a folder of .eml files is read with its sub-folders', async () => {
    put('eml/b.eml', 'Subject: b');
    put('eml/a.EML', 'Subject: a');
    put('eml/Sent/2026/c.eml', 'Subject: c');
    put('eml/notes.txt', 'no');
    const found = await all(readMailSource(join(folder, 'eml')));
    expect(found.map((each) => [each.mailbox, textOf(each)])).toEqual([
      ['Sent/2026', 'Subject: c'],
      [undefined, 'Subject: a'],
      [undefined, 'Subject: b'],
    ]);
  });

  test('a tree of Maildir++ folders without own messages is read', async () => {
    put('tree/.Archive.2025/cur/1700000000.a:2,T', 'Subject: 1');
    put('tree/.Sent/new/x', 'no');
    put('tree/.Sent/cur/y', 'Subject: 2');
    const found = await all(readMailSource(join(folder, 'tree')));
    expect(found.map((each) => [each.mailbox, each.flags])).toEqual([
      ['Archive/2025', ['deleted']],
      ['Sent', []],
      ['Sent', []],
    ]);
    expect(found[0]!.origin).toContain('1700000000.a:2,T');
  });

  test('a Thunderbird profile is read: folders without an extension, and sub-folders in .sbd', async () => {
    const message = (subject: string, status = '0001'): string =>
      `From \r\nX-Mozilla-Status: ${status}\r\nSubject: ${subject}\r\n\r\nx\r\n\r\n`;
    put('profile/prefs.js', 'user_pref()');
    put('profile/Mail/pop.example.com/Inbox', message('a') + message('b', '0009'));
    put('profile/Mail/pop.example.com/Inbox.msf', 'From mork');
    put('profile/Mail/pop.example.com/Inbox.sbd/Clients', message('c'));
    put('profile/Mail/pop.example.com/Inbox.sbd/Clients.sbd/Ada', message('d'));
    put('profile/ImapMail/imap.example.com/Sent', message('e', '0000'));
    const found = await all(readMailSource(join(folder, 'profile')));
    expect(found.map(({ mailbox, flags, expunged }) => [mailbox, flags, expunged])).toEqual([
      ['Sent', [], undefined],
      ['Inbox', ['seen'], undefined],
      ['Inbox', ['seen'], true],
      ['Inbox/Clients', ['seen'], undefined],
      ['Inbox/Clients/Ada', ['seen'], undefined],
    ]);
    expect(found[2]!.origin).toMatch(/Inbox, message 2$/);
  });

  test('mailboxes of Apple Mail are read: .emlx files with flags, and an mbox in a folder', async () => {
    const emlx = (raw: string, flags: number): string =>
      `${String(raw.length).padEnd(10)}\n${raw}<?xml version="1.0"?><plist><dict><key>date-received</key>\n<integer>1700000000</integer><key>flags</key><integer>${flags}</integer></dict></plist>`;
    put(
      'apple/INBOX.mbox/0A1B2C3D-1111-2222-3333-444455556666/Data/1/Messages/1.emlx',
      emlx('Subject: 1\n\nx\n', 8590195713),
    );
    put('apple/INBOX.mbox/0A1B2C3D-1111-2222-3333-444455556666/Data/Attachments/1/a.eml', 'no');
    put('apple/Old.mbox/Messages/2.emlx', emlx('Subject: 2\n', 22));
    put('apple/Old.mbox/Messages/3.emlx', 'Subject: no length\n');
    put('apple/Exported.mbox/mbox', 'From a Thu Aug 22 12:36:23 2002\nSubject: 4\n');
    put('apple/Exported.mbox/table_of_contents', 'x');
    const found = await all(readMailSource(join(folder, 'apple')));
    expect(found.map((each) => [each.mailbox, textOf(each), each.flags])).toEqual([
      ['Exported', 'Subject: 4\n', undefined],
      ['INBOX', 'Subject: 1\n\nx\n', ['seen']],
      ['Old', 'Subject: 2\n', ['deleted', 'answered', 'flagged']],
      ['Old', 'Subject: no length\n', undefined],
    ]);
    expect(found[1]!.receivedAt).toBe('2023-11-14T22:13:20.000Z');
  });

  test('exact mbox files keep every byte', async () => {
    const raws = [
      'From: a\r\n\r\nFrom x\r\n>From y\r\n\r\n',
      '>From \n\n\n',
      'A: b\n\n\0\x80\r\r\n',
      'Content-Length: 1\n\nabc\n',
    ];
    const messages = raws.map((text) => ({ raw: Buffer.from(text, 'latin1') }));
    const read = await all(readMbox([...writeExactMbox(messages)], 'mboxrd'));
    expect(read.map(textOf)).toEqual(raws);
  });

  test('a single message, a single mbox file, and a message over the limit are read', async () => {
    put('one.eml', 'Subject: one');
    put('all.mbox', 'From a Thu Aug 22 12:36:23 2002\nA: b\n\nFrom a Thu Aug 22 12:36:23 2002\nA: c\n');
    put('long.eml', 'Subject: long');
    truncateSync(join(folder, 'long.eml'), 50 * 1024 * 1024 + 1);
    expect((await all(readMailSource(join(folder, 'one.eml')))).map(textOf)).toEqual(['Subject: one']);
    expect((await all(readMailSource(join(folder, 'all.mbox')))).map(textOf)).toEqual(['A: b\n', 'A: c\n']);
    const [long] = await all(readMailSource(join(folder, 'long.eml')));
    expect([long!.tooLong, long!.raw.length]).toEqual([50 * 1024 * 1024 + 1, 256 * 1024]);
    await expect(all(readMailSource(join(folder, 'none')))).rejects.toThrow('ENOENT');
  });
});
