/** The history of collections with `logging`: before and after of every field, in the transaction of the change. */
import { isoTime } from '../../base/clock.ts';
import { bind, createBindEnvironment, type Row, type Transaction } from '../../database/database.ts';
import { insertHistory } from '../../database/history-rows.ts';
import { parseRecordJson } from '../../database/json-column.ts';
import type { BindEnvironment } from '../../database/sql.ts';
import { formatActor } from '../../identity/caller.ts';
import { type Collection, listColumnFields } from '../../schema/registry.ts';
import { type RecordContext, toPlanContext } from '../record-context.ts';
import { planStates, planStatesByKeys, resultColumns } from './write-plan.ts';
import type { WriteOperation } from './write-steps.ts';

/** Records by key: the values of their fields by the fields' ids, so that a field made again inherits nothing. */
export type States = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

type HistorySubject = Pick<WriteOperation, 'context' | 'collection'>;

/** What a write is about to change; null where no history is kept. */
export async function readStatesBefore(
  operation: WriteOperation,
  transaction: Transaction,
  environment: BindEnvironment,
): Promise<States | null> {
  const { context, collection, request, grant } = operation;
  if (!collection.options.logging) return null;
  const plan = planStates(request, collection, grant, toPlanContext(context));
  return parseStates(await transaction.run(bind(context.database.dialect, plan, environment)), collection);
}

/** @param before null where the records were not there before, or where nothing but their place has changed. */
export async function writeHistory(
  subject: HistorySubject,
  transaction: Transaction,
  action: 'created' | 'updated' | 'destroyed' | 'restored',
  keys: readonly unknown[],
  before: States | null,
): Promise<void> {
  const { context, collection } = subject;
  if (!collection.options.logging || keys.length === 0) return;
  const isRemoved = action === 'destroyed' && before !== null;
  const isMoved = (action === 'destroyed' || action === 'restored') && before === null;
  const after: States = isRemoved || isMoved ? new Map() : await readStates(context, collection, transaction, keys);
  const entries = keys.map((key) => {
    const keyText = String(key);
    return { tk: keyText, changes: diffStates(before?.get(keyText) ?? {}, after.get(keyText) ?? {}) };
  });
  const recorded = entries.filter(({ changes }) => action !== 'updated' || Object.keys(changes).length > 0);
  const { database, clock, caller, requestId } = context;
  await insertHistory(database, transaction, recorded, {
    collectionId: collection.id,
    at: isoTime(clock.now()),
    action,
    actor: formatActor(caller),
    requestId,
  });
}

/** The keys of a write's result. */
export function resultKeys(rows: readonly Row[]): unknown[] {
  return rows.map((row) => row[resultColumns.key]);
}

/** The records as they are, by their keys, whatever the grant. */
export async function readStates(
  context: RecordContext,
  collection: Collection,
  transaction: Transaction,
  keys: readonly unknown[],
): Promise<States> {
  const { dialect } = context.database;
  const environment = createBindEnvironment({ key: keys });
  return parseStates(
    await transaction.run(bind(dialect, planStatesByKeys(collection, dialect), environment)),
    collection,
  );
}

function parseStates(rows: readonly Row[], collection: Collection): States {
  const doubles = listColumnFields(collection).filter(({ type }) => type.storage === 'double');
  const names = doubles.map(({ id }) => String(id));
  return new Map(rows.map(([key, object]) => [String(key), parseRecordJson(object as string, names)]));
}

function diffStates(
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
