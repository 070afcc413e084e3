import { mailLimits } from '../../protocol/mail-limits.ts';
import type { ParsedMail } from '../parse/parsed-mail.ts';

/** Roles of the mailboxes in which the account's own messages arrive. */
const ownFolders: ReadonlySet<string> = new Set(['sent', 'drafts', 'outbox']);
const recipientHeaders: ReadonlySet<string> = new Set(['delivered-to', 'x-original-to', 'envelope-to']);
const addressPattern = /^<?([^\s<>(),;]{1,64}@[^\s<>(),;@]{1,253})>?$/u;
const receivedFor = /\sfor\s+<?([^\s<>(),;]{1,64}@[^\s<>(),;@]{1,253})>?/iu;

/**
 * Addresses that a message shows to belong to the account, in lower case, at most 20: those that it was delivered to
 * according to servers (Delivered-To, X-Original-To, Envelope-To, `for <…>` in Received), and its sender if the message
 * is in sent messages, drafts or the outbox.
 *
 * @param folder the role or path of the mailbox of the message.
 */
export function readOwnAddresses({ headers, from }: Pick<ParsedMail, 'headers' | 'from'>, folder: string): string[] {
  const written = ownFolders.has(folder) ? from.map(({ address }) => address).filter((each) => each !== '') : [];
  const delivered = headers.flatMap(([name, value]) => parseDeliveredTo(name.toLowerCase(), value) ?? []);
  return [...new Set([...written, ...delivered].map((each) => each.toLowerCase()))].slice(0, mailLimits.ownAddresses);
}

function parseDeliveredTo(name: string, value: string): string | undefined {
  if (recipientHeaders.has(name)) return addressPattern.exec(value.trim())?.[1];
  return name === 'received' ? receivedFor.exec(value)?.[1] : undefined;
}
