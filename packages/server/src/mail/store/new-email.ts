import { isoTime } from '../../base/clock.ts';
import type { IndexedWords } from '../../database/dialect.ts';
import type { NewEmail } from '../../database/mail/mail-writer.ts';
import type { MailAddress, ParsedAttachment, ParsedMail } from '../parse/parsed-mail.ts';
import { textWords } from '../search/text-words.ts';
import type { ThreadSigns } from '../threads/thread-signs.ts';
import type { IncomingMail, MailAccount } from './incoming-mail.ts';

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

/** A parsed message as it is stored. */
export function newEmail(
  { mail, incoming, identity, signs, receivedAt: moment }: ReadMail,
  conversationId: number,
  account: MailAccount,
): NewEmail {
  return {
    conversationId,
    mailboxId: incoming.mailbox.id,
    folder: incoming.mailbox.folder,
    identity,
    subjectKey: signs.subjectKey,
    orphan: signs.orphan,
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
    outgoing: mail.from.some((each) => each.address.toLowerCase() === account.address.toLowerCase()),
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

/** What a search finds an e-mail by. */
export function indexedWords(id: number, account: number, mail: ParsedMail): IndexedWords {
  return {
    id,
    account,
    subject: textWords(mail.subject),
    sender: addressWords(mail.from),
    recipients: addressWords([...mail.to, ...mail.cc, ...mail.bcc]),
    body: mail.bodyWords,
    files: mail.attachments.flatMap(({ filename }) => (filename === null ? [] : textWords(filename))),
  };
}

function addressWords(list: readonly MailAddress[]): string[] {
  return list.flatMap(({ name, address }) => textWords(`${name} ${address}`));
}
