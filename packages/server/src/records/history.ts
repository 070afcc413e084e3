/** The history of collections with `logging`: before and after of every field, in the transaction of the change. */
import { isoTime } from '../base/clock.ts';
import { bind, environmentOf, type Row, type Transaction } from '../database/database.ts';
import { insertHistory } from '../database/history-rows.ts';
import { parsedRecord } from '../database/json-column.ts';
import type { BindEnvironment } from '../database/sql.ts';
import { actorOf } from '../identity/caller.ts';
import { type Collection, columnsOf } from '../schema/registry.ts';
import { planContext, type RecordContext } from './record-context.ts';
import { planStates, planStatesOf, resultColumns } from './write-plan.ts';
import type { Target } from './write-steps.ts';

/** Records by key: the values of their fields by the fields' ids, so that a field made again inherits nothing. */
export type States = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

type Subject = Pick<Target, 'context' | 'collection'>;

/** What a write is about to change; null where no history is kept. */
export async function statesBefore(
  target: Target,
  transaction: Transaction,
  environment: BindEnvironment,
): Promise<States | null> {
  const { context, collection, request, grant } = target;
  if (!collection.options.logging) return null;
  const plan = planStates(request, collection, grant, planContext(context));
  return statesOf(await transaction.run(bind(context.database.dialect, plan, environment)), collection);
}

/** @param before null where the records were not there before, or where nothing but their place has changed. */
export async function writeHistory(
  subject: Subject,
  transaction: Transaction,
  action: 'created' | 'updated' | 'destroyed' | 'restored',
  keys: readonly unknown[],
  before: States | null,
): Promise<void> {
  const { context, collection } = subject;
  if (!collection.options.logging || keys.length === 0) return;
  const removed = action === 'destroyed' && before !== null;
  const moved = (action === 'destroyed' || action === 'restored') && before === null;
  const after: States = removed || moved ? new Map() : await statesAt(context, collection, transaction, keys);
  const entries = keys.map((key) => {
    const tk = String(key);
    return { tk, changes: differences(before?.get(tk) ?? {}, after.get(tk) ?? {}) };
  });
  const told = entries.filter(({ changes }) => action !== 'updated' || Object.keys(changes).length > 0);
  const { database, clock, caller, requestId } = context;
  await insertHistory(database, transaction, told, {
    collectionId: collection.id,
    at: isoTime(clock.now()),
    action,
    actor: actorOf(caller),
    requestId,
  });
}

/** The keys of a write's result. */
export function keysOf(rows: readonly Row[]): unknown[] {
  return rows.map((row) => row[resultColumns.key]);
}

/** The records as they are, by their keys, whatever the grant. */
export async function statesAt(
  context: RecordContext,
  collection: Collection,
  transaction: Transaction,
  keys: readonly unknown[],
): Promise<States> {
  const { dialect } = context.database;
  const environment = environmentOf({ key: keys });
  return statesOf(await transaction.run(bind(dialect, planStatesOf(collection, dialect), environment)), collection);
}

function statesOf(rows: readonly Row[], collection: Collection): States {
  const doubles = columnsOf(collection).filter(({ type }) => type.storage === 'double');
  const names = doubles.map(({ id }) => String(id));
  return new Map(rows.map(([key, object]) => [String(key), parsedRecord(object as string, names)]));
}

function differences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, [unknown, unknown]> {
  const result: Record<string, [unknown, unknown]> = {};
  for (const id of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [from, to] = [before[id] ?? null, after[id] ?? null];
    if (JSON.stringify(from) !== JSON.stringify(to)) result[id] = [from, to];
  }
  return result;
}
