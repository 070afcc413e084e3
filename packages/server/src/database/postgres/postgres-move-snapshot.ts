/** The schema of an application as it was at one moment. */
import type { MoveSnapshot, MoveSource, RowChanges } from '../move/move-stores.ts';
import { findPlainKey, type MovedTable, readRowKey, toRowChanges } from '../move/moved-table.ts';
import { identifier } from '../sql.ts';
import type { PostgresClient } from './postgres-client.ts';
import {
  beginSnapshot,
  connect,
  hasPostgresTable,
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

/**
 * One transaction shows the moment of the snapshot, another one the present. A row that was written since has an `xmin` that is not older
 * than the oldest transaction that was running then; this includes subtransactions. The first transaction keeps all these rows, and those
 * that were deleted since, from being vacuumed or frozen.
 */
class PostgresMoveSnapshot extends PostgresMoveReader implements MoveSnapshot {
  readonly #now: PostgresClient;
  /** The oldest transaction that was running, modulo 2^32. */
  readonly #oldest: string;
  #isNow = false;

  private constructor(past: PostgresClient, now: PostgresClient, oldest: string) {
    super(past);
    this.#now = now;
    this.#oldest = oldest;
  }

  static async begin(location: PostgresMoveLocation): Promise<PostgresMoveSnapshot> {
    const past = await connect(location);
    try {
      await runQuery(past, beginSnapshot);
      const [row] = await runQuery<{ oldest: string }>(
        past,
        'SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::numeric % 4294967296)::text AS oldest',
      );
      return new PostgresMoveSnapshot(past, await connect(location), row?.oldest ?? '3');
    } catch (error) {
      await past.end();
      throw error;
    }
  }

  protected override async beginRead(): Promise<void> {}

  protected override async endRead(): Promise<void> {
    await runQuery(this.reader, 'CLOSE moved').catch(() => {}); // the transaction has failed
  }

  async changes(table: MovedTable): Promise<RowChanges | null> {
    const column = findPlainKey(table);
    if (!column || !(await hasPostgresTable(this.reader, table.table))) return null;
    if (!this.#isNow) await runQuery(this.#now, beginSnapshot);
    this.#isNow = true;
    const name = identifier(table.table);
    const added = await this.selectRows(this.#now, table, {
      more: 'WHERE age(xmin)<=age($1::text::xid)',
      values: [this.#oldest],
    });
    const keys = added.map((row) => String(readRowKey(table, row)[0]));
    const inserted = keys.length - (await this.#findKeys(this.reader, table, keys)).length;
    const count = async (client: PostgresClient): Promise<number> =>
      Number((await runQuery<{ count: string }>(client, `SELECT count(*)::text AS count FROM ${name}`))[0]?.count);
    const isSameCount = (await count(this.#now)) === (await count(this.reader)) + inserted;
    return toRowChanges(table, [...(isSameCount ? [] : await this.#listRemoved(table)), ...keys], added);
  }

  /** A row that was deleted, updated or locked has an `xmax`. */
  async #listRemoved(table: MovedTable): Promise<string[]> {
    const key = identifier(findPlainKey(table)?.name ?? '');
    const touched = await runQuery<{ key: string }>(
      this.reader,
      `SELECT ${key}::text AS key FROM ${identifier(table.table)} WHERE xmax<>'0'`,
    );
    const keys = touched.map((row) => row.key);
    const present = new Set(await this.#findKeys(this.#now, table, keys));
    return keys.filter((each) => !present.has(each));
  }

  /** Those of the keys that exist. */
  async #findKeys(client: PostgresClient, table: MovedTable, keys: readonly string[]): Promise<string[]> {
    if (keys.length === 0) return [];
    const rows = await runQuery<{ key: string }>(
      client,
      `SELECT moved_key AS key FROM unnest($1::text[]) AS u(moved_key) JOIN ${identifier(table.table)} ON ${matchKey(table)}`,
      [keys],
    );
    return rows.map((row) => row.key);
  }

  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#now.end()]);
  }
}
