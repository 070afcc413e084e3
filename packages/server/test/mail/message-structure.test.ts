import type { ImapFlow } from 'imapflow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseMail } from '../../src/mail/parse/parse-mail.ts';
import { listRemoteAttachments } from '../../src/mail/sync/message-structure.ts';
import { type Dovecot, hasDovecot, startDovecot } from '../support/dovecot.ts';
import { openClient } from '../support/sync-world.ts';

/** A multipart of a type, with the lines of its parts. */
function wrap(type: string, ...parts: readonly (readonly string[])[]): string[] {
  const boundary = `b-${type.replace(/\W.*/, '')}-${parts.length}-${parts.flat().length}`;
  return [
    `Content-Type: multipart/${type}; boundary="${boundary}"`,
    '',
    ...parts.flatMap((part) => [`--${boundary}`, ...part]),
    `--${boundary}--`,
  ];
}

const plain = ['Content-Type: text/plain', '', 'Text'];
const html = ['Content-Type: text/html', '', '<p>Text</p>'];
const image = (...more: readonly string[]): string[] => [
  'Content-Type: image/png; name=logo.png',
  'Content-Transfer-Encoding: base64',
  ...more,
  '',
  Buffer.from('An image of some bytes').toString('base64'),
];
const inner = ['From: cora@example.net', 'Subject: inner', ''];

const messages: Readonly<Record<string, readonly string[]>> = {
  'a text': plain,
  'a text with a name': ['Content-Type: text/plain; name=body.txt', '', 'Text'],
  'a file alone': image('Content-Disposition: attachment'),
  'a mixed message': wrap('mixed', plain, image('Content-Disposition: attachment; filename="my logo.png"')),
  'a named text that is shown': wrap('mixed', plain, ['Content-Type: text/plain; name=notes.txt', '', 'Notes']),
  'an inline text with a name': wrap('mixed', plain, [
    'Content-Type: text/plain',
    'Content-Disposition: inline; filename=notes.txt',
    '',
    'Notes',
  ]),
  'an attached text': wrap('mixed', plain, ['Content-Type: text/html', 'Content-Disposition: attachment', '', '<p>']),
  alternatives: wrap('alternative', plain, html),
  'an alternative with a name': wrap('alternative', plain, ['Content-Type: text/html; name=a.html', '', '<p>Text</p>']),
  'a related image': wrap('alternative', plain, wrap('related', html, image('Content-ID: <logo@x>'))),
  'an inline image': wrap('mixed', plain, image('Content-Disposition: inline', 'Content-ID: <logo@y>')),
  'an attached message': wrap('mixed', plain, ['Content-Type: message/rfc822', '', ...inner, 'Inner text']),
  'a shown message with a file': wrap('mixed', plain, [
    'Content-Type: message/rfc822',
    'Content-Disposition: inline',
    '',
    ...inner.slice(0, 2),
    ...wrap('mixed', plain, image('Content-Disposition: attachment; filename=deep.png')),
  ]),
  'a digest': wrap('digest', ['', ...inner, 'One'], ['', ...inner, 'Two']),
  'a generic type': wrap('mixed', plain, [
    'Content-Type: application/octet-stream; name=plan.pdf',
    'Content-Disposition: attachment; filename=plan.pdf',
    '',
    'bytes',
  ]),
  'an encoded name': wrap('mixed', plain, [
    'Content-Type: application/pdf',
    "Content-Disposition: attachment; filename*=UTF-8''%C3%9Cbersicht.pdf",
    '',
    'bytes',
  ]),
  'a name in encoded words': wrap('mixed', plain, [
    'Content-Type: application/pdf; name="=?utf-8?Q?=C3=9Cbersicht.pdf?="',
    'Content-Disposition: attachment',
    '',
    'bytes',
  ]),
};

describe.skipIf(!hasDovecot())('the files that BODYSTRUCTURE names are those of the complete message', () => {
  let dovecot: Dovecot;
  let client: ImapFlow;
  beforeAll(async () => {
    dovecot = await startDovecot();
    client = await openClient(dovecot);
  });
  afterAll(async () => {
    client?.close();
    await dovecot?.stop();
  });

  test.each(Object.keys(messages))('%s', async (name) => {
    const raw = ['From: ann@example.net', `Subject: ${name}`, 'MIME-Version: 1.0', ...messages[name]!, ''].join('\r\n');
    await client.append('INBOX', raw);
    await client.mailboxOpen('INBOX');
    const message = await client.fetchOne('*', { bodyStructure: true, source: true });
    if (message === false || message.bodyStructure === undefined) throw new Error('no structure');
    const listed = listRemoteAttachments(message.bodyStructure)!;
    const { attachments } = await parseMail(message.source!);
    const show = (list: readonly object[]) =>
      list.map((each) => {
        const { filename, contentType, disposition, contentId } = each as (typeof listed)[number];
        return { filename, contentType, disposition, contentId };
      });
    expect(show(listed)).toEqual(show(attachments));
    for (const [index, { size }] of listed.entries())
      expect(Math.abs(size - attachments[index]!.size), 'the size').toBeLessThanOrEqual(3);
    for (const { partId } of listed) expect(partId).toMatch(/^\d+(\.\d+)*$/);
  });

  test('a message with more parts than the parser reads has no list of files', () => {
    const part = { type: 'text/plain', part: '1' };
    const childNodes = Array.from({ length: 1000 }, () => part);
    expect(listRemoteAttachments({ type: 'multipart/mixed', childNodes })).toBeNull();
    expect(listRemoteAttachments({ type: 'multipart/mixed', childNodes: childNodes.slice(1) })).toEqual([]);
  });
});
