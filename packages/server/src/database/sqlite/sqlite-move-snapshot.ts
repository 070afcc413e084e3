/** The stores of an application in SQLite files as they were at one moment. */
import type { Row } from '../database.ts';
import type { MoveSnapshot, MoveSource, RowChanges } from '../move/move-stores.ts';
import { findPlainKey, type MovedTable, readChanges } from '../move/moved-table.ts';
import { identifier } from '../sql.ts';
import { DeadlineExceeded, type SqliteConnection } from './sqlite-connection.ts';
import { hasTable, run, type SqliteMoveFiles, SqliteMoveReader } from './sqlite-move.ts';
import { deadlineCheck } from './sqlite-text.ts';

export class SqliteMoveSource extends SqliteMoveReader implements MoveSource {
  readonly #files: SqliteMoveFiles;

  constructor(files: SqliteMoveFiles) {
    super(files);
    this.#files = files;
  }

  async snapshot(): Promise<SqliteMoveSnapshot> {
    return new SqliteMoveSnapshot(this.#files);
  }
}

/**
 * For each snapshot, the file is attached once more to the same connection, so one statement can compare two snapshots. A snapshot is
 * taken by the first statement that reads it. The server cannot reset the write-ahead log until the snapshot is closed.
 */
class SqliteMoveSnapshot extends SqliteMoveReader implements MoveSnapshot {
  readonly #files: SqliteMoveFiles;
  /** Null: the application had no journal then. One that is created later is compared as a whole. */
  readonly #pastJournal: SqliteConnection | null;
  #advances = 0;
  #deadline = Number.POSITIVE_INFINITY;

  constructor(files: SqliteMoveFiles) {
    super(files);
    this.#files = files;
    this.#pastJournal = this.journal;
    for (const each of [this.main, this.#pastJournal]) {
      each?.script('BEGIN');
      if (each) beginSnapshot(each, 'main');
    }
  }

  async advance(deadline = Number.POSITIVE_INFINITY): Promise<void> {
    this.#deadline = deadline;
    this.#advances += 1;
    const { database, journal } = this.#files;
    const connections: [SqliteConnection | null, string][] = [
      [this.main, database],
      [this.#pastJournal, journal],
    ];
    for (const [connection, path] of connections) {
      if (!connection) continue;
      run(connection, `ATTACH ? AS ${this.#snapshotName(0)}`, [path]);
      beginSnapshot(connection, this.#snapshotName(0));
    }
  }

  async changes(table: MovedTable): Promise<AsyncGenerator<RowChanges> | null> {
    const connection = this.connectionOf(table);
    const column = findPlainKey(table);
    if (!connection || !column || !hasTable(connection, table.table)) return null;
    const [past, present] = [this.#snapshotName(1), this.#snapshotName(0)];
    const [name, key] = [identifier(table.table), identifier(column.name)];
    const differs = table.columns
      .filter((each) => each !== column)
      .map((each) => `n.${identifier(each.name)} IS NOT o.${identifier(each.name)} COLLATE BINARY`);
    const search = (text: string): Row[] => this.#search(connection, text);
    const written = search(
      `SELECT CAST(n.${key} AS TEXT),o.${key} IS NULL FROM ${present}.${name} n LEFT JOIN ${past}.${name} o ON o.${key}=n.${key}
WHERE ${deadlineCheck('n', 1).parts.join('')} AND (${[`o.${key} IS NULL`, ...differs].join(' OR ')})`,
    );
    const inserted = written.filter(([, isNew]) => Number(isNew) === 1).length;
    const count = (schema: string): number => Number(search(`SELECT count(*) FROM ${schema}.${name}`)[0]?.[0]);
    const isSameCount = count(present) === count(past) + inserted;
    const removed = isSameCount
      ? []
      : search(
          `SELECT CAST(o.${key} AS TEXT) FROM ${past}.${name} o
WHERE ${deadlineCheck('o', 1).parts.join('')} AND NOT EXISTS (SELECT 1 FROM ${present}.${name} n WHERE n.${key}=o.${key})`,
        );
    const writtenKeys = written.map(([each]) => String(each));
    const removedKeys = [...removed.map(([each]) => String(each)), ...writtenKeys];
    return readChanges(table, { removedKeys, writtenKeys }, (keys) => this.selectRows(table, keys, present));
  }

  #search(connection: SqliteConnection, text: string): Row[] {
    try {
      return connection.run({ text, values: [] }, this.#deadline);
    } catch (error) {
      if (error instanceof DeadlineExceeded) throw new Error('The search for changes took too long.', { cause: error });
      throw error;
    }
  }

  protected override connectionOf({ isJournal }: MovedTable): SqliteConnection | null {
    return isJournal ? this.#pastJournal : this.main;
  }

  /** The schema name of a snapshot. @param before how many snapshots before the present one. */
  #snapshotName(before: number): string {
    return this.#advances === before ? 'main' : `snapshot_${this.#advances - before}`;
  }
}

function beginSnapshot(connection: SqliteConnection, schema: string): void {
  run(connection, `SELECT count(*) FROM ${schema}.sqlite_master`);
}
