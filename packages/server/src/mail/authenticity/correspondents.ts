/** Whom an account writes with, as far as messages say. */
import { pairUp } from '../../base/aligned-lists.ts';
import type { Clock } from '../../base/clock.ts';
import { isoTime } from '../../base/clock.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { addChecks } from '../../database/mail/check-rows.ts';
import type { SentMessage } from '../../database/mail/contact-rows.ts';
import {
  type CorrespondenceEmail,
  CorrespondentRows,
  type MetCorrespondent,
} from '../../database/mail/correspondent-rows.ts';
import type { NewEmail } from '../../database/mail/mail-writer.ts';
import { isAutomaticMail } from '../automation/automatic-mail.ts';
import { baseDomain } from '../html/link-url.ts';
import type { MailEventSource } from '../store/mail-events.ts';

/** Recipients of one message that are noted; messages with more are announcements. */
const maxRecipients = 50;
const maxAddressLength = 320;
/** Keys of signatures are replaced after some time, so signatures of older messages cannot be checked any more. */
const checkedMilliseconds = 30 * 86_400_000;

/**
 * Folders of messages that the account wrote. In other folders the sender proves nothing: a forged message can name the
 * account as its sender, and its recipients must not become correspondents.
 */
export const sentFolders: ReadonlySet<string> = new Set(['sent', 'outbox']);
/** Folders in which a message from the account's own address arrived like any other. */
const arrivalFolders: ReadonlySet<string> = new Set(['inbox', 'junk']);

/** The correspondents of messages, each address once: senders of received messages, recipients of those that the account wrote. */
export function collectCorrespondents(emails: readonly CorrespondenceEmail[]): MetCorrespondent[] {
  const met = new Map<string, MetCorrespondent>();
  for (const { id, folder, from, to, cc } of emails) {
    if (folder === 'drafts') continue;
    const isSent = sentFolders.has(folder ?? '');
    for (const { address: written } of isSent ? [...to, ...cc].slice(0, maxRecipients) : from.slice(0, 1)) {
      const address = written.toLowerCase();
      const domain = baseDomain(address.slice(address.lastIndexOf('@') + 1));
      if (address === '' || address.length > maxAddressLength || domain.length > 255) continue;
      const before = met.get(address);
      const emailId = isSent ? null : id;
      met.set(address, {
        address,
        domain,
        emailId: Math.min(emailId ?? Number.POSITIVE_INFINITY, before?.emailId ?? Number.POSITIVE_INFINITY),
        written: isSent || before?.written === true,
      });
    }
  }
  return [...met.values()].map((each) => ({ ...each, emailId: Number.isFinite(each.emailId) ? each.emailId : null }));
}

/** No person has written an automatic reply, so its recipient does not become a correspondent. */
function isAutomaticReply({ outgoing, content }: NewEmail): boolean {
  return outgoing && isAutomaticMail(content.headers as Parameters<typeof isAutomaticMail>[0]);
}

/** What arrivals are noted with. */
export interface ArrivalParts extends MailEventSource {
  readonly database: Database;
  readonly clock: Clock;
  /** Whether no events are appended. */
  readonly isQuiet: boolean;
  /** Called after the commit that adds messages to be checked. */
  readonly wakeChecks: () => void;
}

/**
 * Notes the correspondents of new e-mails, makes contacts of those to whom the account writes, and notes that recent e-mails from others
 * are to be checked, in the transaction that stores them.
 *
 * @param ids the keys of the e-mails.
 */
export async function noteArrivals(
  parts: ArrivalParts,
  transaction: Transaction,
  account: number,
  { emails, ids }: { readonly emails: readonly NewEmail[]; readonly ids: readonly number[] },
): Promise<void> {
  const { database, clock, wakeChecks, isQuiet } = parts;
  const stored = pairUp(emails, ids).filter(([email]) => !email.draft && !isAutomaticReply(email));
  const met = collectCorrespondents(stored.map(([email, id]) => ({ ...email, id })));
  await new CorrespondentRows(database, transaction, account).add(met);
  const now = clock.now();
  const sent = stored.filter(([{ folder }]) => sentFolders.has(folder)).map(([email]) => toSentMessage(email));
  if (sent.length > 0) {
    const { fillContacts } = await import('../contacts/fill-contacts.ts');
    await fillContacts({ database, events: isQuiet ? null : parts, now: isoTime(now) }, transaction, account, sent);
  }
  const checked = stored
    // A signature can only be verified over the whole message.
    .filter(([email]) => email.bodyState !== 'partial')
    .filter(([email]) => !email.outgoing || arrivalFolders.has(email.folder))
    .filter(([email]) => !sentFolders.has(email.folder) && Date.parse(email.receivedAt) > now - checkedMilliseconds)
    .map(([, id]) => id);
  if (checked.length === 0) return;
  await addChecks(database, transaction, account, { emails: checked, now: isoTime(now) });
  transaction.afterDurable(wakeChecks);
}

function toSentMessage({ to, cc, content, receivedAt }: NewEmail): SentMessage {
  const { bcc, headers, inReplyTo } = content;
  return { to, cc, bcc, headers: headers as SentMessage['headers'], inReplyTo, receivedAt };
}
