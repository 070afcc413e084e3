import { isoTime } from '../../base/clock.ts';
import { recordEvent } from '../../changes/record-event.ts';
import type { Transaction } from '../../database/database.ts';
import { readKeysByCreator, setInactiveReason } from '../../database/key-rows.ts';
import { readUserRoles } from '../../database/role-rows.ts';
import { findInactiveReason } from '../../identity/key-status.ts';
import type { RecordContext } from '../record-context.ts';

/**
 * Updates the `inactiveReason` of the keys that a user has created, after the user's roles or status have changed. It is for
 * lists of keys; each request checks the roles themselves.
 */
export async function updateInactiveReasons(
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
  const created = await readKeysByCreator(database, transaction, userId);
  if (!created || created.keys.length === 0) return;
  const maker = { status: created.status, roles: await readUserRoles(database, transaction, [userId]) };
  const changed = created.keys
    .map((key) => ({ id: key.id, former: key.inactiveReason, reason: findInactiveReason(key, maker) }))
    .filter(({ former: previous, reason }) => previous !== reason);
  if (changed.length === 0) return;
  for (const { id, reason } of changed) await setInactiveReason(database, transaction, id, reason);
  const keys = changed.map(({ id }) => id);
  const details = { caller, requestId, changed: ['inactiveReason'], isAudited: true };
  const event = recordEvent('apiKeys', 'updated', keys, details);
  await changes.append(transaction, event, isoTime(clock.now()));
}
