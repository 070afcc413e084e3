/**
 * The trash of paranoid collections: a destroyed record stays in its table with a `deletedAt`, and can be restored with the
 * children that went to the trash with it. Requests that do not ask for the trash do not see it.
 */

import { isoTime } from '../../base/clock.ts';
import { recordEvent } from '../../changes/record-event.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { requireReference } from '../../schema/field-parts.ts';
import type { Collection } from '../../schema/registry.ts';
import { compareKeys } from '../record-key.ts';
import { askCascadeHooks } from './before-hooks.ts';
import { requireCascadeLimit } from './cascade.ts';
import { writeHistory } from './history.ts';
import {
  findReferencesTo,
  type ParentRecords,
  type Reference,
  readReferencedValues,
  restrictedDeleteError,
} from './references.ts';
import { planLiveChild, planTrashMark } from './trash-plan.ts';
import type { BoundWrite, OpenWrite } from './write-steps.ts';

/** @throws ApiError 404 for collections without a trash. */
export function requireTrash(collection: Collection): void {
  if (collection.trash === null)
    throw new ApiError('ROUTE_UNKNOWN', `Soft delete is not enabled for ${collection.name} ("options.paranoid").`);
}

/**
 * Moves the children of records to the trash, or out of it, level by level: those whose foreign key says `cascade`. A
 * child by `restrict` keeps its parents out of the trash. Links of many-to-many relations stay as they are; requests do
 * not see them while one end is in the trash.
 *
 * @param keys of the records written.
 * @param deletedAt ISO time of the delete; null: the records leave the trash.
 * @throws ApiError `DEPENDANTS_EXIST` for a child by `restrict`.
 */
export async function cascadeSoftDelete(
  write: BoundWrite,
  keys: readonly unknown[],
  deletedAt: string | null,
): Promise<void> {
  const { context, transaction, maxCascade } = write;
  let cascaded = 0;
  const queue: ParentRecords[] = [{ collection: write.collection, keys }];
  for (let parents = queue.shift(); parents; parents = queue.shift()) {
    if (parents.keys.length === 0) continue;
    for (const reference of findReferencesTo(parents.collection, context.registry)) {
      const { child, field, isJoinKey } = reference;
      const { onDelete } = requireReference(field);
      if (isJoinKey || onDelete === 'setNull') continue;
      const values = await readReferencedValues(context, transaction, parents, field);
      if (onDelete === 'cascade' && child.trash) {
        const children = await cascadeToChildren(write, reference, values, deletedAt);
        cascaded += children.keys.length;
        requireCascadeLimit(context, cascaded, maxCascade, reference);
        queue.push(children);
      } else if (deletedAt !== null) await refuseChildren(write, reference, values);
    }
  }
}

async function cascadeToChildren(
  { context, transaction }: OpenWrite,
  { child, field }: Reference,
  values: readonly unknown[],
  deletedAt: string | null,
): Promise<ParentRecords> {
  const { database, changes, caller, requestId, clock } = context;
  const rows = await transaction.run(planTrashMark(child, { field, values }, deletedAt, database.dialect));
  const keys = rows.map(([key]) => key).sort(compareKeys);
  const action = deletedAt === null ? 'restore' : 'destroy';
  await askCascadeHooks(context, { collection: child, action, keys, values: {} });
  const verb = deletedAt === null ? 'restored' : 'destroyed';
  const event = recordEvent(child.name, verb, keys, { caller, requestId });
  await changes.append(transaction, event, isoTime(clock.now()));
  await writeHistory({ context, collection: child, transaction }, verb, keys, null);
  return { collection: child, keys };
}

/** @throws ApiError `DEPENDANTS_EXIST` if there are children outside the trash. */
async function refuseChildren(
  { context, transaction }: OpenWrite,
  reference: Reference,
  values: readonly unknown[],
): Promise<void> {
  const { child, field } = reference;
  const rows = await transaction.run(planLiveChild(child, { field, values }, context.database.dialect));
  if (rows.length > 0) throw restrictedDeleteError(context, reference);
}
