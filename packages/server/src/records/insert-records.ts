import { bind, fixed, type Row, StaleVersion, type Transaction } from '../database/database.ts';
import { maxGivenKey } from '../schema/number-ranges.ts';
import { columnsOf } from '../schema/registry.ts';
import { keysOf, writeHistory } from './history.ts';
import { sortFieldsOf } from './places.ts';
import { keptPlan, planContext } from './record-context.ts';
import type { CheckedRecord } from './record-input.ts';
import type { RuledBody } from './record-rules.ts';
import { checkReferences } from './reference-check.ts';
import { resultColumns as at, planInsert, type WritePlan } from './write-plan.ts';
import { alone, environmentOf, eventOf, finish, isPlain, lookedAt, type Target, transact } from './write-steps.ts';

/** Writes checked records, all or none. */
export async function insertAll(
  target: Target,
  records: readonly CheckedRecord[],
  ruled: readonly RuledBody[],
): Promise<Row[]> {
  const { context, collection } = target;
  const [first] = records;
  if (records.length === 1 && first && isPlain(target, first)) {
    const plan = insertPlan(target, first, 1);
    if (plan.alone)
      return alone(
        target,
        plan.alone,
        environmentOf(target, { values: [first.values], event: eventOf(target, first.named) }),
      );
  }
  return transact(target, async (transaction) => {
    transaction.touch(collection.table);
    await checkReferences(context, collection, records, (statement) => transaction.run(statement));
    const rows: Row[] = [];
    // Each place is the one after the last.
    const most = sortFieldsOf(collection).length > 0 ? 1 : context.database.dialect.rowsPerInsert;
    for (const chunk of chunks(records, most)) {
      rows.push(...(await insertChunk(target, chunk, transaction)));
      await advanceKey(target, chunk, transaction);
    }
    for (const [index, each] of ruled.entries()) await each.beside?.(transaction, rows[index]![at.key]);
    await finish(target, transaction, 'created', rows, [...new Set(records.flatMap((record) => record.named))]);
    await writeHistory(target, transaction, 'created', keysOf(rows), null);
    return rows;
  });
}

/** The sequences of PostgreSQL do not see keys that are given; SQLite sees them. */
async function advanceKey(
  { context, collection }: Target,
  records: readonly CheckedRecord[],
  transaction: Transaction,
): Promise<void> {
  const { primaryKey } = collection;
  if (!primaryKey.autoIncrement || !records.some((record) => record.named.includes(primaryKey.name))) return;
  const max = maxGivenKey(primaryKey.type.storage);
  const statement = context.database.dialect.advanceKey(collection.table, primaryKey.column!, max);
  if (statement) await transaction.run(fixed(context.database.dialect, statement));
}

function insertPlan(target: Target, record: CheckedRecord, rows: number): WritePlan {
  const names = columnsOf(target.collection)
    .map((field) => field.name)
    .filter((name) => record.values[name] !== undefined);
  const { context, collection, request, grant } = target;
  const key = `${collection.name}:create ${request.shape} ${rows} ${names.join()}`;
  return keptPlan(context, grant, key, () => planInsert(request, collection, grant, names, rows, planContext(context)));
}

async function insertChunk(target: Target, chunk: readonly CheckedRecord[], transaction: Transaction): Promise<Row[]> {
  const plan = insertPlan(target, chunk[0]!, chunk.length);
  const environment = environmentOf(target, { values: chunk.map((record) => record.values) });
  const written = await transaction.run(bind(target.context.database.dialect, plan.statement, environment));
  if (written.length < chunk.length) throw new StaleVersion();
  return lookedAt(target, plan, written, transaction);
}

/** Runs of records that give the same fields, so that one statement serves a run. */
function* chunks(records: readonly CheckedRecord[], most: number): Generator<readonly CheckedRecord[]> {
  let run: CheckedRecord[] = [];
  let fields = '';
  for (const record of records) {
    const own = Object.keys(record.values).sort().join();
    if (run.length === most || (run.length > 0 && own !== fields)) {
      yield run;
      run = [];
    }
    fields = own;
    run.push(record);
  }
  if (run.length > 0) yield run;
}
