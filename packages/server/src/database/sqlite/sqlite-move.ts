/** The stores of an application in SQLite files, as a move reads and builds them. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncToDisk } from '../../base/sync-to-disk.ts';
import { readDecimalScale, type Storage } from '../../schema/field-type.ts';
import { auditTables, createAuditStatements } from '../audit-tables.ts';
import { type BoundStatement, DatabaseFault, type Row, type Transaction } from '../database.ts';
import { indexedEmails } from '../mail/index-rows.ts';
import type { MovedVersions, MoveReader, MoveTarget, NewTable, RowChanges } from '../move/move-stores.ts';
import {
  chooseBatchSize,
  compareRowKeys,
  isInRange,
  type KeyRange,
  type MovedColumn,
  type MovedRow,
  type MovedTable,
  toDoubleText,
  wholeTable,
} from '../move/moved-table.ts';
import { identifier, Sql } from '../sql.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { removeSqlite } from './store-files.ts';

/** The files of the database and of the audit journal. */
export interface SqliteMoveFiles {
  readonly database: string;
  readonly journal: string;
}

/** A column as text that is equal on every engine. Doubles are converted by {@link toDoubleText}. */
function selectText({ name, storage }: MovedColumn): string {
  const column = identifier(name);
  const scale = readDecimalScale(storage);
  if (scale !== null) return textOf(sqliteDialect.scalar(storage, new Sql([column])));
  if (storage === 'integer' || storage === 'bigint' || storage === 'boolean') return `CAST(${column} AS TEXT)`;
  return column;
}

/** The text of a fragment without parameters. */
function textOf({ parts }: Sql): string {
  return parts.join('');
}

function toMovedRow(columns: readonly MovedColumn[], row: Row): MovedRow {
  return row.map((each, index) => {
    if (each === null) return null;
    return columns[index]?.storage === 'double' ? toDoubleText(each as number) : (each as string);
  });
}

/** The text of a value as SQLite stores it. */
function toStored(storage: Storage, text: string | null): string | bigint | number | null {
  if (text === null) return null;
  if (storage === 'integer' || storage === 'bigint' || storage === 'boolean') return BigInt(text);
  if (readDecimalScale(storage) !== null) return BigInt(text.replace('.', ''));
  return storage === 'double' ? Number(text) : text;
}

/** Reads the files while a server may write them. */
export class SqliteMoveReader implements MoveReader {
  protected readonly main: SqliteConnection;
  readonly #openJournal: () => SqliteConnection | null;
  #journal: SqliteConnection | null = null;

  constructor(
    { database, journal }: SqliteMoveFiles,
    options: { readonly readOnly?: boolean; readonly foreignKeys?: boolean } = { readOnly: true },
  ) {
    if (options.readOnly && !existsSync(database)) throw new Error(`The database file "${database}" does not exist.`);
    this.#openJournal = () =>
      options.readOnly && !existsSync(journal) ? null : new SqliteConnection(journal, options);
    this.main = new SqliteConnection(database, options);
    try {
      this.#journal = this.#openJournal();
    } catch (error) {
      this.main.close();
      throw error;
    }
  }

  /** Null: the application has no journal yet. Its first administrative action creates it, also during a move. */
  protected get journal(): SqliteConnection | null {
    this.#journal ??= this.#openJournal();
    return this.#journal;
  }

  async *rows(table: MovedTable, range: KeyRange = wholeTable): AsyncGenerator<readonly MovedRow[]> {
    const connection = this.connectionOf(table);
    if (!connection || !hasTable(connection, table.table)) return;
    const { columns, key } = table;
    const order = key.map(({ name }) => `${identifier(name)} NULLS LAST`).join(',');
    const select = `SELECT ${columns.map(selectText).join(',')} FROM ${identifier(table.table)}`;
    const [only] = key;
    if (!only || key.length > 1) {
      const rows = run(connection, `${select} ORDER BY ${order}`).map((row) => toMovedRow(columns, row));
      yield range === wholeTable ? rows : rows.filter((row) => isInRange(table, row, range));
      return;
    }
    const keyIndex = columns.indexOf(only);
    const bound = (operator: string, value: string | null): { text: string; values: unknown[] } =>
      value === null
        ? { text: 'TRUE', values: [] }
        : { text: `${identifier(only.name)}${operator}?`, values: [toStored(only.storage, value)] };
    const until = bound('<=', range.until?.[0] ?? null);
    let last = range.after?.[0] ?? null;
    for (let limit = 100; ; ) {
      const after = bound('>', last);
      const rows: MovedRow[] = run(
        connection,
        `${select} WHERE ${after.text} AND ${until.text} ORDER BY ${identifier(only.name)} LIMIT ?`,
        [...after.values, ...until.values, BigInt(limit)],
      ).map((row) => toMovedRow(columns, row));
      if (rows.length > 0) yield rows;
      if (rows.length < limit) return;
      last = rows.at(-1)?.[keyIndex] ?? null;
      limit = chooseBatchSize(rows);
      // Other work of the process is not delayed by a large table.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async rowsOf(table: MovedTable, keys: readonly string[]): Promise<MovedRow[]> {
    return this.selectRows(table, keys, 'main');
  }

  /** @param schema the name of an attached database. */
  protected selectRows(table: MovedTable, keys: readonly string[], schema: string): MovedRow[] {
    const connection = this.connectionOf(table);
    const [key] = table.key;
    if (!connection || !key) return [];
    const select = `SELECT ${table.columns.map(selectText).join(',')} FROM ${schema}.${identifier(table.table)} WHERE ${identifier(key.name)}=?`;
    return keys
      .flatMap((each) => run(connection, select, [toStored(key.storage, each)]))
      .map((row) => toMovedRow(table.columns, row))
      .sort((one, other) => compareRowKeys(table, one, other));
  }

  async versions(): Promise<MovedVersions> {
    const [meta] = run(this.main, 'SELECT CAST(version AS TEXT),CAST(schema_version AS TEXT) FROM _meta');
    const [migration] = run(this.main, 'SELECT max(number) FROM _migrations');
    return { version: meta?.[0] as string, schema: meta?.[1] as string, store: Number(migration?.[0] ?? 0) };
  }

  async lastGenerated({ table, generated }: MovedTable): Promise<bigint | null> {
    const [noted] = run(this.main, 'SELECT CAST(max(seq) AS TEXT) FROM sqlite_sequence WHERE name=?', [table]);
    const name = identifier(generated ?? 'id');
    const [largest] = run(this.main, `SELECT CAST(max(${name}) AS TEXT) FROM ${identifier(table)}`);
    const found = [noted?.[0], largest?.[0]].flatMap((each) => (typeof each === 'string' ? [BigInt(each)] : []));
    return found.length === 0 ? null : found.reduce((one, other) => (one > other ? one : other));
  }

  async close(): Promise<void> {
    this.main.close();
    this.#journal?.close();
  }

  protected connectionOf({ isJournal }: MovedTable): SqliteConnection | null {
    return isJournal ? this.journal : this.main;
  }
}

/** Builds new files. */
export class SqliteMoveTarget extends SqliteMoveReader implements MoveTarget {
  readonly dialect = sqliteDialect;

  private constructor(files: SqliteMoveFiles) {
    super(files, { foreignKeys: false });
    for (const each of [this.main, this.#requireJournal()]) each.script('PRAGMA wal_autocheckpoint=2000');
  }

  static async open(files: SqliteMoveFiles): Promise<SqliteMoveTarget> {
    await mkdir(dirname(files.database), { recursive: true, mode: 0o700 });
    return new SqliteMoveTarget(files);
  }

  #requireJournal(): SqliteConnection {
    if (!this.journal) throw new Error('the journal was not opened');
    return this.journal;
  }

  read(statements: readonly BoundStatement[]): Row[][] {
    return statements.map((each) => this.main.run(each));
  }

  async createFixedTables(): Promise<void> {
    await this.inTransaction(async () => {
      for (const [table, statements] of Object.entries(sqliteDialect.catalogue))
        if (!hasTable(this.main, table)) for (const each of statements) run(this.main, textOf(each));
    });
    const journal = this.#requireJournal();
    if (Object.keys(auditTables).every((table) => hasTable(journal, table))) return;
    await inTransactionOf(journal, async () => {
      for (const each of createAuditStatements(sqliteDialect)) run(journal, textOf(each));
    });
  }

  /** SQLite checks foreign keys in {@link relate} only. */
  async beginCopy(): Promise<void> {
    run(this.main, 'DELETE FROM _meta');
  }

  async createTable({ table, columns, indexes }: NewTable): Promise<void> {
    await this.inTransaction(async () => {
      run(this.main, `DROP TABLE IF EXISTS ${identifier(table)}`);
      for (const each of sqliteDialect.createTable(table, columns, indexes)) run(this.main, textOf(each));
    });
  }

  async dropTable(name: string): Promise<void> {
    run(this.main, `DROP TABLE IF EXISTS ${identifier(name)}`);
  }

  async apply(table: MovedTable, { removed, added }: RowChanges): Promise<void> {
    const connection = table.isJournal ? this.#requireJournal() : this.main;
    const name = identifier(table.table);
    const isKey = table.key.map((each) => `${identifier(each.name)} IS ?`).join(' AND ');
    const keyIndexes = table.key.map((each) => table.columns.indexOf(each));
    const values = (row: MovedRow): unknown[] =>
      table.columns.map(({ storage }, index) => toStored(storage, row[index] ?? null));
    const names = table.columns.map((each) => identifier(each.name)).join(',');
    const insert = `INSERT INTO ${name} (${names}) VALUES (${table.columns.map(() => '?').join(',')})`;
    await inTransactionOf(connection, async () => {
      for (const row of removed) {
        const stored = values(row);
        run(
          connection,
          `DELETE FROM ${name} WHERE ${isKey}`,
          keyIndexes.map((index) => stored[index]),
        );
      }
      for (const row of added) run(connection, insert, values(row));
    });
  }

  async setLastGenerated({ table }: MovedTable, last: bigint): Promise<void> {
    await this.inTransaction(async () => {
      run(this.main, 'DELETE FROM sqlite_sequence WHERE name=?', [table]);
      run(this.main, 'INSERT INTO sqlite_sequence (name,seq) VALUES (?,?)', [table, last]);
    });
  }

  async analyse(): Promise<void> {}

  /** The tables have their foreign keys already. */
  async relate(): Promise<void> {
    const tables = run(this.main, "SELECT name FROM sqlite_master WHERE type='table'");
    for (const [table] of tables) {
      const [broken] = run(this.main, `PRAGMA foreign_key_check(${identifier(String(table))})`);
      if (broken)
        throw new DatabaseFault(
          'foreignKey',
          `A row of "${String(broken[0])}" refers to none of "${String(broken[2])}".`,
        );
      // Other work of the process, such as the end of the pause, is not delayed by all tables together.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async tryToRelate(): Promise<void> {
    await this.relate();
  }

  inTransaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return inTransactionOf(this.main, work);
  }

  async complete(application: string, { version, schema }: MovedVersions): Promise<void> {
    await this.inTransaction(async () => {
      run(this.main, 'DELETE FROM _meta');
      const insert = 'INSERT INTO _meta (version,schema_version,epoch,application) VALUES (?,?,?,?)';
      run(this.main, insert, [BigInt(version), BigInt(schema), randomUUID(), application]);
      // Entries without words: the rebuild of the index, which runs because `_mail_index` is empty, replaces entries.
      run(this.main, 'DROP TABLE _mail_text');
      for (const each of sqliteDialect.catalogue['_mail_text'] ?? []) run(this.main, textOf(each));
      const entries = `SELECT e.id,CAST(e.account AS TEXT) FROM (${textOf(indexedEmails)}) e`;
      run(this.main, `INSERT INTO _mail_text (rowid,account) ${entries}`);
    });
    for (const each of [this.main, this.#requireJournal()]) {
      run(each, 'PRAGMA optimize');
      run(each, 'PRAGMA wal_checkpoint(TRUNCATE)');
    }
  }
}

async function inTransactionOf<T>(
  connection: SqliteConnection,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  connection.script('BEGIN IMMEDIATE');
  try {
    const result = await work({
      run: async (statement) => connection.run(statement),
      touch: () => {},
      afterDurable: () => {},
    });
    connection.script('COMMIT');
    return result;
  } catch (error) {
    if (connection.inTransaction) connection.script('ROLLBACK');
    throw error;
  }
}

export function run(connection: SqliteConnection, text: string, values: readonly unknown[] = []): Row[] {
  return connection.run({ text, values });
}

export function hasTable(connection: SqliteConnection, table: string): boolean {
  return run(connection, "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", [table]).length > 0;
}

function requireComplete(database: string): void {
  const connection = new SqliteConnection(database, { readOnly: true });
  try {
    if (!hasTable(connection, '_meta') || run(connection, 'SELECT 1 FROM _meta').length === 0)
      throw new Error('The copy is not complete.');
  } finally {
    connection.close();
  }
}

/** The store of an application that `main` lists; null if it is not listed. @param main the file of `main`. */
export function findSqliteStore(main: string, application: string): string | null {
  const connection = new SqliteConnection(main, { readOnly: true });
  try {
    const [row] = run(connection, 'SELECT store FROM applications WHERE name=?', [application]);
    return (row?.[0] as string | null | undefined) ?? null;
  } finally {
    connection.close();
  }
}

/**
 * Puts complete, closed files in the place of those of a closed store. It can be repeated after an interruption.
 *
 * @throws Error if they are not complete.
 */
export async function replaceFiles(part: SqliteMoveFiles, target: SqliteMoveFiles): Promise<void> {
  if (existsSync(part.database)) requireComplete(part.database);
  for (const name of ['journal', 'database'] as const) {
    if (!existsSync(part[name])) continue;
    await syncToDisk(part[name]);
    removeSqlite(target[name]);
    await rename(part[name], target[name]);
  }
  await syncToDisk(dirname(target.database));
  await rm(dirname(part.database), { recursive: true, force: true });
}
