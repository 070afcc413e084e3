/** Local changes of mailboxes that the mail server must get. */
import { EmailRows } from '../../database/mail/email-rows.ts';
import { type MailboxRow, MailboxRows, readMailboxRow, readMailboxRows } from '../../database/mail/mailbox-rows.ts';
import { appendMailEvent } from './mail-events.ts';
import type { MailTransaction } from './mail-transaction.ts';
import { OperationQueue } from './operation-queue.ts';

/** The outbox exists only here: what is in it has not been sent. */
const localRole = 'outbox';

/**
 * Queues that the server gets a mailbox, unless it has it, or an operation waits.
 *
 * @returns false for a mailbox that never exists on a server.
 */
export async function queueMailboxCreation(mail: MailTransaction, account: number, mailbox: number): Promise<boolean> {
  const row = await readMailboxRow(mail.database, mail.transaction, mailbox);
  if (!row || row.role === localRole) return false;
  if (row.rawPath !== null) return true;
  const queue = await OperationQueue.ofMailbox(mail, account, mailbox);
  if (!queue.all.some(({ kind }) => kind === 'createMailbox')) queue.add({ kind: 'createMailbox', mailboxId: mailbox });
  await queue.flush();
  return true;
}

/** Queues a rename. Renaming back before it was sent leaves nothing to send. @param from the former path. */
export async function queueMailboxRename(
  mail: MailTransaction,
  { id, accountId, path, rawPath }: MailboxRow,
  from: string,
): Promise<void> {
  if (rawPath === null || path === from) return;
  const queue = await OperationQueue.ofMailbox(mail, accountId, id);
  const waiting = queue.all.find(({ kind, status }) => kind === 'renameMailbox' && status === 'queued');
  if (!waiting) queue.add({ kind: 'renameMailbox', mailboxId: id, payload: { from } });
  else if (waiting.payload?.from === path) queue.remove(waiting);
  await queue.flush();
}

/** Queues the deletion of an empty mailbox, which is about to be deleted here. */
export async function queueMailboxDeletion(
  mail: MailTransaction,
  { id, accountId, rawPath }: MailboxRow,
): Promise<void> {
  const queue = await OperationQueue.ofMailbox(mail, accountId, id);
  const creation = queue.all.find(({ kind }) => kind === 'createMailbox');
  for (const each of queue.all) {
    if (each.kind === 'renameMailbox' || each.kind === 'createMailbox') {
      if (each.status === 'queued') queue.remove(each);
    } else if (each.mailboxId === id && rawPath !== null)
      // Operations that still move messages out of the mailbox, or delete messages in it, find it by the server's name.
      queue.replace(each, { payload: { ...each.payload, rawPath } });
  }
  if (rawPath !== null || creation?.status === 'running')
    queue.add({ kind: 'deleteMailbox', mailboxId: id, payload: rawPath === null ? {} : { rawPath } });
  await queue.flush();
}

/** After a rename of a mailbox: the paths of the mailboxes in it begin with its new path. */
export async function moveContainedMailboxes(
  mail: MailTransaction,
  { accountId, path: from }: MailboxRow,
  to: string,
): Promise<void> {
  const { database, transaction } = mail;
  const contained = (await readMailboxRows(database, transaction, accountId)).filter(({ path }) =>
    path.startsWith(`${from}/`),
  );
  for (const row of contained) {
    const path = to + row.path.slice(from.length);
    await new MailboxRows(database, transaction).setNames(row.id, { ...row, path });
    await appendMailEvent(transaction, mail, { name: 'mailboxes.updated', keys: [row.id], changed: ['path'] });
    if (row.role !== null) continue;
    const { emails } = await new EmailRows(database, transaction).renameFolder(row.id, path);
    const keys = emails.map(({ id }) => id);
    await appendMailEvent(transaction, mail, { name: 'emails.updated', keys, changed: ['folder'] });
  }
}
