/** Runs single statements of the server itself, outside of a transaction or in one. */
import { bindFixed, type Database, type Row, type Transaction } from './database.ts';
import type { Sql } from './sql.ts';

/**
 * Runs a statement and returns its rows. `Values` names the selected columns in their order, in the form in which the
 * engines return them: `run<[id: number, name: string]>(sql`SELECT id,name FROM roles`)`. PostgreSQL returns bigints as
 * text and SQLite returns booleans as 0 and 1, so numbers and booleans are still converted.
 */
export type RunStatement = <Values extends Row = Row>(statement: Sql) => Promise<Values[]>;

/** The part of a {@link Database} that reads. */
export type ReadableStore = Pick<Database, 'dialect' | 'read'>;

/** Runs a read statement outside of any transaction. */
export async function readRows<Values extends Row = Row>(database: ReadableStore, statement: Sql): Promise<Values[]> {
  const [rows = []] = await database.read([bindFixed(database.dialect, statement)]);
  return rows as Values[];
}

/** Runs a statement in a transaction. */
export async function runInTransaction<Values extends Row = Row>(
  database: Pick<Database, 'dialect'>,
  transaction: Transaction,
  statement: Sql,
): Promise<Values[]> {
  return (await transaction.run(bindFixed(database.dialect, statement))) as Values[];
}

/** Returns a function that runs read statements outside of any transaction. */
export function createReader(database: ReadableStore): RunStatement {
  return (statement) => readRows(database, statement);
}

/** Returns a function that runs statements in a transaction. */
export function createTxRunner(database: Pick<Database, 'dialect'>, transaction: Transaction): RunStatement {
  return (statement) => runInTransaction(database, transaction, statement);
}

/** Returns a function that runs statements in a transaction; without one, it runs read statements outside of any. */
export function createRunner(database: ReadableStore, transaction: Transaction | null | undefined): RunStatement {
  return transaction ? createTxRunner(database, transaction) : createReader(database);
}

/** Runs a statement in a transaction that returns one number, such as a count or the id of an INSERT. */
export async function readNumberInTx(database: Database, transaction: Transaction, statement: Sql): Promise<number> {
  const [number] = requireRow(await runInTransaction<[number: unknown]>(database, transaction, statement));
  return Number(number);
}

/** The row of a statement that always returns one, such as a count or an INSERT with RETURNING. */
export function requireRow<Values>(rows: readonly Values[]): Values {
  const [row] = rows;
  if (row === undefined) throw new Error('the statement returned no row');
  return row;
}
