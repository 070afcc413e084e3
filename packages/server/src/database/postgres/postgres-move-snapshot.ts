/** The schema of an application as it was at one moment. */
import type { MoveSnapshot, MoveSource, RowChanges } from '../move/move-stores.ts';
import { findPlainKey, type MovedRow, type MovedTable, readChanges } from '../move/moved-table.ts';
import { identifier } from '../sql.ts';
import type { PostgresClient } from './postgres-client.ts';
import {
  beginSnapshot,
  connect,
  hasPostgresTable,
  joinKeys,
  matchKey,
  type PostgresMoveLocation,
  PostgresMoveReader,
} from './postgres-move.ts';
import { runQuery } from './run-query.ts';

export class PostgresMoveSource extends PostgresMoveReader implements MoveSource {
  readonly #location: PostgresMoveLocation;

  private constructor(reader: PostgresClient, location: PostgresMoveLocation) {
    super(reader);
    this.#location = location;
  }

  static async open(location: PostgresMoveLocation): Promise<PostgresMoveSource> {
    return new PostgresMoveSource(await connect(location), location);
  }

  snapshot(): Promise<PostgresMoveSnapshot> {
    return PostgresMoveSnapshot.begin(this.#location);
  }
}

/** A transaction that sees one snapshot of the database. */
interface ReadSnapshot {
  readonly client: PostgresClient;
  /** The oldest transaction that was running, modulo 2^32. */
  readonly oldest: string;
}

/**
 * Each snapshot is a transaction. A row that was written after a snapshot has an `xmin` that is not older than the oldest transaction that was
 * running at the snapshot; this includes subtransactions. While the transaction is open, the rows of its snapshot, also those that were
 * deleted afterwards, are neither vacuumed nor frozen.
 */
class PostgresMoveSnapshot extends PostgresMoveReader implements MoveSnapshot {
  readonly #location: PostgresMoveLocation;
  #past: ReadSnapshot;
  #present: ReadSnapshot;

  private constructor(first: ReadSnapshot, location: PostgresMoveLocation) {
    super(first.client);
    this.#location = location;
    this.#past = first;
    this.#present = first;
  }

  static async begin(location: PostgresMoveLocation): Promise<PostgresMoveSnapshot> {
    return new PostgresMoveSnapshot(await openSnapshot(location), location);
  }

  protected override async beginRead(): Promise<void> {}

  protected override async endRead(): Promise<void> {
    await runQuery(this.reader, 'CLOSE moved').catch(() => {}); // the transaction has failed
  }

  async advance(): Promise<void> {
    // First, so that no more connections are needed.
    if (this.#past !== this.#present) await this.#past.client.end();
    this.#past = this.#present;
    this.#present = await openSnapshot(this.#location);
  }

  async changes(table: MovedTable): Promise<AsyncGenerator<RowChanges> | null> {
    const column = findPlainKey(table);
    const { client, oldest } = this.#past;
    if (!column || !(await hasPostgresTable(client, table.table))) return null;
    const name = identifier(table.table);
    const written = await runQuery<{ key: string }>(
      this.#present.client,
      `SELECT ${identifier(column.name)}::text AS key FROM ${name} WHERE age(xmin)<=age($1::text::xid)`,
      [oldest],
    );
    const writtenKeys = written.map(({ key }) => key);
    const inserted = writtenKeys.length - (await this.#findKeys(this.#past, table, writtenKeys)).length;
    const count = async (snapshot: ReadSnapshot): Promise<number> =>
      Number(
        (await runQuery<{ count: string }>(snapshot.client, `SELECT count(*)::text AS count FROM ${name}`))[0]?.count,
      );
    const isSameCount = (await count(this.#present)) === (await count(this.#past)) + inserted;
    const removedKeys = [...(isSameCount ? [] : await this.#listRemoved(table)), ...writtenKeys];
    return readChanges(table, { removedKeys, writtenKeys }, (keys) => this.#readPresent(table, keys));
  }

  #readPresent(table: MovedTable, keys: readonly string[]): Promise<MovedRow[]> {
    return this.selectRows(this.#present.client, table, joinKeys(table, keys));
  }

  /** A row that was deleted, updated or locked has an `xmax`. */
  async #listRemoved(table: MovedTable): Promise<string[]> {
    const key = identifier(findPlainKey(table)?.name ?? '');
    const touched = await runQuery<{ key: string }>(
      this.#past.client,
      `SELECT ${key}::text AS key FROM ${identifier(table.table)} WHERE xmax<>'0'`,
    );
    const keys = touched.map((row) => row.key);
    const present = new Set(await this.#findKeys(this.#present, table, keys));
    return keys.filter((each) => !present.has(each));
  }

  /** Which of the keys exist. */
  async #findKeys({ client }: ReadSnapshot, table: MovedTable, keys: readonly string[]): Promise<string[]> {
    if (keys.length === 0) return [];
    const rows = await runQuery<{ key: string }>(
      client,
      `SELECT moved_key AS key FROM unnest($1::text[]) AS u(moved_key) JOIN ${identifier(table.table)} ON ${matchKey(table)}`,
      [keys],
    );
    return rows.map((row) => row.key);
  }

  override async close(): Promise<void> {
    const clients = new Set([this.reader, this.#past.client, this.#present.client]);
    await Promise.all([...clients].map((client) => client.end()));
  }
}

async function openSnapshot(location: PostgresMoveLocation): Promise<ReadSnapshot> {
  const client = await connect(location);
  try {
    await runQuery(client, beginSnapshot);
    const [row] = await runQuery<{ oldest: string }>(
      client,
      'SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::numeric % 4294967296)::text AS oldest',
    );
    return { client, oldest: row?.oldest ?? '3' };
  } catch (error) {
    await client.end();
    throw error;
  }
}
