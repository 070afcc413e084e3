/**
 * The trash of paranoid collections: destroyed records stay, marked, and can be taken out again with what went along with
 * them. To everybody who does not ask for the trash they are not there.
 */
import { isoTime } from '../../base/clock.ts';
import { bind, type Row, type Transaction } from '../../database/database.ts';
import { formatActor } from '../../identity/caller.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { Collection, Field } from '../../schema/registry.ts';
import { getCachedPlan, type RecordContext, toPlanContext } from '../record-context.ts';
import { compareKeys } from '../record-key.ts';
import { inBoundedTransaction, requireCascadeLimit, runBeforeHooks } from './cascade.ts';
import { resultKeys, writeHistory } from './history.ts';
import {
  findReferencesTo,
  type ParentRecords,
  type Reference,
  readReferencedValues,
  restrictedDeleteError,
} from './references.ts';
import { planLiveChild, planTrashMark } from './trash-plan.ts';
import { planUpdate } from './write-plan.ts';
import {
  buildWriteEnvironment,
  buildWriteEvent,
  checkReach,
  explainNoMatch,
  finishWrite,
  guardRules,
  type IfMatch,
  readBackRows,
  requiredCounters,
  sortByKeyOrder,
  type WriteOperation,
} from './write-steps.ts';

/** @throws ApiError 404 for collections that are not paranoid. */
export function requireTrash(collection: Collection): void {
  if (collection.trash === null)
    throw new ApiError('ROUTE_UNKNOWN', `${collection.name} keeps no destroyed records: it is not paranoid.`);
}

/** Marks records as destroyed, and what a cascade takes along. */
export function softDeleteAll(operation: WriteOperation, key: unknown, match: IfMatch): Promise<Row[]> {
  const deletedAt = isoTime(operation.context.clock.now());
  return writeTrashMark(operation, key, match, deletedAt, async (transaction, max, rows) => {
    await finishWrite(operation, transaction, 'destroyed', rows, []);
    await writeHistory(operation, transaction, 'destroyed', resultKeys(rows), null);
    await cascadeSoftDelete(
      operation.context,
      transaction,
      { collection: operation.collection, keys: resultKeys(rows) },
      deletedAt,
      max,
    );
    return [...rows];
  });
}

/** Takes records out of the trash, and what went there along with them. */
export function restoreAll(operation: WriteOperation, key: unknown, match: IfMatch): Promise<Row[]> {
  return writeTrashMark(operation, key, match, null, async (transaction, max, written, readBack) => {
    const rows = await readBack(written);
    await finishWrite(operation, transaction, 'restored', rows, []);
    await writeHistory(operation, transaction, 'restored', resultKeys(rows), null);
    await cascadeSoftDelete(
      operation.context,
      transaction,
      { collection: operation.collection, keys: resultKeys(rows) },
      null,
      max,
    );
    return rows;
  });
}

function writeTrashMark(
  operation: WriteOperation,
  key: unknown,
  match: IfMatch,
  deletedAt: string | null,
  then: (
    transaction: Transaction,
    max: number,
    rows: readonly Row[],
    readBack: (rows: readonly Row[]) => Promise<Row[]>,
  ) => Promise<Row[]>,
): Promise<Row[]> {
  const { context, collection, request, grant } = operation;
  const counters = requiredCounters(match);
  const verb = deletedAt === null ? 'restore' : 'trash';
  const plan = getCachedPlan(context, grant, `${collection.name}:${verb} ${request.shape} ${counters !== null}`, () =>
    planUpdate(request, collection, grant, ['deletedAt', 'deletedWith'], counters !== null, toPlanContext(context)),
  );
  const record = { deletedAt, deletedWith: null };
  const environment = buildWriteEnvironment(operation, {
    key,
    record,
    counters: counters ?? [],
    event: buildWriteEvent(operation, []),
  });
  const isSingle = key !== undefined && !Array.isArray(key);
  return inBoundedTransaction(operation, !isSingle, async (transaction, max) => {
    transaction.touch('*'); // records of other tables may go along
    if (deletedAt !== null) await guardRules(operation, transaction, 'destroy', environment, null);
    if (!isSingle) await checkReach(operation, transaction, environment);
    const written = sortByKeyOrder(
      await transaction.run(bind(context.database.dialect, plan.statement, environment)),
      environment,
    );
    await explainNoMatch(operation, transaction, environment, written.length, counters);
    return then(transaction, max, written, (rows) => readBackRows(operation, plan, rows, transaction));
  });
}

/**
 * Children by cascade follow their parents into the trash and out of it; what a foreign key restricts stays in the way.
 * Links of many-to-many relations stay as they are: nobody sees them while one end is in the trash.
 *
 * @param deletedAt null: out of the trash.
 */
async function cascadeSoftDelete(
  context: RecordContext,
  transaction: Transaction,
  first: ParentRecords,
  deletedAt: string | null,
  max: number,
): Promise<void> {
  let cascaded = 0;
  const queue = [first];
  for (let parents = queue.shift(); parents; parents = queue.shift()) {
    if (parents.keys.length === 0) continue;
    for (const reference of findReferencesTo(parents.collection, context.registry)) {
      const { child, field, isJoinKey } = reference;
      const { onDelete } = field.references!;
      if (isJoinKey || onDelete === 'setNull') continue;
      const values = await readReferencedValues(context, transaction, parents, field);
      if (onDelete === 'cascade' && child.trash) {
        const children = await cascadeToChildren(context, transaction, child, field, values, deletedAt);
        cascaded += children.keys.length;
        requireCascadeLimit(context, cascaded, max, reference);
        queue.push(children);
      } else if (deletedAt !== null) await refuseChildren(context, transaction, reference, values);
    }
  }
}

async function cascadeToChildren(
  context: RecordContext,
  transaction: Transaction,
  child: Collection,
  field: Field,
  values: readonly unknown[],
  deletedAt: string | null,
): Promise<ParentRecords> {
  const { database, changes, caller, requestId, clock } = context;
  const rows = await transaction.run(planTrashMark(child, field, values, deletedAt, database.dialect));
  const keys = rows.map((row) => row[0]).sort(compareKeys);
  await runBeforeHooks(context, child, deletedAt === null ? 'restore' : 'destroy', keys, {});
  const verb = deletedAt === null ? 'restored' : 'destroyed';
  const event = {
    name: `${child.name}.${verb}`,
    resource: child.name,
    keys: keys.map(String),
    actor: formatActor(caller),
    requestId,
    changed: [],
    by: null,
  };
  await changes.append(transaction, event, isoTime(clock.now()));
  await writeHistory({ context, collection: child }, transaction, verb, keys, null);
  return { collection: child, keys };
}

async function refuseChildren(
  context: RecordContext,
  transaction: Transaction,
  reference: Reference,
  values: readonly unknown[],
): Promise<void> {
  const { child, field } = reference;
  const rows = await transaction.run(planLiveChild(child, field, values, context.database.dialect));
  if (rows.length > 0) throw restrictedDeleteError(context, reference);
}
