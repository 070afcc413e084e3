import { afterEach, expect, test } from 'vitest';
import { computeMailIdentity } from '../../src/mail/parse/mail-identity.ts';
import { MailTooLarge, ParsePool, ParsePoolClosed, type ParsePoolOptions } from '../../src/mail/parse/parse-pool.ts';
import { toSharedBytes } from '../../src/mail/parse/shared-bytes.ts';
import { makeRawMessage } from './corpus.ts';

let pool: ParsePool;
const start = (options: ParsePoolOptions = {}): ParsePool => {
  pool = new ParsePool(options);
  return pool;
};
afterEach(() => pool.close());

const good = (subject: string): Uint8Array => makeRawMessage({ Subject: subject, From: 'a@b.example' }, 'Hello');
/** Lines that resemble boundaries and are compared once for each of 60 multiparts: this takes some seconds. */
const heavy = (): Uint8Array =>
  makeRawMessage(
    'Subject: heavy\nFrom: a@b.example\n' +
      Array.from({ length: 60 }, (_, at) => `Content-Type: multipart/mixed; boundary="b${at}"\n\n--b${at}\n`).join('') +
      '\n--b\n'.repeat(1_000_000),
  );

test('messages are parsed in parallel, and each result has its own files', async () => {
  const { parse } = bound(start({ threads: 2 }));
  const mails = await Promise.all(Array.from({ length: 20 }, (_, at) => parse(good(`number ${at}`))));
  expect(mails.map(({ subject }) => subject)).toEqual(mails.map((_, at) => `number ${at}`));
  const withFile = await parse(makeRawMessage({ 'Content-Type': 'application/pdf' }, '%PDF-1.4'));
  expect(Buffer.from(withFile.attachments[0]!.bytes).toString()).toBe('%PDF-1.4');
});

test('a single message waits for at most one message of a large import', async () => {
  const made = start();
  const ended: string[] = [];
  const many = {};
  const parse = async (subject: string, of?: unknown): Promise<void> => {
    ended.push((await made.parse(good(subject), of)).subject);
  };
  await Promise.all([...['a1', 'a2', 'a3', 'a4'].map((name) => parse(name, many)), parse('b'), parse('c')]);
  expect(ended).toEqual(['a1', 'a2', 'b', 'c', 'a3', 'a4']);
});

test('the raw message stays usable by the caller', async () => {
  const message = good('mine');
  await start().parse(message);
  expect(message.length).toBeGreaterThan(0);
});

test('a message that takes too long is returned with its envelope, and the next ones continue', async () => {
  const { parse } = bound(start({ milliseconds: 250 }));
  const [slow, ...rest] = await Promise.all([parse(heavy()), parse(good('a')), parse(good('b'))]);
  expect([slow!.bodyState, slow!.subject, slow!.from[0]!.address]).toEqual(['unparsable', 'heavy', 'a@b.example']);
  expect(slow!.text).toContain('longer than');
  expect(rest.map(({ subject }) => subject)).toEqual(['a', 'b']);
});

test('a message that takes too much memory ends its thread, not the server, and the next ones continue', async () => {
  const { parse } = bound(start({ memoryMegabytes: 24, milliseconds: 30_000 }));
  const html = makeRawMessage(
    { Subject: 'big', 'Content-Type': 'text/html' },
    '<p title="abcdefgh">x</p>'.repeat(80_000),
  );
  const [big, next] = await Promise.all([parse(html), parse(good('next'))]);
  expect([big!.bodyState, big!.subject]).toEqual(['unparsable', 'big']);
  expect([next!.bodyState, next!.subject]).toEqual(['complete', 'next']);
});

test('identities depend on the bytes, and parsing 49 MB of quoted-printable lines takes bounded time', async () => {
  const made = start();
  const raws = [good('one'), good('two')];
  expect(await made.identify(raws)).toEqual(raws.map(computeMailIdentity));
  const head = Buffer.from(
    'Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n',
  );
  const long = await toSharedBytes([
    head,
    Buffer.alloc(49 * 1024 * 1024, 'Caf=C3=A9 au lait, s=27il vous pla=C3=AEt =\r\n'),
  ]);
  expect(long.buffer).toBeInstanceOf(SharedArrayBuffer);
  expect(await made.identify([long])).toEqual([computeMailIdentity(long)]);
  const { bodyState, text, bodyWords } = await made.parse(long);
  // 10,000 words, and the stems of the five different ones.
  expect([bodyState, text.slice(0, 12), bodyWords.length]).toEqual(['truncated', 'Café au lait', 10_003]);
});

test('a message over 50 MB is refused before it is read', async () => {
  const tooLarge = new Uint8Array(50 * 1024 * 1024 + 1);
  await expect(start().parse(tooLarge)).rejects.toThrow(MailTooLarge);
  await expect(pool.parse(tooLarge)).rejects.toThrow('The message has 52428801 bytes; at most 52428800 are taken.');
});

test('idle threads are ended and started again', async () => {
  const { parse } = bound(start({ idleMilliseconds: 20 }));
  await parse(good('a'));
  await expect.poll(() => pool.size).toBe(0);
  expect((await parse(good('b'))).subject).toBe('b');
});

test('messages that are not parsed when the pool closes are not stored as unparsable, and no more are accepted', async () => {
  const { parse } = bound(start({ threads: 1 }));
  const waiting = Promise.allSettled([parse(heavy()), parse(good('a')), parse(good('b'))]);
  await pool.close();
  const reasons = (await waiting).map((each) => (each.status === 'rejected' ? each.reason : each.value));
  expect(reasons.map((reason) => reason instanceof ParsePoolClosed)).toEqual([true, true, true]);
  await expect(parse(good('c'))).rejects.toThrow(ParsePoolClosed);
});

const bound = (made: ParsePool): { parse: ParsePool['parse'] } => ({ parse: (message) => made.parse(message) });
