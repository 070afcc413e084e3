/**
 * Statements about imports, the rows that they refused, and which server runs them. A server leases an import while it runs
 * it. Each of its transactions renews the lease first, so that a server that lost the lease writes nothing more.
 */
import type { Database, Transaction } from './database.ts';
import { parseJsonColumn } from './json-column.ts';
import { insertRows } from './row-insert.ts';
import { createReader, createTxRunner, readNumberInTx } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

/** The states of an import. */
export const importStates = ['pending', 'running', 'done', 'failed', 'cancelled'] as const;
export type ImportState = (typeof importStates)[number];

const isOpen = sql`status IN ('pending','running')`;

/** How many rows an import has processed, and what has become of them. */
export interface ImportCounts {
  readonly processed: number;
  readonly created: number;
  readonly updated: number;
  readonly refused: number;
}

/** What is stored when an import begins. */
export interface NewImport {
  readonly collection: string;
  readonly filename: string | null;
  readonly format: string;
  readonly mode: string;
  readonly status: ImportState;
  /** The number of rows of the source; null: not known yet. */
  readonly rows: number | null;
  /** Who started it: `user:3` or `apiKey:7`. */
  readonly owner: string;
  readonly createdById: number | null;
  /** The source in the blob store. */
  readonly sha256: string;
  /** The options as the request named them, and further values that later transactions need. */
  readonly options: unknown;
  /** The names of the columns of the source. */
  readonly columns: readonly string[];
}

/** Stores an import. @param time ISO 8601. */
export async function insertImport(
  database: Database,
  transaction: Transaction,
  row: NewImport,
  time: string,
): Promise<number> {
  transaction.touch('imports');
  const isRunning = row.status !== 'pending';
  const what = sql`${value('text', row.collection)},${value('text', row.filename)},${value('text', row.format)},${value('text', row.mode)},${value('text', row.status)},${value('integer', row.rows)},0,0,0,0`;
  const who = sql`${value('text', row.owner)},${value('integer', row.createdById)},${value('text', row.sha256)},${value('json', row.options)},${value('json', row.columns)}`;
  const when = sql`${value('datetime', time)},${value('datetime', isRunning ? time : null)}`;
  return readNumberInTx(
    database,
    transaction,
    sql`INSERT INTO imports (collection,filename,format,mode,status,"rows",processed,created,updated,refused,owner,"createdById",sha256,options,columns,"createdAt","startedAt") VALUES (${what},${who},${when}) RETURNING id`,
  );
}

/** An import as a server runs it. */
export interface StoredImport extends ImportCounts {
  readonly id: number;
  readonly collection: string;
  readonly format: string;
  readonly status: ImportState;
  readonly rows: number | null;
  readonly sha256: string;
  readonly options: unknown;
  readonly columns: readonly string[];
}

/** Null if it does not exist. */
export async function readImport(database: Database, id: number): Promise<StoredImport | null> {
  const [row] = await createReader(database)(
    sql`SELECT collection,format,status,"rows",sha256,options,columns,processed,created,updated,refused FROM imports WHERE id=${value('integer', id)}`,
  );
  if (!row) return null;
  const [collection, format, status, rows, sha256, options, columns, processed, created, updated, refused] = row;
  return {
    id,
    collection: collection as string,
    format: format as string,
    status: status as ImportState,
    rows: rows === null ? null : Number(rows),
    sha256: sha256 as string,
    options: parseJsonColumn(options),
    columns: parseJsonColumn(columns) as string[],
    processed: Number(processed),
    created: Number(created),
    updated: Number(updated),
    refused: Number(refused),
  };
}

/** An import that has not ended. */
export interface OpenImport {
  readonly id: number;
  readonly owner: string;
  /** The server that runs it; null: none. */
  readonly leasedBy: string | null;
  /** ISO 8601. */
  readonly leasedUntil: string | null;
}

/** The imports that have not ended, the oldest first. */
export async function readOpenImports(
  database: Database,
  maxRows: number,
  transaction: Transaction | null = null,
): Promise<OpenImport[]> {
  const run = transaction ? createTxRunner(database, transaction) : createReader(database);
  const until = database.dialect.scalar('datetime', sql`"leasedUntil"`);
  const rows = await run(
    sql`SELECT id,owner,"leasedBy",${until} FROM imports WHERE ${isOpen} ORDER BY id LIMIT ${maxRows}`,
  );
  return rows.map(([id, owner, leasedBy, leasedUntil]) => ({
    id: Number(id),
    owner: owner as string,
    leasedBy: leasedBy as string | null,
    leasedUntil: leasedUntil as string | null,
  }));
}

/** The lease of a server. */
export interface ImportLease {
  readonly server: string;
  /** ISO 8601. */
  readonly now: string;
  readonly until: string;
}

/** Leases imports to a server, which runs them now. */
export async function leaseImports(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
  { server, now, until }: ImportLease,
): Promise<void> {
  transaction.touch('imports');
  const which = database.dialect.isIn(sql`id`, listValue('integer', ids));
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE imports SET status='running',"leasedBy"=${value('text', server)},"leasedUntil"=${value('datetime', until)},"startedAt"=COALESCE("startedAt",${value('datetime', now)}) WHERE ${which} AND ${isOpen}`,
  );
}

/**
 * Renews a lease. In a transaction, no other server and no cancel can end the import until the transaction ends.
 *
 * @returns how many rows are processed; null if the import has ended, or another server has the lease.
 */
export async function renewImportLease(
  database: Database,
  transaction: Transaction,
  id: number,
  { server, until }: Pick<ImportLease, 'server' | 'until'>,
): Promise<number | null> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE imports SET "leasedUntil"=${value('datetime', until)} WHERE id=${value('integer', id)} AND "leasedBy"=${value('text', server)} AND status='running' RETURNING processed`,
  );
  return row ? Number(row[0]) : null;
}

/** Releases leases, so that another server can continue immediately. */
export async function releaseImportLeases(database: Database, server: string): Promise<void> {
  await database.write((transaction) =>
    createTxRunner(
      database,
      transaction,
    )(
      sql`UPDATE imports SET "leasedBy"=NULL,"leasedUntil"=NULL WHERE ${isOpen} AND "leasedBy"=${value('text', server)}`,
    ),
  );
}

/** Stores the progress of an import. @param rows the number of rows of the source, if it is known now. */
export async function storeImportCounts(
  database: Database,
  transaction: Transaction,
  id: number,
  { processed, created, updated, refused, rows }: ImportCounts & { readonly rows: number | null },
): Promise<void> {
  transaction.touch('imports');
  const counts = sql`processed=${value('integer', processed)},created=${value('integer', created)},updated=${value('integer', updated)},refused=${value('integer', refused)}`;
  const total = rows === null ? sql`` : sql`,"rows"=${value('integer', rows)}`;
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE imports SET ${counts}${total} WHERE id=${value('integer', id)}`);
}

/** How an import ends. */
export interface ImportEnd {
  readonly status: 'done' | 'failed' | 'cancelled';
  readonly error: string | null;
  /** ISO 8601. */
  readonly time: string;
}

/** Ends an import. @returns whether it had not ended before. */
export async function endImport(
  database: Database,
  transaction: Transaction,
  id: number,
  { status, error, time }: ImportEnd,
): Promise<boolean> {
  transaction.touch('imports');
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE imports SET status=${value('text', status)},error=${value('text', error)},"endedAt"=${value('datetime', time)},"leasedBy"=NULL,"leasedUntil"=NULL WHERE id=${value('integer', id)} AND ${isOpen} RETURNING id`,
  );
  return rows.length > 0;
}

/** A row that an import has refused. */
export interface RefusedRow {
  /** The line of the source on which the row begins; of JSON, the position of the record, counted from 1. */
  readonly line: number;
  /** The name of the column and of the field that the reason is about; null: the whole row. */
  readonly column: string | null;
  readonly field: string | null;
  readonly value: string | null;
  readonly reason: string;
  /** Further problems of the row. */
  readonly others: readonly Pick<RefusedRow, 'column' | 'field' | 'value' | 'reason'>[];
  /** The texts of all cells of the row, in the order of the columns. */
  readonly cells: readonly (string | null)[];
}

/** A refused row as it is stored: its reason contains all problems. */
type StoredRefusedRow = Omit<RefusedRow, 'others'>;

/** Stores refused rows. */
export async function insertRefusedRows(
  database: Database,
  transaction: Transaction,
  importId: number,
  rows: readonly StoredRefusedRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await insertRows(
    createTxRunner(database, transaction),
    database.dialect,
    'importRefusedRows',
    [
      ['importId', 'integer'],
      ['line', 'integer'],
      ['column', 'text'],
      ['field', 'text'],
      ['value', 'text'],
      ['reason', 'text'],
      ['cells', 'json'],
    ],
    rows.map((row) => [importId, row.line, row.column, row.field, row.value, row.reason, row.cells]),
  );
}

/** The refused rows of an import after a position, in the order of the source. @returns the rows with their positions. */
export async function readRefusedRows(
  database: Database,
  importId: number,
  after: string,
  maxRows: number,
): Promise<(StoredRefusedRow & { readonly position: string })[]> {
  const rows = await createReader(database)(
    sql`SELECT id,line,"column",field,value,reason,cells FROM "importRefusedRows" WHERE "importId"=${value('integer', importId)} AND id>${value('bigint', after)} ORDER BY id LIMIT ${maxRows}`,
  );
  return rows.map(([id, line, column, field, text, reason, cells]) => ({
    position: String(id),
    line: Number(line),
    column: column as string | null,
    field: field as string | null,
    value: text as string | null,
    reason: reason as string,
    cells: parseJsonColumn(cells) as (string | null)[],
  }));
}

/** Imports that ended before a time, ISO 8601. */
export async function findEndedImports(database: Database, before: string, maxRows: number): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT id FROM imports WHERE "endedAt"<${value('datetime', before)} ORDER BY "endedAt" LIMIT ${maxRows}`,
  );
  return rows.map(([id]) => Number(id));
}

/** Deletes some refused rows of an import. @returns how many. */
export async function deleteRefusedRows(database: Database, importId: number, maxRows: number): Promise<number> {
  const some = sql`SELECT id FROM "importRefusedRows" WHERE "importId"=${value('integer', importId)} LIMIT ${maxRows}`;
  const rows = await database.write((transaction) =>
    createTxRunner(database, transaction)(sql`DELETE FROM "importRefusedRows" WHERE id IN (${some}) RETURNING id`),
  );
  return rows.length;
}

/** Deletes an import. */
export async function deleteImport(database: Database, transaction: Transaction, id: number): Promise<void> {
  transaction.touch('imports');
  await createTxRunner(database, transaction)(sql`DELETE FROM imports WHERE id=${value('integer', id)}`);
}

/** Which of the blobs are sources of imports. */
export async function findImportBlobs(database: Database, sha256s: readonly string[]): Promise<ReadonlySet<string>> {
  const isWanted: Sql = database.dialect.isIn(sql`sha256`, listValue('text', sha256s));
  const rows = await createReader(database)(sql`SELECT DISTINCT sha256 FROM imports WHERE ${isWanted}`);
  return new Set(rows.map(([name]) => name as string));
}

/**
 * Makes sure that an uploaded file still exists, and that no sweep deletes its bytes before the transaction ends.
 *
 * @returns whether it exists.
 */
export async function holdFile(database: Database, transaction: Transaction, id: number): Promise<boolean> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE files SET size=size WHERE id=${value('integer', id)} RETURNING id`);
  return rows.length > 0;
}
