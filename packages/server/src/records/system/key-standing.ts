import { isoTime } from '../../base/clock.ts';
import type { Transaction } from '../../database/database.ts';
import { userRolesOf } from '../../database/identity-store.ts';
import { keysOfMaker, setInactiveReason } from '../../database/key-rows.ts';
import { actorOf } from '../../identity/caller.ts';
import { inactiveReason } from '../../identity/key-standing.ts';
import type { RecordContext } from '../record-context.ts';

/**
 * Notes with the keys of a user whether they work, after the user's roles or status have changed: lists of keys show it.
 * What decides at each request are the roles themselves.
 */
export async function noteKeyStanding(
  {
    database,
    changes,
    caller,
    clock,
    requestId,
  }: Pick<RecordContext, 'database' | 'changes' | 'caller' | 'clock' | 'requestId'>,
  transaction: Transaction,
  userId: number,
): Promise<void> {
  const made = await keysOfMaker(database, transaction, userId);
  if (!made || made.keys.length === 0) return;
  const maker = { status: made.status, roles: await userRolesOf(database, transaction, [userId]) };
  const changed = made.keys
    .map((key) => ({ id: key.id, former: key.inactiveReason, reason: inactiveReason(key, maker) }))
    .filter(({ former, reason }) => former !== reason);
  if (changed.length === 0) return;
  for (const { id, reason } of changed) await setInactiveReason(database, transaction, id, reason);
  const event = {
    name: 'apiKeys.updated',
    resource: 'apiKeys',
    tks: changed.map(({ id }) => String(id)),
    actor: actorOf(caller),
    requestId,
    changed: ['inactiveReason'],
    by: caller,
  };
  await changes.append(transaction, event, isoTime(clock.now()));
}
