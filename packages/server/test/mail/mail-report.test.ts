import { expect, test } from 'vitest';
import { readHeaders } from '../../src/mail/parse/header-block.ts';
import { readMailReport } from '../../src/mail/parse/mail-report.ts';

function report(type: string, parts: readonly (readonly [string, string])[]) {
  const body = parts.map(([each, text]) => `--b\r\nContent-Type: ${each}\r\n\r\n${text}\r\n`).join('');
  const raw = Buffer.from(`Content-Type: ${type}; boundary=b\r\n\r\n${body}--b--\r\n`);
  return readMailReport(raw, readHeaders(raw).headers);
}

test('a delivery report names its message, and the outcome for each recipient', () => {
  const status = [
    'Original-Envelope-Id: 7.0123456789abcdef',
    'Reporting-MTA: dns; mx.example',
    '',
    'Original-Recipient: rfc822;Ann@x.example',
    'Final-Recipient: rfc822;<ann2@y.example>',
    'Action: FAILED',
    'Status: 5.1.1 (unknown)',
    'Diagnostic-Code: smtp; 550 5.1.1',
    '   No such user',
    '',
    'Final-Recipient: rfc822; bob@x.example',
    'Action: relayed',
    '',
    'Final-Recipient: rfc822; eve@x.example',
    'Action: exploded',
  ].join('\r\n');
  const original = 'Subject: x\r\nMessage-ID: <m@x.example>\r\n\r\nText';
  expect(
    report('multipart/report', [
      ['text/plain', 'Sorry'],
      ['message/delivery-status', status],
      ['message/rfc822', original],
    ]),
  ).toEqual({
    envelopeId: '7.0123456789abcdef',
    messageIds: ['m@x.example'],
    recipients: [
      {
        original: 'ann@x.example',
        final: 'ann2@y.example',
        action: 'failed',
        status: '5.1.1',
        diagnostic: '550 5.1.1 No such user',
      },
      { original: null, final: 'bob@x.example', action: 'relayed', status: null, diagnostic: null },
    ],
  });
});

test('a read receipt counts if it says that the message was displayed', () => {
  const receipt = (disposition: string) =>
    report('multipart/report', [
      ['text/plain', 'Read'],
      [
        'message/disposition-notification',
        `Final-Recipient: rfc822; ann@x.example\r\nOriginal-Message-ID: <m@x.example>\r\nDisposition: ${disposition}\r\n`,
      ],
    ]);
  expect(receipt('manual-action/MDN-sent-manually; displayed')).toMatchObject({
    messageIds: ['m@x.example'],
    recipients: [{ final: 'ann@x.example', action: 'displayed' }],
  });
  expect(receipt('automatic-action/MDN-sent-automatically; deleted')!.recipients).toEqual([]);
});

test('other messages are not reports, and a malformed report is ignored', () => {
  expect(report('multipart/mixed', [['message/delivery-status', 'Action: failed']])).toBe(null);
  expect(report('multipart/report', [['text/plain', 'Sorry']])).toBe(null);
  const many = `Reporting-MTA: dns; x\r\n\r\n${'Final-Recipient: rfc822; a@x.example\r\nAction: failed\r\n\r\n'.repeat(3000)}`;
  expect(report('multipart/report', [['message/delivery-status', many]])!.recipients).toHaveLength(1000);
});
