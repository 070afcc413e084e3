import type { DueOperation } from '../../database/mail/operation-rows.ts';
import type { ServerCopy } from '../../database/mail/server-placement-rows.ts';
import { type SendContext, selectForGroup } from './operation-outcome.ts';
import { CommandRefused, type SyncSession } from './sync-session.ts';
import { formatUidSet } from './uid-set.ts';

/** Deletes messages permanently, by UID only. Messages that no longer exist count as deleted. */
export async function deleteMessages(context: SendContext, all: readonly DueOperation[]): Promise<void> {
  const { session, outcome } = context;
  const group = all[0]?.targetId === null ? all : await requireCopies(context, all);
  if (group.length === 0) return;
  const selected = await selectForGroup(context, group);
  if (!selected) return;
  const present = await session.findExisting(group.flatMap(({ uid }) => uid ?? []));
  if (present.size > 0) await expungeMessages(session, [...present]);
  for (const each of group) await outcome.complete(each);
}

/**
 * Selects the deletions of copies whose e-mail the server also has elsewhere. The others wait until the store knows
 * where their messages are, because another program may have moved or deleted them.
 */
async function requireCopies(
  { session, operations, outcome }: SendContext,
  group: readonly DueOperation[],
): Promise<DueOperation[]> {
  const copies = await operations.readCopies(group.flatMap(({ emailId }) => emailId ?? []));
  const present: ServerCopy[] = [];
  const gone: ServerCopy[] = [];
  for (const [path, list] of Map.groupBy(copies, ({ rawPath }) => rawPath)) {
    const { uidvalidity } = await session.select(path);
    const current = list.filter((each) => each.uidvalidity === uidvalidity);
    const existing = await session.findExisting(current.map(({ uid }) => uid));
    for (const each of current) (existing.has(each.uid) ? present : gone).push(each);
  }
  const hasOther = (operation: DueOperation): boolean =>
    present.some((copy) => copy.emailId === operation.emailId && !isAt(operation, copy));
  for (const each of group) if (!hasOther(each)) await outcome.requeue(each);
  for (const list of Map.groupBy(gone, ({ mailboxId }) => mailboxId).values()) await outcome.reportGone(list);
  return group.filter(hasOther);
}

const isAt = (each: DueOperation, { mailboxId, uidvalidity, uid }: ServerCopy): boolean =>
  each.mailboxId === mailboxId && each.uidvalidity === uidvalidity && each.uid === uid;

/**
 * Removes messages from the selected mailbox. Without UIDPLUS, EXPUNGE removes every message that is marked as deleted: it is only
 * sent if no other message is.
 *
 * @throws CommandRefused where messages are left.
 */
export async function expungeMessages(session: SyncSession, uids: readonly number[]): Promise<void> {
  const set = formatUidSet(uids);
  if (!session.has('UIDPLUS')) {
    const marked = await session.searchDeleted();
    const own = new Set(uids);
    if (marked.some((uid) => !own.has(uid)))
      throw new CommandRefused('EXPUNGE: other messages are marked as deleted', null);
  }
  if (!(await session.client.messageDelete(set, { uid: true }))) throw session.refuse('EXPUNGE');
  const left = await session.findExisting(uids);
  if (left.size > 0) throw session.refuse('EXPUNGE');
}
