import { dayMilliseconds, isoTime } from '../../base/clock.ts';
import type { FullTextEntry } from '../../database/full-text-index.ts';
import type { NewEmail } from '../../database/mail/mail-writer.ts';
import { parseDomain, toUncheckedAuthentication } from '../authenticity/mail-authentication.ts';
import type { MailAddress, ParsedAttachment, ParsedMail } from '../parse/parsed-mail.ts';
import { tokenizeName, tokenizeTitle } from '../search/indexed-text.ts';
import type { ThreadIndexKeys } from '../threads/thread-index-keys.ts';
import type { IncomingMail } from './incoming-mail.ts';
import { toNewAttachment } from './partial-mail.ts';

/** No message is older. An earlier Date header comes from a clock that was never set. */
const earliestDate = Date.UTC(1980, 0, 1);

/** A parsed message with what is known about it. */
export interface ParsedIncomingMail {
  readonly incoming: IncomingMail;
  readonly mail: ParsedMail;
  readonly identity: string;
  readonly threadKeys: ThreadIndexKeys;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/**
 * A parsed message as it is stored.
 *
 * @param accountAddresses addresses of the account, in lower case.
 */
export function buildEmail(
  { mail, incoming, identity, threadKeys, receivedAt: moment }: ParsedIncomingMail,
  conversationId: number,
  accountAddresses: ReadonlySet<string>,
): NewEmail {
  return {
    conversationId,
    mailboxId: incoming.mailbox.id,
    folder: incoming.mailbox.folder,
    identity,
    subjectKey: threadKeys.subjectKey,
    orphan: threadKeys.orphan,
    ownAddresses: threadKeys.threaded.ownAddresses,
    messageId: mail.messageId,
    subject: mail.subject,
    from: mail.from,
    to: mail.to,
    cc: mail.cc,
    sentAt: mail.sentAt,
    receivedAt: isoTime(moment),
    snippet: mail.snippet,
    size: mail.size,
    ...incoming.flags,
    outgoing: isOutgoing(threadKeys.threaded, accountAddresses),
    hasAttachments: (incoming.partial ?? mail).attachments.some(isListedAttachment),
    forwarded: incoming.server?.forwarded ?? false,
    deleted: incoming.server?.deleted ?? false,
    labels: incoming.labels ?? [],
    keywords: incoming.server?.keywords ?? [],
    providerId: incoming.server?.providerId ?? null,
    providerThreadId: incoming.server?.providerThreadId ?? null,
    position: incoming.server?.position ?? null,
    warnings: mail.warnings,
    bodyState: mail.bodyState,
    content: {
      text: mail.text,
      html: mail.html,
      headers: mail.headers,
      inReplyTo: mail.inReplyTo,
      references: mail.references,
      bcc: mail.bcc,
      replyTo: mail.replyTo,
      authentication: toUncheckedAuthentication(mail.authentication, parseDomain(mail.from[0]?.address ?? null)),
      rawSha256: mail.sha256,
    },
    attachments: incoming.partial
      ? incoming.partial.attachments.map(toNewAttachment)
      : mail.attachments.map(({ bytes: _, ...each }) => each),
  };
}

/** Whether the account wrote a message, from any of its addresses. */
function isOutgoing(
  { from, ownAddresses }: ThreadIndexKeys['threaded'],
  accountAddresses: ReadonlySet<string>,
): boolean {
  return from
    .map(({ address }) => address.toLowerCase())
    .some((each) => accountAddresses.has(each) || ownAddresses.includes(each));
}

/** The files of a message, without what is shown inside of it: inline images and embedded messages. */
function isListedAttachment({
  disposition,
  filename,
  contentId,
  contentType,
}: Pick<ParsedAttachment, 'disposition' | 'filename' | 'contentId' | 'contentType'>): boolean {
  if (disposition === 'attachment') return true;
  return filename !== null && (contentId === null || !contentType.startsWith('image/'));
}

/**
 * When a message was received, in milliseconds since the Unix epoch. Dates can be forged or lost in copies, so impossible times
 * are ignored.
 *
 * @param given the time from the account's server or the imported file. Otherwise the Date header counts, then the newest Received header.
 */
export function resolveReceivedAt(
  given: string | null,
  { sentAt, tracedAt }: Pick<ParsedMail, 'sentAt' | 'tracedAt'>,
  now: number,
): number {
  const moments = [given, sentAt, tracedAt].map((each) => Date.parse(each ?? ''));
  return moments.find((each) => each >= earliestDate && each <= now + dayMilliseconds) ?? now;
}

/** The texts of a message that are indexed. */
export interface SearchableMail extends Pick<ParsedMail, 'subject' | 'from' | 'to' | 'cc' | 'bcc' | 'bodyWords'> {
  readonly attachments: readonly Pick<ParsedAttachment, 'filename'>[];
}

/** The full-text entry of an e-mail. */
export function buildIndexEntry(id: number, account: number, mail: SearchableMail): FullTextEntry {
  return {
    id,
    account,
    subject: tokenizeTitle(mail.subject),
    sender: tokenizeAddresses(mail.from),
    recipients: tokenizeAddresses([...mail.to, ...mail.cc, ...mail.bcc]),
    body: mail.bodyWords,
    files: tokenizeTitle(mail.attachments.map(({ filename }) => filename ?? '').join(' ')),
  };
}

function tokenizeAddresses(list: readonly MailAddress[]): string[] {
  return tokenizeName(list.map(({ name, address }) => `${name} ${address}`).join(' '));
}
