/** Statements about tombstones: copies of the data of destroyed fields and collections, each in a table of its own. */
import type { Database, Transaction } from './database.ts';
import { createRunner, createTxRunner, readNumberInTx } from './run-statement.ts';
import { identifier, listValue, sql, value } from './sql.ts';

/** A copy of the data of a destroyed field, or of a destroyed collection with its records. */
export interface DataTombstone {
  readonly id: number;
  /** The portable id of the field or collection. */
  readonly item: string;
  /** Its former name, such as `posts.title`. */
  readonly name: string;
  readonly table: string;
  readonly columns: unknown;
  readonly records: number;
  readonly at: string;
  readonly expires: string;
}

type DataTombstoneRow = [unknown, string, string, string, string, unknown, string, string];

/** The tombstones of definitions, newest first. @param items null: of all. */
export async function readTombstones(
  database: Database,
  transaction: Transaction | null,
  items: readonly string[] | null,
): Promise<DataTombstone[]> {
  const isWanted = items === null ? sql`1=1` : database.dialect.isIn(sql`item`, listValue('text', items));
  const rows = await createRunner(
    database,
    transaction,
  )<DataTombstoneRow>(
    sql`SELECT id,item,name,table_name,columns,records,at,expires FROM _schema_tombstones WHERE ${isWanted}
ORDER BY id DESC`,
  );
  return rows.map(([id, item, name, table, columns, records, at, expires]) => ({
    id: Number(id),
    item,
    name,
    table,
    columns: JSON.parse(columns),
    records: Number(records),
    at,
    expires,
  }));
}

/**
 * The data that a tombstone copies: the columns of a table, or all of them; and only the rows that have a value in the
 * last column.
 */
export interface TombstoneSource {
  readonly table: string;
  /** Null: the whole table. */
  readonly columns: readonly [key: string, column: string] | null;
}

/** Stores a tombstone and copies its data. */
export async function insertTombstone(
  database: Database,
  transaction: Transaction,
  tombstone: Omit<DataTombstone, 'id' | 'table' | 'records'>,
  source: TombstoneSource,
): Promise<void> {
  const run = createTxRunner(database, transaction);
  const { item, name, columns, at, expires } = tombstone;
  const what = sql`${value('text', item)},${value('text', name)},'',${value('text', JSON.stringify(columns))}`;
  const insert = sql`INSERT INTO _schema_tombstones (item,name,table_name,columns,records,at,expires)
VALUES (${what},0,${value('text', at)},${value('text', expires)}) RETURNING id`;
  const id = await readNumberInTx(database, transaction, insert);
  const table = `_tombstone_${id}`;
  const [key = '', column = ''] = source.columns ?? [];
  const select = source.columns
    ? sql`SELECT ${identifier(key)},${identifier(column)} FROM ${identifier(source.table)} WHERE ${identifier(column)} IS NOT NULL`
    : sql`SELECT * FROM ${identifier(source.table)}`;
  await run(sql`CREATE TABLE ${identifier(table)} AS ${select}`);
  const count = sql`(SELECT count(*) FROM ${identifier(table)})`;
  await run(sql`UPDATE _schema_tombstones SET table_name=${value('text', table)},records=${count}
WHERE id=${value('integer', id)}`);
}

/** Deletes tombstones with their data. */
export async function deleteTombstones(
  database: Database,
  transaction: Transaction,
  tombstones: readonly Pick<DataTombstone, 'id' | 'table'>[],
): Promise<void> {
  const run = createTxRunner(database, transaction);
  for (const { id, table } of tombstones) {
    await run(sql`DROP TABLE ${identifier(table)}`);
    await run(sql`DELETE FROM _schema_tombstones WHERE id=${value('integer', id)}`);
  }
}

/** Deletes the tombstones whose time has passed. @param now ISO 8601. */
export async function deleteExpiredTombstones(database: Database, now: string): Promise<void> {
  const isExpired = ({ expires }: DataTombstone): boolean => expires <= now;
  if (!(await readTombstones(database, null, null)).some(isExpired)) return;
  await database.write(async (transaction) => {
    const all = await readTombstones(database, transaction, null);
    await deleteTombstones(database, transaction, all.filter(isExpired));
  });
}

/** A column of a tombstone, and the column of a table that gets its values. */
export interface RestoredColumn {
  readonly from: string;
  readonly to: string;
}

/** Inserts the rows of a tombstone. @param times columns that it lacks, and that get one time in all rows. */
export async function insertFromTombstone(
  database: Database,
  transaction: Transaction,
  { source, table }: { readonly source: string; readonly table: string },
  {
    columns,
    times,
    now,
  }: { readonly columns: readonly RestoredColumn[]; readonly times: readonly string[]; readonly now: string },
): Promise<void> {
  const names = [...columns.map(({ to }) => to), ...times].map(identifier).join(',');
  const time = times.map(() => sql`,${value('datetime', now)}`).reduce((list, each) => sql`${list}${each}`, sql``);
  const values = columns.map(({ from }) => identifier(from)).join(',');
  const run = createTxRunner(database, transaction);
  await run(sql`INSERT INTO ${identifier(table)} (${names}) SELECT ${values}${time} FROM ${identifier(source)}`);
}

/** Moves generated keys of a table past those that it has. */
export async function advanceKeys(
  database: Database,
  transaction: Transaction,
  { table, column, max }: { readonly table: string; readonly column: string; readonly max: bigint },
): Promise<void> {
  const advance = database.dialect.advanceKey(table, column, max);
  if (advance) await createTxRunner(database, transaction)(advance);
}

/** Indexes the rows of a tombstone by their key. */
export async function indexTombstone(
  database: Database,
  transaction: Transaction,
  source: string,
  key: string,
): Promise<void> {
  const run = createTxRunner(database, transaction);
  await run(sql`CREATE INDEX ${identifier(`${source}_key`)} ON ${identifier(source)} (${identifier(key)})`);
}

/** The column that a foreign key refers to. */
export interface RestoredTarget {
  readonly table: string;
  readonly column: string;
}

/** Fills a column from a tombstone, by the key of the rows. @param target values that are missing there are left out; null: none are. */
export async function fillFromTombstone(
  database: Database,
  transaction: Transaction,
  { source, table, key }: { readonly source: string; readonly table: string; readonly key: RestoredColumn },
  { from, to, target }: RestoredColumn & { readonly target: RestoredTarget | null },
): Promise<void> {
  const [copy, own] = [identifier(source), identifier(table)];
  const select = sql`SELECT t.${identifier(from)} FROM ${copy} t WHERE t.${identifier(key.from)}=${own}.${identifier(key.to)}`;
  const exists = target
    ? sql` AND EXISTS (SELECT 1 FROM ${identifier(target.table)} g WHERE g.${identifier(target.column)}=t.${identifier(from)})`
    : sql``;
  const isKept = sql`${identifier(key.to)} IN (SELECT ${identifier(key.from)} FROM ${copy})`;
  const run = createTxRunner(database, transaction);
  await run(sql`UPDATE ${own} SET ${identifier(to)}=(${select}${exists}) WHERE ${isKept}`);
}
