import { TimeSlices } from '../../base/time-slices.ts';
import { bind, bindFixed, type Row, StaleVersion, type Transaction } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { requireColumn } from '../../schema/field-parts.ts';
import { maxGivenKey } from '../../schema/number-ranges.ts';
import { type Collection, listColumnFields } from '../../schema/registry.ts';
import { listSearchFields } from '../../schema/search-fields.ts';
import { getCachedPlan } from '../record-context.ts';
import type { PreparedBody } from '../record-rules.ts';
import { attachRecordFiles } from './file-values.ts';
import { writeHistory } from './history.ts';
import type { CheckedRecord } from './record-input.ts';
import { checkReferences } from './reference-check.ts';
import { findSortFields } from './sort-columns.ts';
import { planInsert, type WritePlan } from './write-plan.ts';
import {
  applyAfterWrite,
  buildWriteEnvironment,
  buildWriteEvent,
  commitAlone,
  findLoneStatement,
  finishWrite,
  isLoneWrite,
  type OpenWrite,
  readBackRows,
  resultKeys,
  toEventValues,
  type WriteOperation,
  writeInTransaction,
} from './write-steps.ts';

/** Records that are checked, in the order of the request. */
interface Insert {
  readonly records: readonly CheckedRecord[];
  readonly preparedBodies: readonly PreparedBody[];
}

/**
 * Inserts checked records, all or none. The steps are those of {@link runWrite} without key, guard and reach: new
 * records have none of these.
 *
 * @returns the rows written, in the order of the records. None: the definitions have changed, so nothing was written.
 */
export function insertAll(operation: WriteOperation, { records, preparedBodies }: Insert): Promise<Row[]> {
  const [first] = records;
  const isLone = records.length === 1 && first && isLoneWrite(operation, first);
  const lone = isLone ? findLoneStatement(operation, getInsertPlan(operation, first, 1)) : null;
  if (!isLone || !lone) return insertInSteps(operation, { records, preparedBodies });
  const event = buildWriteEvent(operation, first.named);
  const parts = { values: [first.values], event: toEventValues(operation, event) };
  const environment = buildWriteEnvironment(operation, parts);
  return commitAlone(operation, { ...lone, verb: 'created', event }, environment);
}

function insertInSteps(operation: WriteOperation, { records, preparedBodies }: Insert): Promise<Row[]> {
  const { collection } = operation;
  const insert = async (transaction: Transaction): Promise<Row[]> => {
    const write: OpenWrite = { ...operation, transaction };
    transaction.touch(collection.table); // lock
    await checkReferences(operation, records, (statement) => transaction.run(statement)); // references
    const inserted = await insertChunks(write, records); // run, look
    await attachRecordFiles(write, records, resultKeys(inserted)); // files
    const { rows, changed } = await applyAfterWrite(write, inserted, preparedBodies);
    const named = new Set([...records.flatMap((record) => record.named), ...changed]);
    await finishWrite(write, 'created', rows, [...named]); // events
    await writeHistory(write, 'created', resultKeys(rows), null); // history
    return rows; // commit
  };
  return writeInTransaction(operation, insert, records.length === 1 ? 'one' : 'several');
}

async function insertChunks(write: OpenWrite, records: readonly CheckedRecord[]): Promise<Row[]> {
  const { collection, context } = write;
  const rows: Row[] = [];
  const max = records.length === 1 ? 1 : countRowsPerInsert(collection, context.database.dialect);
  const slices = new TimeSlices();
  for (const chunk of groupByFields(records, max)) {
    if (slices.isOver) await slices.next();
    const plan = getInsertPlan(write, chunk[0], chunk.length);
    const environment = buildWriteEnvironment(write, { values: chunk.map((record) => record.values) });
    const written = await write.transaction.run(bind(context.database.dialect, plan.statement, environment));
    if (written.length < chunk.length) throw new StaleVersion();
    rows.push(...(await readBackRows(write, plan, written)));
    await advanceKey(write, chunk);
  }
  return rows;
}

function countRowsPerInsert(collection: Collection, { rowsPerInsert, search }: Dialect): number {
  // A sort field numbers one record at a time: each position follows the one before.
  if (findSortFields(collection).length > 0) return 1;
  return listSearchFields(collection).length > 0 ? search.rowsPerInsert : rowsPerInsert;
}

/** PostgreSQL's sequences do not know keys that the client gives, so they are advanced past them. */
async function advanceKey(
  { context, collection, transaction }: OpenWrite,
  records: readonly CheckedRecord[],
): Promise<void> {
  const { primaryKey } = collection;
  if (!primaryKey.autoIncrement || !records.some((record) => record.named.includes(primaryKey.name))) return;
  const max = maxGivenKey(primaryKey.type.storage);
  const statement = context.database.dialect.advanceKey(collection.table, requireColumn(primaryKey), max);
  if (statement) await transaction.run(bindFixed(context.database.dialect, statement));
}

function getInsertPlan(operation: WriteOperation, record: CheckedRecord, rows: number): WritePlan {
  const names = listColumnFields(operation.collection)
    .map((field) => field.name)
    .filter((name) => record.values[name] !== undefined);
  const { context, collection, request, grant } = operation;
  const key = `${collection.name}:create ${request.shape} ${rows} ${names.join()}`;
  return getCachedPlan(context, grant, key, () => planInsert(operation, names, rows));
}

/** Records in runs that name the same fields, at most `max` long: one statement inserts a run. */
function* groupByFields(records: readonly CheckedRecord[], max: number): Generator<RecordGroup> {
  let group: [CheckedRecord, ...CheckedRecord[]] | null = null;
  let fields = '';
  for (const record of records) {
    const fieldNames = Object.keys(record.values).sort().join();
    if (group && group.length < max && fieldNames === fields) {
      group.push(record);
      continue;
    }
    if (group) yield group;
    group = [record];
    fields = fieldNames;
  }
  if (group) yield group;
}

type RecordGroup = readonly [CheckedRecord, ...CheckedRecord[]];
