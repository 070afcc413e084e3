/**
 * E-mails that were permanently deleted here, and that the mail server still shows somewhere: their copies are deleted
 * too.
 */
import type { AccountServer } from '../../database/mail/account-server-rows.ts';
import { type Tombstone, TombstoneRows } from '../../database/mail/tombstone-rows.ts';
import { type IdentifiedMail, listIdentities } from './ingest-source.ts';
import type { MailTransaction } from './mail-transaction.ts';
import { OperationQueue } from './operation-queue.ts';

/** A mailbox of the server. */
interface MailboxOnServer {
  readonly id: number;
  readonly uidvalidity: string;
}

/** Queues the deletion of copies that the server's id names. @returns their UIDs. */
export async function linkDeleted(
  mail: MailTransaction,
  server: AccountServer,
  mailbox: MailboxOnServer,
  messages: readonly { readonly uid: number; readonly providerId: string | null }[],
): Promise<ReadonlySet<number>> {
  const ids = messages.flatMap(({ providerId }) => providerId ?? []);
  const tombstones = await new TombstoneRows(mail.database, mail.transaction, server.accountId).find('providerId', ids);
  const waiting = new Map(tombstones.filter(({ isConfirmed }) => !isConfirmed).map((each) => [each.providerId, each]));
  const copies = messages.flatMap(({ uid, providerId }) => {
    const tombstone = providerId === null ? undefined : waiting.get(providerId);
    return tombstone ? [{ uid, tombstone }] : [];
  });
  await queueDeletions(mail, server, mailbox, copies);
  return new Set(copies.map(({ uid }) => uid));
}

/**
 * Queues the deletion of copies whose bytes are those of a deleted e-mail. A deletion that the server has confirmed no
 * longer counts: the message has arrived again.
 *
 * @returns the identities of the copies.
 */
export async function removeDeletedCopies(
  mail: MailTransaction,
  server: AccountServer,
  mailbox: MailboxOnServer,
  messages: readonly IdentifiedMail[],
): Promise<ReadonlySet<string>> {
  const rows = new TombstoneRows(mail.database, mail.transaction, server.accountId);
  const tombstones = await rows.find('identity', messages.flatMap(listIdentities));
  if (tombstones.length === 0) return new Set();
  await rows.remove(tombstones.filter(({ isConfirmed }) => isConfirmed).map(({ identity }) => identity));
  const waiting = new Map(tombstones.filter(({ isConfirmed }) => !isConfirmed).map((each) => [each.identity, each]));
  const copies = messages.flatMap((message) => {
    const tombstone = listIdentities(message).flatMap((each) => waiting.get(each) ?? [])[0];
    const uid = message.incoming.server?.position.uid;
    return tombstone && uid ? [{ uid, tombstone, identity: message.identity }] : [];
  });
  await queueDeletions(mail, server, mailbox, copies);
  return new Set(copies.map(({ identity }) => identity));
}

async function queueDeletions(
  mail: MailTransaction,
  { accountId }: AccountServer,
  { id, uidvalidity }: MailboxOnServer,
  copies: readonly { readonly uid: number; readonly tombstone: Tombstone }[],
): Promise<void> {
  if (copies.length === 0) return;
  const emails = [...new Set(copies.map(({ tombstone }) => tombstone.emailId))];
  const queue = await OperationQueue.ofEmails(mail, accountId, emails);
  for (const { uid, tombstone } of copies) {
    const deletions = queue.ofEmail(tombstone.emailId).filter(({ kind }) => kind === 'delete');
    if (deletions.some((each) => each.mailboxId === id && each.uid === uid)) continue;
    const isExpectedHere = ({ mailboxId }: (typeof deletions)[number]): boolean =>
      mailboxId === null || mailboxId === id;
    const waiting = deletions.find((each) => each.uid === null && each.status === 'queued' && isExpectedHere(each));
    const position = { mailboxId: id, uidvalidity, uid };
    if (waiting) queue.replace(waiting, position);
    else queue.add({ kind: 'delete', emailId: tombstone.emailId, ...position, payload: { isFinal: true } });
  }
  await queue.flush();
}
