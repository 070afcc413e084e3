/** Moves of e-mails between mailboxes. Destroying an e-mail first moves it to the trash. */
import { readMailboxes } from '../../database/mail/account-rows.ts';
import { type EmailPlacement, EmailRows } from '../../database/mail/email-rows.ts';
import { PlacementRows } from '../../database/mail/placement-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import { recordNotFound, requireGrant } from '../../records/read/read-records.ts';
import { createVisibilityQuery, readVisibleRecords } from '../../records/read/visible-records.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import { getRules } from '../../records/system/system-rules.ts';
import { withAllFields } from '../../records/with-grants.ts';
import { readStates, writeHistory } from '../../records/write/history.ts';
import { destroyRecords } from '../../records/write/write-records.ts';
import type { MailboxRef } from './incoming-mail.ts';
import { type TrackedMove, trackMove } from './local-changes.ts';
import { refuseQueued, updateConversations } from './mail-changes.ts';
import { emitMailEvent } from './mail-events.ts';
import { MailboxCounts } from './mailbox-counts.ts';
import { resolveRoleMailbox, toMailboxRef } from './resolve-mailbox.ts';

const anyRow = createVisibilityQuery(null);

/** What identifies a mailbox in a request: its path, role or id. */
export type MailboxName = string | number;

/** E-mails that were moved. */
export interface MovedEmails {
  readonly count: number;
  /** The bodies of `emails:move` requests that put the e-mails back into all mailboxes that they were in. */
  readonly undo: readonly { readonly ids: readonly number[]; readonly mailbox: readonly number[] }[];
}

/**
 * Moves e-mails into a mailbox of their account, or into several.
 *
 * @param mailboxNames at least one.
 * @param from the mailbox that they leave; null: all their mailboxes. Only for a move into one mailbox.
 * @throws ApiError `NO_PERMISSION` or `RECORD_UNKNOWN` where one of them is out of reach, so that none is moved;
 * `REFERENCE_MISSING` for an unknown mailbox.
 */
export async function moveEmails(
  tx: TransactionContext,
  keys: readonly number[],
  mailboxNames: readonly MailboxName[],
  from: MailboxName | null = null,
): Promise<MovedEmails> {
  const placements = await requireMovableEmails(tx, keys, 'update');
  for (const [account, list] of Map.groupBy(placements, (each) => each.accountId)) {
    const targets: MailboxRef[] = [];
    for (const name of mailboxNames) targets.push(await findMailbox(tx, account, name, 'mailbox'));
    const [to, ...copies] = targets;
    if (!to) throw new Error('a move needs a mailbox');
    if (from === null) await moveToMailbox(tx, list, to, { copies: copies.filter(({ id }) => id !== to.id) });
    else await moveBetweenMailboxes(tx, list, await findMailbox(tx, account, from, 'from'), to);
  }
  // As in any update, the moved e-mails must still match the role's row filter.
  await requireEmailAccess(tx, keys, 'update');
  return { count: placements.length, undo: buildUndo(placements) };
}

/** @param placements the e-mails before they were moved. */
function buildUndo(placements: readonly EmailPlacement[]): MovedEmails['undo'] {
  const groups = Map.groupBy(placements, ({ mailboxIds }) => [...mailboxIds].join());
  groups.delete('');
  return [...groups.values()].map((list) => ({
    ids: list.map(({ id }) => id),
    mailbox: [...(list[0]?.mailboxIds ?? [])],
  }));
}

/**
 * Moves e-mails to the trash of their account, and deletes those that are in the trash already.
 *
 * @param permanently deletes all of them, whatever their mailbox.
 */
export async function destroyEmails(
  tx: TransactionContext,
  keys: readonly number[],
  permanently: boolean,
): Promise<MovedEmails> {
  const placements = await requireMovableEmails(tx, keys, 'destroy');
  const permanentKeys = placements.filter(({ folder }) => permanently || folder === 'trash').map(({ id }) => id);
  const emails = tx.registry.get('emails');
  if (permanentKeys.length > 0)
    await destroyRecords(tx, emails, requestByKeys('destroy', permanentKeys), { rules: getRules(emails) });
  const rest = placements.filter(({ id }) => !permanentKeys.includes(id));
  for (const [account, list] of Map.groupBy(rest, (each) => each.accountId))
    await moveToMailbox(tx, list, await resolveRoleMailbox(tx, account, 'trash', 'Trash'));
  return { count: placements.length, undo: buildUndo(rest) };
}

/** The placements of e-mails that the caller may change and that do not wait in the outbox; all or none. */
async function requireMovableEmails(
  tx: TransactionContext,
  keys: readonly number[],
  action: 'update' | 'destroy',
): Promise<EmailPlacement[]> {
  await requireEmailAccess(tx, keys, action);
  await refuseQueued(tx.database, tx.tx, keys);
  return new EmailRows(tx.database, tx.tx).readPlacements(keys);
}

/** @throws ApiError `NO_PERMISSION` or `RECORD_UNKNOWN` unless the caller's grant covers all of the e-mails. */
export async function requireEmailAccess(
  context: RecordContext,
  keys: readonly number[],
  action: 'update' | 'destroy',
): Promise<void> {
  const emails = context.registry.get('emails');
  const grant = requireGrant(context, emails, action);
  const found = await readVisibleRecords(context, emails, withAllFields(grant), anyRow, keys);
  if (found.size < keys.length) throw recordNotFound(emails, grant);
}

/**
 * Moves e-mails into a mailbox of their account without checking grants. E-mails that are only there stay.
 *
 * @param options.copies other mailboxes that they are put into, too.
 * @param options.changed fields that the caller has changed, for the event.
 */
export async function moveToMailbox(
  tx: TransactionContext,
  placements: readonly EmailPlacement[],
  to: MailboxRef,
  { copies = [], changed = [] }: { readonly copies?: readonly MailboxRef[]; readonly changed?: readonly string[] } = {},
): Promise<void> {
  const targets = new Set([to.id, ...copies.map(({ id }) => id)]);
  const moved = placements.filter(({ mailboxIds }) => mailboxIds.symmetricDifference(targets).size > 0);
  const tracked = { emails: moved, from: null, to: to.id, copies: [...targets].slice(1) };
  await runMove(tx, tracked, changed, async (keys) => {
    await new EmailRows(tx.database, tx.tx).move(keys, to.id, to.folder, tracked.copies);
    if (copies.length > 0) await new PlacementRows(tx.database, tx.tx).updatePrimaryMailboxes(keys);
  });
}

/** Moves e-mails from one mailbox to another. Other mailboxes of the e-mails stay. @throws ApiError `REFERENCE_MISSING` where one is not in `from`. */
async function moveBetweenMailboxes(
  tx: TransactionContext,
  placements: readonly EmailPlacement[],
  from: MailboxRef,
  to: MailboxRef,
): Promise<void> {
  if (placements.some(({ mailboxIds }) => !mailboxIds.has(from.id)))
    throw new ApiError('REFERENCE_MISSING', 'One of the e-mails is not in the mailbox that "from" names.');
  if (from.id === to.id) return;
  const placementRows = new PlacementRows(tx.database, tx.tx);
  await runMove(tx, { emails: placements, from: from.id, to: to.id, copies: [] }, [], async (keys) => {
    await placementRows.move(keys, from.id, to.id);
    await placementRows.updatePrimaryMailboxes(keys);
  });
}

/** Runs a move and updates counts, history and events. The mail server of the account gets it afterwards. */
async function runMove(
  tx: TransactionContext,
  tracked: TrackedMove,
  changed: readonly string[],
  move: (keys: readonly number[]) => Promise<void>,
): Promise<void> {
  const transaction = tx.tx;
  const moved = tracked.emails;
  if (moved.length === 0) return;
  const queueMove = await trackMove(tx, transaction, tracked);
  const emails = tx.registry.get('emails');
  const keys = moved.map(({ id }) => id);
  const previousStates = await readStates(tx, emails, transaction, keys);
  const rows = new EmailRows(tx.database, transaction);
  const counts = new MailboxCounts();
  for (const placement of moved) for (const mailbox of placement.mailboxIds) counts.addEmail(mailbox, placement, -1);
  await move(keys);
  await queueMove();
  for (const placement of await rows.readPlacements(keys))
    for (const mailbox of placement.mailboxIds) counts.addEmail(mailbox, placement, 1);
  await rows.count(counts.changes);
  await emitMailEvent(tx, transaction, { name: 'emails.updated', keys, changed: ['mailboxId', 'folder', ...changed] });
  await writeHistory({ context: tx, collection: emails, transaction }, 'updated', keys, previousStates);
  await updateConversations(tx, transaction, moved);
}

async function findMailbox(
  { database, tx }: TransactionContext,
  account: number,
  mailboxName: MailboxName,
  parameter: string,
): Promise<MailboxRef> {
  const all = await readMailboxes(database, account, tx);
  const role = String(mailboxName).toLowerCase();
  const found =
    typeof mailboxName === 'number'
      ? all.find(({ id }) => id === mailboxName)
      : (all.find(({ path }) => path === mailboxName) ?? all.find((each) => each.role === role));
  if (found) return toMailboxRef(found);
  throw new ApiError('REFERENCE_MISSING', `The account of the e-mail has no mailbox that matches "${parameter}".`);
}
