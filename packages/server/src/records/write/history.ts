/** The history of collections with `logging`: the values of each field before and after, written with the change. */
import { isoTime } from '../../base/clock.ts';
import { TimeSlices } from '../../base/time-slices.ts';
import { bind, createBindEnvironment, type Row, type Transaction } from '../../database/database.ts';
import { type HistoryEntry, insertHistory } from '../../database/history-rows.ts';
import { parseRecordJson } from '../../database/json-column.ts';
import { formatActor } from '../../identity/caller.ts';
import { type Collection, listColumnFields } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import type { WriteVerb } from '../sent-write.ts';
import { planStates, planStatesByKeys } from './write-plan.ts';
import type { BoundWrite, OpenWrite } from './write-steps.ts';

/** Records by key: values by field id, so that a new field with the name of an old one does not inherit its values. */
export type States = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** Records whose history is written, in the transaction of their change. */
type HistorySubject = Pick<OpenWrite, 'context' | 'collection' | 'transaction'>;

/** The records that a write is about to change; null if the collection has no history. */
export async function readStatesBefore(write: BoundWrite): Promise<States | null> {
  const { context, collection, transaction, environment } = write;
  if (!collection.options.logging) return null;
  const rows = await transaction.run(bind(context.database.dialect, planStates(write), environment));
  return parseStates(rows, collection);
}

/**
 * Writes one history entry for each record.
 *
 * @param before null if the records did not exist, or if they only move to the trash or out of it.
 */
export async function writeHistory(
  subject: HistorySubject,
  action: WriteVerb,
  keys: readonly unknown[],
  before: States | null,
): Promise<void> {
  const { context, collection, transaction } = subject;
  if (!collection.options.logging || keys.length === 0) return;
  const isRemoved = action === 'destroyed' && before !== null;
  const isMoved = (action === 'destroyed' || action === 'restored') && before === null;
  const after: States = isRemoved || isMoved ? new Map() : await readStates(context, collection, transaction, keys);
  const recorded: HistoryEntry[] = [];
  const slices = new TimeSlices();
  for (const key of keys) {
    if (slices.isOver) await slices.next();
    const keyText = String(key);
    const changes = diffStates(before?.get(keyText) ?? {}, after.get(keyText) ?? {});
    if (action !== 'updated' || Object.keys(changes).length > 0) recorded.push({ tk: keyText, changes });
  }
  const { database, clock, caller, requestId } = context;
  await insertHistory(database, transaction, recorded, {
    collectionId: collection.id,
    at: isoTime(clock.now()),
    action,
    actor: formatActor(caller),
    requestId,
  });
}

/** The records with these keys as they are now, whatever the grant. */
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
    if (from === to) continue;
    if (from === null || to === null || JSON.stringify(from) !== JSON.stringify(to)) result[id] = [from, to];
  }
  return result;
}
