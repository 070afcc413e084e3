import type { Transaction } from '../../database/database.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { AfterWrite } from '../../records/record-rules.ts';
import { refuseQueued, removeEmptyConversations } from './mail-changes.ts';
import { MailboxCounts } from './mailbox-counts.ts';

/**
 * Removes what belongs to e-mails that are being permanently deleted: content, full-text entries, counts, and
 * conversations that become empty.
 *
 * @returns what must run after the e-mails are deleted.
 * @throws ApiError `MAIL_QUEUED` if one of them waits to be sent.
 */
export async function prepareRemoval(
  context: RecordContext,
  transaction: Transaction,
  keys: readonly unknown[],
): Promise<AfterWrite> {
  await refuseQueued(context.database, transaction, keys);
  const rows = new EmailRows(context.database, transaction);
  const placements = await rows.readPlacements(keys);
  const counts = new MailboxCounts();
  const remove = await rows.deleteDependents(keys);
  for (const placement of placements)
    for (const mailbox of placement.mailboxIds) counts.addEmail(mailbox, placement, -1);
  return async () => {
    await remove();
    await rows.count(counts.changes);
    await removeEmptyConversations(context, transaction, placements);
  };
}
