import { readAuthentication } from './authentication.ts';
import { cleanLine } from './clean-text.ts';
import { type Header, rawValues } from './header-block.ts';
import { parseAddresses } from './mail-addresses.ts';
import { parseMailDate } from './mail-date.ts';
import { limitReferences, parseMessageIds } from './message-ids.ts';
import type { ParsedMail } from './parsed-mail.ts';

/** The parts of a message that its headers determine. */
export type Envelope = Pick<
  ParsedMail,
  | 'messageId'
  | 'inReplyTo'
  | 'references'
  | 'subject'
  | 'from'
  | 'to'
  | 'cc'
  | 'bcc'
  | 'replyTo'
  | 'sentAt'
  | 'tracedAt'
  | 'headers'
  | 'bulk'
  | 'authentication'
>;

/** The first value of a header that may occur once (RFC 5322, section 3.6). Mail programs also show the first one. */
export function readEnvelope(headers: readonly Header[]): Envelope {
  const first = (name: string): string => rawValues(headers, name)[0] ?? '';
  const addresses = (name: string) => parseAddresses(rawValues(headers, name));
  return {
    messageId:
      parseMessageIds(first('message-id'))[0] ??
      (first('message-id')
        .replace(/[<>\s]/g, '')
        .slice(0, 998) ||
        null),
    inReplyTo: limitReferences(parseMessageIds(first('in-reply-to'))),
    references: limitReferences(parseMessageIds(rawValues(headers, 'references').join(' '))),
    subject: cleanLine(headers.find((header) => header.name.toLowerCase() === 'subject')?.value ?? ''),
    from: parseAddresses([first('from')]),
    to: addresses('to'),
    cc: addresses('cc'),
    bcc: addresses('bcc'),
    replyTo: addresses('reply-to'),
    sentAt: parseMailDate(first('date')),
    tracedAt: readTracedAt(rawValues(headers, 'received')),
    headers: headers.map((header) => [header.name, header.value] as const),
    bulk: isBulkMail(headers),
    authentication: readAuthentication(rawValues(headers, 'authentication-results')),
  };
}

/** The time of the newest Received header. Servers add these headers at the top, with the time at the end. */
function readTracedAt(received: readonly string[]): string | null {
  for (const value of received.slice(0, 20)) {
    const moment = parseMailDate(value.slice(value.lastIndexOf(';') + 1));
    if (moment !== null) return moment;
  }
  return null;
}

/** Whether a message is of a mailing list, a newsletter, or an automatic reply. */
export function isBulkMail(headers: readonly Pick<Header, 'name' | 'raw'>[]): boolean {
  const has = (name: string): boolean => rawValues(headers, name).length > 0;
  const says = (name: string, pattern: RegExp): boolean =>
    rawValues(headers, name).some((value) => pattern.test(value));
  return (
    has('list-id') ||
    has('list-unsubscribe') ||
    has('list-post') ||
    says('precedence', /^\s*(bulk|list|junk)\b/i) ||
    says('auto-submitted', /^\s*auto-/i)
  );
}
