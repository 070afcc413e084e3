/** The message that says which recipients a sent message did not reach: a report in the form of RFC 3464. */
import { randomUUID } from 'node:crypto';
import MimeNode from 'nodemailer/lib/mime-node';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { RecipientState } from './delivery-state.ts';
import { toEnvelopeAddress } from './smtp-abilities.ts';

/** A message that did not reach some of its recipients. */
export interface UndeliveredMessage {
  /** The account's address, which receives the report. */
  readonly account: string;
  readonly subject: string;
  /** Without angle brackets. */
  readonly messageId: string | null;
  readonly envelopeId: string;
  readonly failed: readonly RecipientState[];
  readonly raw: Uint8Array;
}

/** The name of the sender of reports. */
export const bounceSender = 'Mail delivery';

/**
 * Writes the report. It answers the message under its subject, so it becomes part of its conversation, and it is marked as
 * automatic (RFC 3834), so nothing answers it.
 *
 * @param now milliseconds since the Unix epoch.
 */
export async function composeBounce(message: UndeliveredMessage, now: number): Promise<Buffer> {
  const domain = /@([A-Za-z0-9.-]+)$/.exec(message.account)?.[1] ?? 'mail.invalid';
  const reference = message.messageId === null ? undefined : `<${message.messageId}>`;
  const root = new MimeNode('multipart/report; report-type=delivery-status', { newline: '\r\n' });
  root.setHeader({
    from: { name: bounceSender, address: `mailer-daemon@${domain}` },
    to: { name: '', address: message.account },
    subject: buildSubject(message.subject),
    date: new Date(now).toUTCString().replace('GMT', '+0000'),
    'message-id': `<${randomUUID()}@${domain}>`,
    'auto-submitted': 'auto-replied',
    ...(reference !== undefined && { 'in-reply-to': reference, references: reference }),
  });
  root.createChild('text/plain; charset=utf-8').setContent(buildText(message));
  root.createChild('message/delivery-status').setContent(buildStatus(message, domain, now));
  root.createChild('text/rfc822-headers').setContent(readHeaderBlock(message.raw));
  return root.build();
}

function buildSubject(subject: string): string {
  const line = subject.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  return (/^re:/i.test(line) ? line : `Re: ${line}`).slice(0, mailLimits.subjectLength).toWellFormed();
}

function buildText({ failed }: UndeliveredMessage): string {
  const lines = failed.map(
    ({ address, reply }) => `${address}\n    ${reply ?? 'The server refused it without a reason.'}`,
  );
  const who = failed.length === 1 ? 'this recipient' : 'these recipients';
  return `This is a report of the mail server. The message was not delivered to ${who}:\n\n${lines.join('\n\n')}\n\nIt can be sent again with "retry", or changed as a draft.\n`;
}

/** The machine-readable part (RFC 3464, section 2). */
function buildStatus({ envelopeId, failed }: UndeliveredMessage, domain: string, now: number): string {
  const arrival = new Date(now).toUTCString().replace('GMT', '+0000');
  const head = [`Original-Envelope-Id: ${envelopeId}`, `Reporting-MTA: dns; ${domain}`, `Arrival-Date: ${arrival}`];
  const groups = failed.map(({ address, code, reply }) => [
    `Final-Recipient: rfc822; ${toEnvelopeAddress(address)}`,
    'Action: failed',
    `Status: ${/\b(5\.\d{1,3}\.\d{1,3})\b/.exec(reply ?? '')?.[1] ?? '5.0.0'}`,
    `Diagnostic-Code: smtp; ${toAscii(`${reply?.startsWith(String(code)) ? '' : `${code ?? ''} `}${reply ?? ''}`.trim())}`,
  ]);
  return [head, ...groups].map((lines) => `${lines.join('\r\n')}\r\n`).join('\r\n');
}

const toAscii = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?');

/** The headers of the message, as far as they fit into a report. */
function readHeaderBlock(raw: Uint8Array): string {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length);
  const end = bytes.indexOf('\r\n\r\n');
  return bytes.toString('latin1', 0, Math.min(end === -1 ? bytes.length : end + 2, mailLimits.headerBytes));
}
