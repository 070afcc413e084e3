import { bind, bindFixed, type Row, StaleVersion, type Transaction } from '../../database/database.ts';
import { maxGivenKey } from '../../schema/number-ranges.ts';
import { listColumnFields } from '../../schema/registry.ts';
import { getCachedPlan, toPlanContext } from '../record-context.ts';
import type { PreparedBody } from '../record-rules.ts';
import { resultKeys, writeHistory } from './history.ts';
import type { CheckedRecord } from './record-input.ts';
import { checkReferences } from './reference-check.ts';
import { findSortFields } from './sort-columns.ts';
import { resultColumns as COLUMN, planInsert, type WritePlan } from './write-plan.ts';
import {
  autocommit,
  buildWriteEnvironment,
  buildWriteEvent,
  canAutocommit,
  finishWrite,
  readBackRows,
  type WriteOperation,
  writeInTransaction,
} from './write-steps.ts';

/** Writes checked records, all or none. */
export async function insertAll(
  operation: WriteOperation,
  records: readonly CheckedRecord[],
  preparedBodies: readonly PreparedBody[],
): Promise<Row[]> {
  const { context, collection } = operation;
  const [first] = records;
  if (records.length === 1 && first && canAutocommit(operation, first)) {
    const plan = getInsertPlan(operation, first, 1);
    if (plan.autocommit)
      return autocommit(
        operation,
        plan.autocommit,
        buildWriteEnvironment(operation, { values: [first.values], event: buildWriteEvent(operation, first.named) }),
      );
  }
  return writeInTransaction(operation, async (transaction) => {
    transaction.touch(collection.table);
    await checkReferences(context, collection, records, (statement) => transaction.run(statement));
    const rows: Row[] = [];
    // Each place is the one after the last.
    const max = findSortFields(collection).length > 0 ? 1 : context.database.dialect.rowsPerInsert;
    for (const chunk of groupByFields(records, max)) {
      rows.push(...(await insertChunk(operation, chunk, transaction)));
      await advanceKey(operation, chunk, transaction);
    }
    for (const [index, each] of preparedBodies.entries())
      await each.afterWrite?.(transaction, rows[index]![COLUMN.key]);
    await finishWrite(operation, transaction, 'created', rows, [...new Set(records.flatMap((record) => record.named))]);
    await writeHistory(operation, transaction, 'created', resultKeys(rows), null);
    return rows;
  });
}

/** The sequences of PostgreSQL do not see keys that are given; SQLite sees them. */
async function advanceKey(
  { context, collection }: WriteOperation,
  records: readonly CheckedRecord[],
  transaction: Transaction,
): Promise<void> {
  const { primaryKey } = collection;
  if (!primaryKey.autoIncrement || !records.some((record) => record.named.includes(primaryKey.name))) return;
  const max = maxGivenKey(primaryKey.type.storage);
  const statement = context.database.dialect.advanceKey(collection.table, primaryKey.column!, max);
  if (statement) await transaction.run(bindFixed(context.database.dialect, statement));
}

function getInsertPlan(operation: WriteOperation, record: CheckedRecord, rows: number): WritePlan {
  const names = listColumnFields(operation.collection)
    .map((field) => field.name)
    .filter((name) => record.values[name] !== undefined);
  const { context, collection, request, grant } = operation;
  const key = `${collection.name}:create ${request.shape} ${rows} ${names.join()}`;
  return getCachedPlan(context, grant, key, () =>
    planInsert(request, collection, grant, names, rows, toPlanContext(context)),
  );
}

async function insertChunk(
  operation: WriteOperation,
  chunk: readonly CheckedRecord[],
  transaction: Transaction,
): Promise<Row[]> {
  const plan = getInsertPlan(operation, chunk[0]!, chunk.length);
  const environment = buildWriteEnvironment(operation, { values: chunk.map((record) => record.values) });
  const written = await transaction.run(bind(operation.context.database.dialect, plan.statement, environment));
  if (written.length < chunk.length) throw new StaleVersion();
  return readBackRows(operation, plan, written, transaction);
}

/** Runs of records that give the same fields, so that one statement serves a run. */
function* groupByFields(records: readonly CheckedRecord[], max: number): Generator<readonly CheckedRecord[]> {
  let group: CheckedRecord[] = [];
  let fields = '';
  for (const record of records) {
    const fieldNames = Object.keys(record.values).sort().join();
    if (group.length === max || (group.length > 0 && fieldNames !== fields)) {
      yield group;
      group = [];
    }
    fields = fieldNames;
    group.push(record);
  }
  if (group.length > 0) yield group;
}
