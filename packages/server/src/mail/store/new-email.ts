import { isoTime } from '../../base/clock.ts';
import type { FullTextEntry } from '../../database/full-text-index.ts';
import type { NewEmail } from '../../database/mail/mail-writer.ts';
import type { MailAddress, ParsedAttachment, ParsedMail } from '../parse/parsed-mail.ts';
import { tokenizeName, tokenizeTitle } from '../search/indexed-text.ts';
import type { ThreadIndexKeys } from '../threads/thread-index-keys.ts';
import type { IncomingMail } from './incoming-mail.ts';

const dayMilliseconds = 86_400_000;
/** No message is older: an earlier Date is a clock that was never set. */
const earliestDate = Date.UTC(1980, 0, 1);

/** A message that is parsed, and what is known of it besides. */
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
    hasAttachments: mail.attachments.some(isListedAttachment),
    labels: incoming.labels ?? [],
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
      authentication: mail.authentication,
      rawSha256: mail.sha256,
    },
    attachments: mail.attachments.map(({ bytes: _, ...each }) => each),
  };
}

/** Whether the account wrote a message, under whatever address. */
function isOutgoing(
  { from, ownAddresses }: ThreadIndexKeys['threaded'],
  accountAddresses: ReadonlySet<string>,
): boolean {
  return from
    .map(({ address }) => address.toLowerCase())
    .some((each) => accountAddresses.has(each) || ownAddresses.includes(each));
}

/** Everything but what is shown inside the message: its pictures, and messages in it. */
function isListedAttachment({ disposition, filename, contentId, contentType }: ParsedAttachment): boolean {
  if (disposition === 'attachment') return true;
  return filename !== null && (contentId === null || !contentType.startsWith('image/'));
}

/**
 * When a message was received, in milliseconds since the epoch. Senders forge dates, and files are copied: a moment that cannot be is
 * not believed.
 *
 * @param given by the account's server, or by the file that a message lay in; then the message's Date counts, then its newest Received header.
 */
export function resolveReceivedAt(
  given: string | null,
  { sentAt, tracedAt }: Pick<ParsedMail, 'sentAt' | 'tracedAt'>,
  now: number,
): number {
  const moments = [given, sentAt, tracedAt].map((each) => Date.parse(each ?? ''));
  return moments.find((each) => each >= earliestDate && each <= now + dayMilliseconds) ?? now;
}

/** What of a message is indexed. */
export interface SearchableMail extends Pick<ParsedMail, 'subject' | 'from' | 'to' | 'cc' | 'bcc' | 'bodyWords'> {
  readonly attachments: readonly Pick<ParsedAttachment, 'filename'>[];
}

/** What a search finds an e-mail by. */
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
