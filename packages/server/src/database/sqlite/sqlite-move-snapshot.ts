/** The stores of an application in SQLite files as they were at one moment. */
import type { MoveSnapshot, MoveSource, RowChanges } from '../move/move-stores.ts';
import { findPlainKey, type MovedTable, toRowChanges } from '../move/moved-table.ts';
import { identifier } from '../sql.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { hasTable, run, type SqliteMoveFiles, SqliteMoveReader } from './sqlite-move.ts';

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
 * Each file is opened twice on one connection. The transaction of `main` begins at once, that of `now` with the first statement that reads
 * it, so one statement can compare both moments. The server cannot reset the write-ahead log until the snapshot is closed.
 */
class SqliteMoveSnapshot extends SqliteMoveReader implements MoveSnapshot {
  constructor(files: SqliteMoveFiles) {
    super(files);
    begin(this.main, files.database);
    if (this.journal) begin(this.journal, files.journal);
  }

  async changes(table: MovedTable): Promise<RowChanges | null> {
    const connection = this.connectionOf(table);
    const column = findPlainKey(table);
    if (!connection || !column || !hasTable(connection, table.table)) return null;
    const [name, key] = [identifier(table.table), identifier(column.name)];
    const differs = table.columns
      .filter((each) => each !== column)
      .map((each) => `n.${identifier(each.name)} IS NOT o.${identifier(each.name)} COLLATE BINARY`);
    const written = run(
      connection,
      `SELECT CAST(n.${key} AS TEXT),o.${key} IS NULL FROM now.${name} n LEFT JOIN main.${name} o ON o.${key}=n.${key}
WHERE ${[`o.${key} IS NULL`, ...differs].join(' OR ')}`,
    );
    const inserted = written.filter(([, isNew]) => Number(isNew) === 1).length;
    const count = (schema: string): number => Number(run(connection, `SELECT count(*) FROM ${schema}.${name}`)[0]?.[0]);
    const isSameCount = count('now') === count('main') + inserted;
    const removed = isSameCount
      ? []
      : run(
          connection,
          `SELECT CAST(o.${key} AS TEXT) FROM main.${name} o WHERE NOT EXISTS (SELECT 1 FROM now.${name} n WHERE n.${key}=o.${key})`,
        );
    const keys = written.map(([each]) => String(each));
    return toRowChanges(
      table,
      [...removed.map(([each]) => String(each)), ...keys],
      this.selectRows(table, keys, 'now'),
    );
  }
}

function begin(connection: SqliteConnection, path: string): void {
  run(connection, 'ATTACH ? AS now', [path]);
  connection.script('BEGIN');
  run(connection, 'SELECT count(*) FROM main.sqlite_master');
}
