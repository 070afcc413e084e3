/** E-mails change their mailbox: by a move, or because somebody destroys them, which puts them into the trash first. */
import { mailboxesOf } from '../../database/mail/account-rows.ts';
import { type EmailPlace, EmailRows } from '../../database/mail/email-rows.ts';
import { PlacementRows } from '../../database/mail/placement-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import { statesAt, writeHistory } from '../../records/history.ts';
import { conversationsChanged, MailboxCounts, refuseQueued, tell } from '../../records/mail-changes.ts';
import { missing, requireGrant } from '../../records/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { recordsInSight, sightOf } from '../../records/records-in-sight.ts';
import { rulesOf } from '../../records/system/rules-of.ts';
import { withAllFields } from '../../records/with-grants.ts';
import { destroyRecords } from '../../records/write-records.ts';
import type { MailboxPlace } from './incoming-mail.ts';
import { placeOf, rolePlace } from './mailbox-place.ts';

const anyRow = sightOf(null);

/**
 * Moves e-mails into a mailbox of their account.
 *
 * @param named path or role of the mailbox, or its id.
 * @param from the same of the mailbox that they leave; null: all in which they lie.
 * @returns how many.
 * @throws ApiError 403 or 404 where one of them is out of reach: then none is moved; 400 for a mailbox that is not there.
 */
export async function moveEmails(
  inside: RecordContext,
  keys: readonly number[],
  named: string | number,
  from: string | number | null = null,
): Promise<number> {
  const places = await reached(inside, keys, 'update');
  for (const [account, list] of Map.groupBy(places, (each) => each.accountId))
    if (from === null) await put(inside, list, await namedMailbox(inside, account, named, 'mailbox'));
    else
      await putFrom(
        inside,
        list,
        await namedMailbox(inside, account, from, 'from'),
        await namedMailbox(inside, account, named, 'mailbox'),
      );
  // As in any update: the role's row filter admits them as they are now.
  await requireReach(inside, keys, 'update');
  return places.length;
}

/**
 * Destroys e-mails: puts them into the trash of their account, and those that are there already away for good.
 *
 * @param forGood all of them, wherever they are.
 */
export async function destroyEmails(inside: RecordContext, keys: readonly number[], forGood: boolean): Promise<number> {
  const places = await reached(inside, keys, 'destroy');
  const gone = places.filter(({ folder }) => forGood || folder === 'trash').map(({ id }) => id);
  const emails = inside.registry.get('emails');
  if (gone.length > 0) await destroyRecords(inside, emails, requestByKeys('destroy', gone), null, rulesOf(emails));
  const rest = places.filter(({ id }) => !gone.includes(id));
  for (const [account, list] of Map.groupBy(rest, (each) => each.accountId))
    await put(inside, list, await rolePlace(inside, account, 'trash', 'Trash'));
  return places.length;
}

/** E-mails that a role's grant reaches, all or none. */
async function reached(
  inside: RecordContext,
  keys: readonly number[],
  action: 'update' | 'destroy',
): Promise<EmailPlace[]> {
  await requireReach(inside, keys, action);
  await refuseQueued(inside, keys);
  return new EmailRows(inside.database, inside.inside!).places(keys);
}

/** @throws ApiError 403 or 404 unless a role's grant reaches all of some e-mails. */
export async function requireReach(
  context: RecordContext,
  keys: readonly number[],
  action: 'update' | 'destroy',
): Promise<void> {
  const emails = context.registry.get('emails');
  const grant = requireGrant(context, emails, action);
  const found = await recordsInSight(context, emails, withAllFields(grant), anyRow, keys);
  if (found.size < keys.length) throw missing(emails, grant);
}

/** Puts e-mails into a mailbox of their account, whatever the role; those that are there stay. */
export async function put(
  inside: RecordContext,
  places: readonly EmailPlace[],
  to: MailboxPlace,
  changed: readonly string[] = [],
): Promise<void> {
  const moved = places.filter(({ mailboxIds }) => mailboxIds.size !== 1 || !mailboxIds.has(to.id));
  await moving(inside, moved, changed, (keys) =>
    new EmailRows(inside.database, inside.inside!).move(keys, to.id, to.folder),
  );
}

/** Moves e-mails out of one mailbox; where else they lie stays. @throws ApiError 400 where one of them does not lie there. */
async function putFrom(
  inside: RecordContext,
  places: readonly EmailPlace[],
  from: MailboxPlace,
  to: MailboxPlace,
): Promise<void> {
  if (places.some(({ mailboxIds }) => !mailboxIds.has(from.id)))
    throw new ApiError('REFERENCE_MISSING', 'from: one of the e-mails is not in this mailbox.');
  if (from.id === to.id) return;
  const placements = new PlacementRows(inside.database, inside.inside!);
  await moving(inside, places, [], async (keys) => {
    await placements.move(keys, from.id, to.id);
    await placements.settle(keys);
  });
}

/** Runs a move of e-mails, with what it means for counts, history and events. */
async function moving(
  inside: RecordContext,
  moved: readonly EmailPlace[],
  changed: readonly string[],
  move: (keys: readonly number[]) => Promise<void>,
): Promise<void> {
  const transaction = inside.inside!;
  if (moved.length === 0) return;
  const emails = inside.registry.get('emails');
  const keys = moved.map(({ id }) => id);
  const before = await statesAt(inside, emails, transaction, keys);
  const rows = new EmailRows(inside.database, transaction);
  const counts = new MailboxCounts();
  for (const place of moved) for (const mailbox of place.mailboxIds) counts.addEmail(mailbox, place, -1);
  await move(keys);
  for (const place of await rows.places(keys))
    for (const mailbox of place.mailboxIds) counts.addEmail(mailbox, place, 1);
  await rows.count(counts.changes);
  await tell(inside, transaction, 'emails.updated', 'emails', keys, ['mailboxId', 'folder', ...changed]);
  await writeHistory({ context: inside, collection: emails }, transaction, 'updated', keys, before);
  await conversationsChanged(inside, transaction, moved);
}

async function namedMailbox(
  { database, inside }: RecordContext,
  account: number,
  named: string | number,
  parameter: string,
): Promise<MailboxPlace> {
  const all = await mailboxesOf(database, account, inside!);
  const role = String(named).toLowerCase();
  const found =
    typeof named === 'number'
      ? all.find(({ id }) => id === named)
      : (all.find(({ path }) => path === named) ?? all.find((each) => each.role === role));
  if (found) return placeOf(found);
  throw new ApiError('REFERENCE_MISSING', `${parameter}: the account of the e-mail has no such mailbox.`);
}
