import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import { generateDemoMail } from '../../src/mail/demo/demo-mail.ts';
import { parseMail } from '../../src/mail/parse/parse-mail.ts';
import { partitionIntoThreads } from '../../src/mail/threads/partition.ts';

const until = new Date('2026-03-01T10:00:00Z');
const made = generateDemoMail({ seed: 7, count: 300, until });

test('the same seed gives the same bytes, and another seed gives others', () => {
  const bytes = (seed: number): string =>
    Buffer.concat(generateDemoMail({ seed, count: 50, until }).map(({ raw }) => raw)).toString('base64');
  expect(bytes(1)).toBe(bytes(1));
  expect(bytes(1)).not.toBe(bytes(2));
});

test.each([0, 1, 2, 37])('%i messages are generated, the last one at the given time', (count) => {
  const mails = generateDemoMail({ seed: 3, count, until });
  expect(mails.length).toBe(count);
  if (count > 0) expect(mails.at(-1)!.receivedAt).toBe(until.toISOString());
  expect(mails.map(({ receivedAt }) => receivedAt)).toEqual(mails.map(({ receivedAt }) => receivedAt).sort());
});

test('generated messages are ASCII with CRLF and short lines', () => {
  for (const { raw } of made) {
    const text = Buffer.from(raw).toString('latin1');
    expect(text).toMatch(/^[\x20-\x7e\r\n\t]*$/);
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
  }
});

test('generated messages are parsed completely and equally by both parsers, without warnings, and have the features of an inbox', async () => {
  const mails = await Promise.all(made.map(({ raw }) => parseMail(raw)));
  const others = await Promise.all(made.map(({ raw }) => PostalMime.parse(raw)));
  expect(mails.filter((mail) => mail.bodyState !== 'complete' || mail.warnings.length > 0)).toEqual([]);
  expect(mails.map(({ subject }) => subject)).toEqual(others.map(({ subject }) => subject));
  expect(mails.map(({ attachments }) => attachments.map(({ size }) => size))).toEqual(
    others.map(({ attachments }) => attachments.map(({ content }) => (content as ArrayBuffer).byteLength)),
  );
  const kinds = new Set(mails.flatMap(({ attachments }) => attachments.map(({ sniffedType }) => sniffedType)));
  expect(kinds).toEqual(new Set(['image/png', 'application/pdf', 'text/plain']));
  expect(mails.some(({ bulk }) => bulk) && mails.some(({ subject }) => /[\u3040-\u30ff]/.test(subject))).toBe(true);
  expect(
    mails.some(({ html }) => html?.includes('<style>')) && mails.some(({ html }) => html?.includes('data-cid')),
  ).toBe(true);
  const flags = made.map((each) => each.flags!.join());
  expect(new Set(flags).size).toBeGreaterThanOrEqual(3);

  const threaded = mails.map((mail, at) => ({ ...mail, at: Date.parse(made[at]!.receivedAt!), ownAddresses: [] }));
  const sizes = partitionIntoThreads(threaded).map((group) => group.length);
  expect([Math.min(...sizes), Math.max(...sizes)]).toEqual([1, 8]);
});

test('a reply quotes the day of the original, which is not later than its own', async () => {
  const days = new Set(made.map(({ receivedAt }) => receivedAt!.slice(0, 10)));
  const quoted = await Promise.all(
    made.map(async ({ raw, receivedAt }) => {
      const day = /^.*(\d{4}-\d\d-\d\d).*\n>/m.exec((await parseMail(raw)).text ?? '')?.[1];
      return day === undefined ? [] : [{ day, own: receivedAt!.slice(0, 10) }];
    }),
  );
  expect(quoted.flat().length).toBeGreaterThan(50);
  expect(quoted.flat().filter(({ day, own }) => day > own || !days.has(day))).toEqual([]);
});
