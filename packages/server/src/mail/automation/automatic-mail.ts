/** Which messages programs have sent, and to whom a program may answer (RFC 3834). */
import type { MailAddressValue } from '../../database/mail/mail-writer.ts';
import type { RuleMessage } from './rule-message.ts';

type Headers = RuleMessage['headers'];

/** The facts that decide about an automatic reply. */
export interface AnswerableMessage extends Pick<RuleMessage, 'from' | 'to' | 'cc' | 'headers'> {
  readonly outgoing: boolean;
  readonly draft: boolean;
  /** The role or path of its mailbox when it arrived. */
  readonly folder: string | null;
}

/** Whether a mailing list or a newsletter sent a message. */
export function isListMail(headers: Headers): boolean {
  return headers.some(([name, value]) => {
    const lower = name.toLowerCase();
    return lower.startsWith('list-') || (lower === 'precedence' && readKeyword(value) === 'list');
  });
}

/**
 * Whether a program sent a message, so that no program may answer it: automatic replies, mailing lists, newsletters, reports of
 * mail servers, and spam.
 */
export function isAutomaticMail(headers: Headers): boolean {
  return isListMail(headers) || headers.some(([name, value]) => isAutomaticHeader(name.toLowerCase(), value));
}

const bulkPrecedences: ReadonlySet<string> = new Set(['bulk', 'junk', 'auto_reply']);
const automaticHeaders: ReadonlySet<string> = new Set(['x-autoreply', 'x-autorespond', 'x-auto-response-suppress']);

function isAutomaticHeader(name: string, value: string): boolean {
  if (name === 'auto-submitted') return readKeyword(value) !== 'no';
  if (name === 'precedence') return bulkPrecedences.has(readKeyword(value));
  if (name === 'x-spam-flag') return readKeyword(value) === 'yes';
  if (name === 'content-type') return readKeyword(value) === 'multipart/report';
  return automaticHeaders.has(name) && readKeyword(value) !== 'none';
}

/** The first word of a header's value, in lower case. */
function readKeyword(value: string): string {
  const text = value.trim().toLowerCase();
  const end = [...text].findIndex((character) => ' \t;,('.includes(character));
  return end === -1 ? text : text.slice(0, end);
}

/** Why a message gets no automatic reply, or the address that gets it. */
export type ReplyDecision = { readonly address: string } | { readonly refusal: string };

/**
 * To whom an automatic reply to a message goes: to its envelope sender (Return-Path), or to its sender where the message does not
 * say that.
 *
 * @param ownAddresses of the account, in lower case.
 */
export function decideReply(message: AnswerableMessage, ownAddresses: ReadonlySet<string>): ReplyDecision {
  const { headers, from, to, cc } = message;
  if (message.outgoing || message.draft) return { refusal: 'The message was written here.' };
  if (message.folder === 'junk' || message.folder === 'trash')
    return { refusal: 'The message is in junk or in the trash.' };
  if (isAutomaticMail(headers)) return { refusal: 'A program or a mailing list sent the message.' };
  if (![...to, ...cc].some(({ address }) => ownAddresses.has(address.toLowerCase())))
    return { refusal: 'Neither To nor Cc names the account.' };
  const returnPath = headers.find(([name]) => name.toLowerCase() === 'return-path');
  if (returnPath && readPath(returnPath[1]) === '')
    return { refusal: 'The envelope sender of the message is empty, so a mail server sent it.' };
  const senders = [...(returnPath ? [readPath(returnPath[1])] : []), ...from.map((each) => each.address)];
  const programAddress = senders.find(isProgramAddress);
  if (programAddress !== undefined) return { refusal: 'The sender is the address of a program.' };
  const [address = ''] = senders;
  if (!isAnswerable(address) || ownAddresses.has(address.toLowerCase()))
    return { refusal: 'The message has no sender who can be answered.' };
  return { address };
}

/** The address in a Return-Path header. */
function readPath(value: string): string {
  const text = value.trim();
  const [from, to] = [text.indexOf('<'), text.lastIndexOf('>')];
  return (from === -1 || to < from ? text : text.slice(from + 1, to)).trim();
}

const programNames: ReadonlySet<string> = new Set([
  'mailer-daemon',
  'mailerdaemon',
  'postmaster',
  'listserv',
  'majordomo',
  'bounce',
  'bounces',
  'daemon',
  'root',
]);
const programPrefixes = ['noreply', 'donotreply', 'owner-', 'bounce-', 'bounces-', 'bounce+', 'bounces+', 'prvs='];
const programSuffixes = ['-request', '-owner', '-relay', '-bounce', '-bounces', '-noreply', '-no-reply'];

/** Whether the part of an address before the @ is one that programs use. */
export function isProgramAddress(address: string): boolean {
  const local = address.slice(0, Math.max(address.lastIndexOf('@'), 0)).toLowerCase();
  const plain = local.replaceAll('-', '').replaceAll('_', '').replaceAll('.', '');
  return (
    programNames.has(local) ||
    programPrefixes.some((prefix) => local.startsWith(prefix) || plain.startsWith(prefix)) ||
    programSuffixes.some((suffix) => local.endsWith(suffix))
  );
}

/** Whether a message can be sent to an address: one plain address, as in the messages that users write. */
function isAnswerable(address: string): boolean {
  const index = address.lastIndexOf('@');
  return (
    index > 0 &&
    index <= 64 &&
    index < address.length - 1 &&
    address.length <= 254 &&
    address.isWellFormed() &&
    !/[\s\p{C},;:<>()[\]\\"]/u.test(address) &&
    address.indexOf('@') === index
  );
}

/** The name of the sender with an address, for a greeting; empty where the message gives none. */
export function findSenderName(from: readonly MailAddressValue[], address: string): string {
  const sender = from.find((each) => each.address.toLowerCase() === address.toLowerCase()) ?? from[0];
  return sender?.name ?? '';
}
