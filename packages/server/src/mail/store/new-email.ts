import { isoTime } from '../../base/clock.ts';
import type { IndexedWords } from '../../database/dialect.ts';
import type { NewEmail } from '../../database/mail/mail-writer.ts';
import type { MailAddress, ParsedAttachment, ParsedMail } from '../parse/parsed-mail.ts';
import { indexedName, indexedTitle } from '../search/indexed-text.ts';
import type { ThreadSigns } from '../threads/thread-signs.ts';
import type { IncomingMail } from './incoming-mail.ts';

const day = 86_400_000;
/** No message is older: an earlier Date is a clock that was never set. */
const firstMail = Date.UTC(1980, 0, 1);

/** A message that is parsed, and what is known of it besides. */
export interface ReadMail {
  readonly incoming: IncomingMail;
  readonly mail: ParsedMail;
  readonly identity: string;
  readonly signs: ThreadSigns;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/**
 * A parsed message as it is stored.
 *
 * @param own addresses of the account, in lower case.
 */
export function newEmail(
  { mail, incoming, identity, signs, receivedAt: moment }: ReadMail,
  conversationId: number,
  own: ReadonlySet<string>,
): NewEmail {
  return {
    conversationId,
    mailboxId: incoming.mailbox.id,
    folder: incoming.mailbox.folder,
    identity,
    subjectKey: signs.subjectKey,
    orphan: signs.orphan,
    ownAddresses: signs.threaded.ownAddresses,
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
    outgoing: isOutgoing(signs.threaded, own),
    hasAttachments: mail.attachments.some(isShownAsFile),
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
function isOutgoing({ from, ownAddresses }: ThreadSigns['threaded'], own: ReadonlySet<string>): boolean {
  return from.map(({ address }) => address.toLowerCase()).some((each) => own.has(each) || ownAddresses.includes(each));
}

/** Everything but what is shown inside the message: its pictures, and messages in it. */
function isShownAsFile({ disposition, filename, contentId, contentType }: ParsedAttachment): boolean {
  if (disposition === 'attachment') return true;
  return filename !== null && (contentId === null || !contentType.startsWith('image/'));
}

/**
 * When a message was received, in milliseconds since the epoch. Senders forge dates, and files are copied: a moment that cannot be is
 * not believed.
 *
 * @param given by the account's server, or by the file that a message lay in; then the message's Date counts, then its newest Received header.
 */
export function receivedAt(
  given: string | null,
  { sentAt, tracedAt }: Pick<ParsedMail, 'sentAt' | 'tracedAt'>,
  now: number,
): number {
  const moments = [given, sentAt, tracedAt].map((each) => Date.parse(each ?? ''));
  return moments.find((each) => each >= firstMail && each <= now + day) ?? now;
}

/** What of a message is indexed. */
export interface SearchedMail extends Pick<ParsedMail, 'subject' | 'from' | 'to' | 'cc' | 'bcc' | 'bodyWords'> {
  readonly attachments: readonly Pick<ParsedAttachment, 'filename'>[];
}

/** What a search finds an e-mail by. */
export function indexedWords(id: number, account: number, mail: SearchedMail): IndexedWords {
  return {
    id,
    account,
    subject: indexedTitle(mail.subject),
    sender: indexedPeople(mail.from),
    recipients: indexedPeople([...mail.to, ...mail.cc, ...mail.bcc]),
    body: mail.bodyWords,
    files: indexedTitle(mail.attachments.map(({ filename }) => filename ?? '').join(' ')),
  };
}

function indexedPeople(list: readonly MailAddress[]): string[] {
  return indexedName(list.map(({ name, address }) => `${name} ${address}`).join(' '));
}
