/** Creates contacts for the people to whom an account writes, in the transaction that stores the message. */
import { isoTime } from '../../base/clock.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { findOwnAddresses } from '../../database/mail/account-rows.ts';
import {
  type AnsweredMessage,
  ContactRows,
  type MetContact,
  readSentMessages,
  type SentMessage,
} from '../../database/mail/contact-rows.ts';
import type { MailAddressValue } from '../../database/mail/mail-writer.ts';
import { isAutomaticMail, isProgramAddress } from '../automation/automatic-mail.ts';
import { parseMailAddress } from '../compose/mail-input.ts';
import { appendMailEvent, type MailEventSource } from '../store/mail-events.ts';

/** A message to more people is an announcement: it creates no contacts. */
const maxRecipients = 50;
/** Characters of a name. */
const maxNameLength = 100;
/** E-mails of one transaction. */
const batchSize = 200;

/** The messages from which contacts are created, and how. */
export interface FillParts {
  readonly database: Database;
  /** The actor of the events; null: no events are appended. */
  readonly events: MailEventSource | null;
  /** ISO 8601. */
  readonly now: string;
}

/**
 * Adds the recipients of messages that users of an account wrote, and the senders whom they answered. Automatic messages, newsletters
 * and addresses of programs create no contacts.
 *
 * @param transaction holds the lock `mail <account>`.
 */
export async function fillContacts(
  { database, events, now }: FillParts,
  transaction: Transaction,
  account: number,
  sent: readonly SentMessage[],
): Promise<void> {
  const written = sent.filter(
    ({ headers, to, cc, bcc }) => !isAutomaticMail(headers) && to.length + cc.length + bcc.length <= maxRecipients,
  );
  if (written.length === 0) return;
  const own = await findOwnAddresses(database, transaction, account);
  if (!own) return;
  const rows = new ContactRows(database, transaction, account);
  const answered = await rows.findAnswered([...new Set(written.flatMap(({ inReplyTo }) => inReplyTo))]);
  const { created, named } = await rows.fill(collectContacts(written, answered, own), now);
  if (!events) return;
  if (created.length > 0) await appendMailEvent(transaction, events, { name: 'contacts.created', keys: created });
  if (named.length > 0)
    await appendMailEvent(transaction, events, {
      name: 'contacts.updated',
      keys: named,
      changed: ['name', 'updatedAt'],
    });
}

/** The people whom messages show, each once, with the first name that one of the messages gives. */
function collectContacts(
  sent: readonly SentMessage[],
  answered: readonly AnsweredMessage[],
  own: ReadonlySet<string>,
): MetContact[] {
  const senders = Map.groupBy(
    answered.filter(({ headers }) => !isAutomaticMail(headers)),
    ({ messageId }) => messageId,
  );
  const met = new Map<string, MetContact>();
  for (const { to, cc, bcc, inReplyTo, receivedAt } of sent) {
    const answeredSenders = inReplyTo.flatMap((id) => senders.get(id) ?? []).flatMap(({ from }) => from.slice(0, 1));
    for (const person of [...answeredSenders, ...to, ...cc, ...bcc]) {
      const address = parseMailAddress(person.address)?.address.toLowerCase();
      if (address === undefined || own.has(address) || isProgramAddress(address)) continue;
      const before = met.get(address);
      met.set(address, {
        address,
        name: before?.name || cleanName(person),
        at: before && before.at > receivedAt ? before.at : receivedAt,
      });
    }
  }
  return [...met.values()];
}

/** The name of a person; empty where it only repeats the address. */
function cleanName({ name, address }: MailAddressValue): string {
  const text = name
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .replace(/^\s*['"]+|['"]+\s*$/g, '')
    .trim();
  return text.toLowerCase() === address.toLowerCase() ? '' : [...text].slice(0, maxNameLength).join('');
}

/**
 * Fills the contacts of an account from the mail that an earlier server version has stored. Repeating it changes nothing.
 *
 * @param folders those with sent messages.
 */
export async function completeContacts(
  {
    database,
    account,
    folders,
  }: { readonly database: Database; readonly account: number; readonly folders: readonly string[] },
  now: () => number,
  isStopped: () => boolean,
): Promise<void> {
  for (let after = 0; !isStopped(); ) {
    const sent = await readSentMessages(database, account, folders, { after, max: batchSize });
    const work = (transaction: Transaction): Promise<void> =>
      fillContacts({ database, events: null, now: isoTime(now()) }, transaction, account, sent);
    if (sent.length > 0) await database.write(work, { lockKey: `mail ${account}` });
    if (sent.length < batchSize) return;
    after = sent.at(-1)?.id ?? after;
  }
}
