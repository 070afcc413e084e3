/** Reads reports about sent messages: delivery reports (RFC 3464, RFC 6533) and read receipts (RFC 8098). */
import { cleanLine, truncateText } from './clean-text.ts';
import { type Header, rawValues, readHeaders } from './header-block.ts';
import { parseParameters } from './header-parameters.ts';
import { parseMessageIds } from './message-ids.ts';
import { type MimePart, parseMime } from './mime-parts.ts';
import { decodeTransfer } from './transfer-encoding.ts';

/** What a delivery report says about one recipient. */
export type ReportedAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded';

/** One recipient in a report. */
export interface ReportedRecipient {
  /** The address to which the message was sent, and the one at which it ended. They differ after a redirection. */
  readonly original: string | null;
  readonly final: string | null;
  /** `displayed`: a read receipt. */
  readonly action: ReportedAction | 'displayed';
  /** The enhanced status code (RFC 3463), such as 5.1.1; null without one. */
  readonly status: string | null;
  /** The server's reply, at most 500 characters; null if there was none. */
  readonly diagnostic: string | null;
}

/** A report about a sent message. */
export interface MailReport {
  /** ENVID of the message, if it is known. */
  readonly envelopeId: string | null;
  /** Message-IDs of the message that the report is about, without angle brackets. */
  readonly messageIds: readonly string[];
  readonly recipients: readonly ReportedRecipient[];
}

const maxRecipients = 1000;
const maxBytes = 512 * 1024;
const maxDiagnosticLength = 500;
const actions: ReadonlySet<string> = new Set(['failed', 'delayed', 'delivered', 'relayed', 'expanded']);

/** @returns null for a message that is no report. @throws MimeParseError */
export function readMailReport(raw: Uint8Array, headers: readonly Header[]): MailReport | null {
  const content = parseParameters(rawValues(headers, 'content-type')[0] ?? '');
  if (content.value !== 'multipart/report') return null;
  const parts = parseMime(raw).children;
  const find = (...types: string[]): MimePart | undefined => parts.find(({ type }) => types.includes(type));
  const returned = find('message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers');
  const returnedHeaders = returned ? readHeaders(readPart(returned)).headers : [];
  const messageIds = parseMessageIds(rawValues(returnedHeaders, 'message-id')[0] ?? '');
  const delivery = find('message/delivery-status', 'message/global-delivery-status');
  if (delivery) return readDeliveryReport(readGroups(delivery), messageIds);
  const receipt = find('message/disposition-notification', 'message/global-disposition-notification');
  return receipt ? readReceipt(readGroups(receipt).flat(), messageIds) : null;
}

function readPart({ body, encoding }: MimePart): Uint8Array {
  return decodeTransfer(body.subarray(0, 2 * maxBytes), encoding).subarray(0, maxBytes);
}

/** Groups of fields, which empty lines separate. */
function readGroups(part: MimePart): (readonly Header[])[] {
  const text = Buffer.from(readPart(part)).toString('utf8').replaceAll('\r\n', '\n').trim();
  return text
    .split(/\n[ \t]*\n\s*/)
    .slice(0, maxRecipients + 1)
    .map((group) => readHeaders(Buffer.from(`${group}\n\n`)).headers);
}

function readDeliveryReport(groups: readonly (readonly Header[])[], messageIds: readonly string[]): MailReport {
  const [head = [], ...recipients] = groups;
  return {
    envelopeId: readField(head, 'original-envelope-id'),
    messageIds,
    recipients: recipients.flatMap((group): ReportedRecipient[] => {
      const action = readField(group, 'action')?.toLowerCase() ?? '';
      const diagnostic = readField(group, 'diagnostic-code')?.replace(/^[\w-]{1,40}\s*;\s*/, '') ?? null;
      if (!actions.has(action)) return [];
      return [
        {
          ...readAddresses(group),
          action: action as ReportedAction,
          status: /^\d\.\d{1,3}\.\d{1,3}/.exec(readField(group, 'status') ?? '')?.[0] ?? null,
          diagnostic: diagnostic && truncateText(diagnostic, maxDiagnosticLength),
        },
      ];
    }),
  };
}

/**
 * A read receipt. It only counts if the message was displayed: programs also report that a message was deleted unread.
 */
function readReceipt(fields: readonly Header[], messageIds: readonly string[]): MailReport {
  const type = /;\s*([a-z]+)/i.exec(readField(fields, 'disposition') ?? '')?.[1]?.toLowerCase();
  const original = parseMessageIds(readField(fields, 'original-message-id') ?? '');
  const recipient = { ...readAddresses(fields), action: 'displayed' as const, status: null, diagnostic: null };
  return {
    envelopeId: null,
    messageIds: original.length > 0 ? original : messageIds,
    recipients: type === 'displayed' ? [recipient] : [],
  };
}

function readAddresses(fields: readonly Header[]): Pick<ReportedRecipient, 'original' | 'final'> {
  return { original: readAddress(fields, 'original-recipient'), final: readAddress(fields, 'final-recipient') };
}

/** The address in `rfc822; ann@example.com`, in lower case. */
function readAddress(fields: readonly Header[], name: string): string | null {
  const text = readField(fields, name)?.replace(/^[\w-]{1,40}\s*;\s*/, '') ?? '';
  const address = text.replace(/^<|>$/g, '').trim().toLowerCase();
  return address.includes('@') && address.length <= 320 ? address : null;
}

function readField(fields: readonly Header[], name: string): string | null {
  const text = cleanLine(rawValues(fields, name)[0] ?? '').trim();
  return text === '' ? null : text;
}
