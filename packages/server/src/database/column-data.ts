import type { Storage } from '../schema/field-type.ts';
import { bindFixed, type Database, type Transaction } from './database.ts';
import { parseRecordJson } from './json-column.ts';
import { readNumberInTx } from './run-statement.ts';
import { identifier, join, sql, value } from './sql.ts';

/** The number of records in a table. */
export async function countRows(database: Database, transaction: Transaction, table: string): Promise<number> {
  return readNumberInTx(database, transaction, sql`SELECT count(*) FROM ${identifier(table)}`);
}

/** Sets one column of every record of a table to the same value. */
export async function fillColumn(
  database: Database,
  transaction: Transaction,
  { table, column, storage }: Pick<KeyedColumn, 'table' | 'column' | 'storage'>,
  canonical: unknown,
): Promise<void> {
  const update = sql`UPDATE ${identifier(table)} SET ${identifier(column)}=${value(storage, canonical)}`;
  await transaction.run(bindFixed(database.dialect, update));
}

/** A column of a table with the key of its rows. */
export interface KeyedColumn {
  readonly table: string;
  readonly key: { readonly column: string; readonly storage: Storage };
  readonly column: string;
  readonly storage: Storage;
}

/** The number of records that hold null in a column. */
export async function countNulls(
  database: Database,
  transaction: Transaction,
  { table, column }: Pick<KeyedColumn, 'table' | 'column'>,
): Promise<number> {
  const count = sql`SELECT count(*) FROM ${identifier(table)} WHERE ${identifier(column)} IS NULL`;
  return readNumberInTx(database, transaction, count);
}

/** The number of records that hold a value in a column. */
export async function countValues(
  database: Database,
  transaction: Transaction,
  { table, column }: Pick<KeyedColumn, 'table' | 'column'>,
): Promise<number> {
  return readNumberInTx(database, transaction, sql`SELECT count(${identifier(column)}) FROM ${identifier(table)}`);
}

/** The keys of the first records, by key, that hold a value in a column. */
export async function readKeysWithValue(
  { dialect }: Database,
  transaction: Transaction,
  { table, key, column }: Omit<KeyedColumn, 'storage'>,
  limit: number,
): Promise<unknown[]> {
  const name = identifier(key.column);
  const selectedKey = dialect.scalar(key.storage, sql`${name}`);
  const select = sql`SELECT ${selectedKey} FROM ${identifier(table)} WHERE ${identifier(column)} IS NOT NULL
ORDER BY ${name} LIMIT ${limit}`;
  return (await transaction.run(bindFixed(dialect, select))).map((row) => row[0]);
}

/**
 * The number of values that more than one record holds.
 *
 * @param where only records in which this column is null count; null: all.
 */
export async function countDuplicates(
  database: Database,
  transaction: Transaction,
  { table, column }: Pick<KeyedColumn, 'table' | 'column'>,
  where: string | null,
): Promise<number> {
  const name = identifier(column);
  const live = where === null ? sql`` : sql` AND ${identifier(where)} IS NULL`;
  const groups = sql`SELECT 1 FROM ${identifier(table)} WHERE ${name} IS NOT NULL${live}
GROUP BY ${name} HAVING count(*)>1`;
  return readNumberInTx(database, transaction, sql`SELECT count(*) FROM (${groups}) r`);
}

/** The number of records whose value in a column is in no row of the referenced column. */
export async function countDangling(
  database: Database,
  transaction: Transaction,
  { table, column }: Pick<KeyedColumn, 'table' | 'column'>,
  referenced: Pick<KeyedColumn, 'table' | 'column'>,
): Promise<number> {
  const [name, referencedName] = [identifier(column), identifier(referenced.column)];
  const found = sql`SELECT 1 FROM ${identifier(referenced.table)} t WHERE t.${referencedName}=r.${name}`;
  const dangling = sql`SELECT count(*) FROM ${identifier(table)} r WHERE r.${name} IS NOT NULL
AND NOT EXISTS (${found})`;
  return readNumberInTx(database, transaction, dangling);
}

/** Few enough that one batch delays no other statement. */
const readBatchSize = 500;

/** Reads the values of a column that are not null, with their keys, in batches sorted by key. */
export async function* readColumn(
  database: Database,
  transaction: Transaction,
  { table, key, column, storage }: KeyedColumn,
): AsyncGenerator<readonly { readonly key: unknown; readonly value: unknown }[]> {
  const { dialect } = database;
  const keyColumn = identifier(key.column);
  const doubles = storage === 'double' ? ['value'] : [];
  const selectedValue = dialect.object([dialect.member('value', storage, sql`${identifier(column)}`)]);
  const selectedKey = dialect.scalar(key.storage, sql`${keyColumn}`);
  const select = sql`SELECT ${selectedKey},${selectedValue} FROM ${identifier(table)}
WHERE ${identifier(column)} IS NOT NULL`;
  for (let last: unknown = null; ; ) {
    const from = last === null ? sql`` : sql` AND ${keyColumn}>${value(key.storage, last)}`;
    const rows = await transaction.run(
      bindFixed(dialect, sql`${select}${from} ORDER BY ${keyColumn} LIMIT ${readBatchSize}`),
    );
    const lastRow = rows.at(-1);
    if (!lastRow) return;
    [last] = lastRow;
    yield rows.map((row) => ({ key: row[0], value: parseRecordJson(row[1] as string, doubles)['value'] }));
  }
}

/** Writes values by key, in one statement. */
export async function writeValues(
  database: Database,
  transaction: Transaction,
  { table, key, column, storage }: KeyedColumn,
  written: readonly { readonly key: unknown; readonly value: unknown }[],
): Promise<void> {
  if (written.length === 0) return;
  const rows = written.map((each) => sql`(${value(key.storage, each.key)},${value(storage, each.value)})`);
  const updated = identifier(table);
  const update = sql`WITH w(k,v) AS (VALUES ${join(rows, ',')}) UPDATE ${updated} SET ${identifier(column)}=w.v
FROM w WHERE ${updated}.${identifier(key.column)}=w.k`;
  await transaction.run(bindFixed(database.dialect, update));
}
