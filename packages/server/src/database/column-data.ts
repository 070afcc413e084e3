import type { Storage } from '../schema/field-type.ts';
import { bindFixed, type Database, type Transaction } from './database.ts';
import { parseRecordJson } from './json-column.ts';
import { identifier, join, sql, value } from './sql.ts';

/** Records in a table. */
export async function countRows(database: Database, transaction: Transaction, table: string): Promise<number> {
  const [row] = await transaction.run(bindFixed(database.dialect, sql`SELECT count(*) FROM ${identifier(table)}`));
  return Number(row![0]);
}

/** Gives every record of a table the same value in one column. */
export async function fillColumn(
  database: Database,
  transaction: Transaction,
  table: string,
  column: string,
  storage: Storage,
  canonical: unknown,
): Promise<void> {
  await transaction.run(
    bindFixed(
      database.dialect,
      sql`UPDATE ${identifier(table)} SET ${identifier(column)}=${value(storage, canonical)}`,
    ),
  );
}

/** A column of a table with the key of its rows. */
export interface KeyedColumn {
  readonly table: string;
  readonly key: { readonly column: string; readonly storage: Storage };
  readonly column: string;
  readonly storage: Storage;
}

/** Records that hold null in a column. */
export async function countNulls(
  database: Database,
  transaction: Transaction,
  { table, column }: Pick<KeyedColumn, 'table' | 'column'>,
): Promise<number> {
  const count = sql`SELECT count(*) FROM ${identifier(table)} WHERE ${identifier(column)} IS NULL`;
  const [row] = await transaction.run(bindFixed(database.dialect, count));
  return Number(row![0]);
}

/** Records that hold a value in a column. */
export async function countValues(
  database: Database,
  transaction: Transaction,
  { table, column }: Pick<KeyedColumn, 'table' | 'column'>,
): Promise<number> {
  const [row] = await transaction.run(
    bindFixed(database.dialect, sql`SELECT count(${identifier(column)}) FROM ${identifier(table)}`),
  );
  return Number(row![0]);
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
  const select = sql`SELECT ${selectedKey} FROM ${identifier(table)} WHERE ${identifier(column)} IS NOT NULL ORDER BY ${name} LIMIT ${limit}`;
  return (await transaction.run(bindFixed(dialect, select))).map((row) => row[0]);
}

/** Values that more than one record holds. @param where column that is null in the records that count; null: all. */
export async function countDuplicates(
  database: Database,
  transaction: Transaction,
  { table, column }: Pick<KeyedColumn, 'table' | 'column'>,
  where: string | null,
): Promise<number> {
  const name = identifier(column);
  const live = where === null ? sql`` : sql` AND ${identifier(where)} IS NULL`;
  const groups = sql`SELECT 1 FROM ${identifier(table)} WHERE ${name} IS NOT NULL${live} GROUP BY ${name} HAVING count(*)>1`;
  const [row] = await transaction.run(bindFixed(database.dialect, sql`SELECT count(*) FROM (${groups}) r`));
  return Number(row![0]);
}

/** Records whose value in a column stands in no row of another one. */
export async function countDangling(
  database: Database,
  transaction: Transaction,
  { table, column }: Pick<KeyedColumn, 'table' | 'column'>,
  referenced: Pick<KeyedColumn, 'table' | 'column'>,
): Promise<number> {
  const found = sql`SELECT 1 FROM ${identifier(referenced.table)} t WHERE t.${identifier(referenced.column)}=r.${identifier(column)}`;
  const dangling = sql`SELECT count(*) FROM ${identifier(table)} r WHERE r.${identifier(column)} IS NOT NULL AND NOT EXISTS (${found})`;
  const [row] = await transaction.run(bindFixed(database.dialect, dangling));
  return Number(row![0]);
}

/** Few enough that looking at them holds nobody up. */
const readBatchSize = 500;

/** The values of a column that are not null, by key, some hundreds at a time. */
export async function* readColumn(
  database: Database,
  transaction: Transaction,
  { table, key, column, storage }: KeyedColumn,
): AsyncGenerator<readonly { readonly key: unknown; readonly value: unknown }[]> {
  const { dialect } = database;
  const keyColumn = identifier(key.column);
  const doubles = storage === 'double' ? ['value'] : [];
  const selectedValue = dialect.object([dialect.member('value', storage, sql`${identifier(column)}`)]);
  const select = sql`SELECT ${dialect.scalar(key.storage, sql`${keyColumn}`)},${selectedValue} FROM ${identifier(table)} WHERE ${identifier(column)} IS NOT NULL`;
  for (let last: unknown = null; ; ) {
    const from = last === null ? sql`` : sql` AND ${keyColumn}>${value(key.storage, last)}`;
    const rows = await transaction.run(
      bindFixed(dialect, sql`${select}${from} ORDER BY ${keyColumn} LIMIT ${readBatchSize}`),
    );
    if (rows.length === 0) return;
    last = rows.at(-1)![0];
    yield rows.map((row) => ({ key: row[0], value: parseRecordJson(row[1] as string, doubles)['value'] }));
  }
}

/** Writes values by key, all by one statement. */
export async function writeValues(
  database: Database,
  transaction: Transaction,
  { table, key, column, storage }: KeyedColumn,
  written: readonly { readonly key: unknown; readonly value: unknown }[],
): Promise<void> {
  if (written.length === 0) return;
  const rows = written.map((each) => sql`(${value(key.storage, each.key)},${value(storage, each.value)})`);
  const update = sql`WITH w(k,v) AS (VALUES ${join(rows, ',')}) UPDATE ${identifier(table)} SET ${identifier(column)}=w.v FROM w WHERE ${identifier(table)}.${identifier(key.column)}=w.k`;
  await transaction.run(bindFixed(database.dialect, update));
}
