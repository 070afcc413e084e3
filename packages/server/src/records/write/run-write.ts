/**
 * The one path of every write to existing records. Update, destroy, soft delete, restore and deferred delete differ in
 * their {@link WriteDescription}, not in their steps. Inserts have no key, guard or reach; see insert-records.ts.
 */
import { bind, type Row } from '../../database/database.ts';
import type { BindEnvironment } from '../../database/sql.ts';
import { getCachedPlan } from '../record-context.ts';
import type { PreparedBody } from '../record-rules.ts';
import type { WriteEvent, WriteVerb } from '../sent-write.ts';
import { applyBeforeHook, prepareBody } from './before-hooks.ts';
import { type CascadeEnd, inBoundedTransaction } from './cascade.ts';
import { attachRecordFiles } from './file-values.ts';
import { readStatesBefore, writeHistory } from './history.ts';
import type { CheckedRecord } from './record-input.ts';
import { checkReferences } from './reference-check.ts';
import { translateFaults } from './write-fault.ts';
import { planDestroy, planUpdate, type WritePlan } from './write-plan.ts';
import {
  applyAfterWrite,
  type BoundWrite,
  buildWriteEnvironment,
  buildWriteEvent,
  checkReach,
  commitAlone,
  explainNoMatch,
  findLoneStatement,
  finishWrite,
  guardRules,
  isSingleKey,
  type LoneWrite,
  readBackRows,
  requiredCounters,
  resultKeys,
  sortByKeyOrder,
  toEventValues,
  type WriteOperation,
} from './write-steps.ts';

/** The parts of {@link runWrite}'s steps that differ between the kinds of writes. */
export interface WriteDescription {
  /** The action that is passed to before hooks and to the collection's rules. */
  readonly action: 'update' | 'destroy' | 'restore';
  /** The verb of its event and of its history. */
  readonly verb: WriteVerb;
  /** The body of an update. */
  readonly body?: unknown;
  /** What the statement sets, from the prepared body: one record. None: the statement deletes the records. */
  check(body: unknown): readonly CheckedRecord[] | Promise<readonly CheckedRecord[]>;
  /** Tables that the write may change: that of the collection, or all of them by foreign keys. */
  readonly touches: 'collection' | 'all';
  /** A write of one record is heavy too, so it runs off the event loop. Writes of several records always are. */
  readonly isHeavy: boolean;
  /** Whether the history needs the values that the records have before the write. */
  readonly comparesStates: boolean;
  /** Whether the reply shows the records as they are afterwards, which the row filter must then match. */
  readonly returnsRecords: boolean;
  /** Whether the write may consist of its statement and its event, without the other steps. */
  isLoneWrite?(record: CheckedRecord | null): boolean;
  /** Runs before the statement. @returns what follows for the records written, after their event. */
  cascade?(write: BoundWrite): Promise<CascadeEnd>;
}

/** A write that is checked and planned. */
interface ReadyWrite {
  readonly operation: WriteOperation;
  readonly description: WriteDescription;
  readonly prepared: PreparedBody | null;
  readonly record: CheckedRecord | null;
  readonly plan: WritePlan;
  readonly event: WriteEvent;
  readonly environment: BindEnvironment;
}

/**
 * Runs a write: hooks, prepare and check before the transaction, all other steps in it. If any step refuses, all of
 * them are undone. A write of one record that needs none of the other steps only runs its statement, see {@link commitAlone}.
 *
 * @returns the rows written, in the order in which the request names their keys, else by primary key.
 * @throws ApiError the refusals of the steps.
 */
export async function runWrite(operation: WriteOperation, description: WriteDescription): Promise<Row[]> {
  const { action, body } = description;
  const preparing = action === 'update' ? prepareBody(operation, action, body) : null; // hooks, prepare
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  if (action !== 'update' && operation.context.hooks) await applyBeforeHook(operation, action, {}); // hooks
  const checking = description.check(prepared?.body); // check
  const [record = null] = checking instanceof Promise ? await checking : checking;
  const rows = await translateFaults(operation, prepared && record ? [record] : [], () => {
    const ready = planWrite(operation, description, prepared, record);
    const lone = findLone(ready);
    if (!lone) return runSteps(ready);
    // If it has reached no record, the steps find out why.
    return commitAlone(operation, lone, ready.environment).then((rows) => (rows.length > 0 ? rows : runSteps(ready)));
  });
  if (operation.rules?.changesAccess) await operation.context.refresh();
  return rows;
}

function runSteps({ operation, description, prepared, record, plan, environment }: ReadyWrite): Promise<Row[]> {
  const { context, collection, key } = operation;
  const { action, verb } = description;
  const isHeavy = description.isHeavy || !isSingleKey(key);
  return inBoundedTransaction(operation, isHeavy, async (transaction, maxCascade) => {
    const write: BoundWrite = { ...operation, transaction, environment, maxCascade };
    transaction.touch(description.touches === 'all' ? '*' : collection.table); // lock
    const afterGuard = action === 'restore' ? null : await guardRules(write, action, prepared?.body ?? null); // guard
    if (!isSingleKey(key)) await checkReach(write); // reach
    if (record) await checkReferences(operation, [record], (statement) => transaction.run(statement)); // references
    const before = description.comparesStates ? await readStatesBefore(write) : null; // history
    const cascade = await description.cascade?.(write); // cascade
    const written = await transaction.run(bind(context.database.dialect, plan.statement, environment)); // run
    await explainNoMatch(write, written.length); // explain
    const found = description.returnsRecords ? await readBackRows(write, plan, written) : written; // look
    const sorted = sortByKeyOrder(found, environment);
    if (record) await attachRecordFiles(write, [record], resultKeys(sorted)); // files
    const { rows, changed } = await applyAfterWrite(
      write,
      sorted,
      sorted.map(() => prepared),
    );
    await finishWrite(write, verb, rows, [...new Set([...(record?.named ?? []), ...changed])]); // events
    await writeHistory(write, verb, resultKeys(rows), before);
    await cascade?.(resultKeys(rows)); // after
    await afterGuard?.();
    return rows; // commit
  });
}

function planWrite(
  operation: WriteOperation,
  description: WriteDescription,
  prepared: PreparedBody | null,
  record: CheckedRecord | null,
): ReadyWrite {
  const { context, collection, request, grant, key } = operation;
  const counters = requiredCounters(operation.match);
  const names = record && Object.keys(record.values);
  const planKey = `${request.shape} ${counters !== null} ${names?.join()}`;
  const plan = getCachedPlan(context, grant, `${collection.name}:${names ? 'update' : 'destroy'} ${planKey}`, () =>
    names ? planUpdate(operation, names, counters !== null) : planDestroy(operation, counters !== null),
  );
  const event = buildWriteEvent(operation, record?.named ?? []);
  const environment = buildWriteEnvironment(operation, {
    key,
    ...(record && { record: record.values }),
    counters: counters ?? [],
    event: toEventValues(operation, event),
  });
  return { operation, description, prepared, record, plan, event, environment };
}

/** Null if the write needs other steps. */
function findLone({ operation, description, record, plan, event }: ReadyWrite): LoneWrite | null {
  const lone = findLoneStatement(operation, plan);
  if (!lone || !isSingleKey(operation.key) || !description.isLoneWrite?.(record)) return null;
  return { ...lone, verb: description.verb, event };
}
