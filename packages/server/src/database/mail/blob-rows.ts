/** Blobs in the database, in pieces: where any number of servers must see them. */
import type { BlobStore, NewBlob, OpenBlob } from '../../base/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import { isoTime } from '../../base/clock.ts';
import type { Database } from '../database.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';

const partBytes = 512 * 1024;

/** Blobs in tables of the application's database, for stores that several servers share. */
export class DatabaseBlobs implements BlobStore {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** A transaction of its own: what nothing comes to refer to is swept. */
  async put(account: number, blobs: readonly NewBlob[]): Promise<void> {
    if (blobs.length === 0) return;
    const wanted = [...new Map(blobs.map((each) => [each.sha256, each])).values()];
    const storedAt = value('datetime', isoTime(this.#clock.now()));
    const accountId = value('integer', account);
    await this.#database.write(async (transaction) => {
      const run = createTxRunner(this.#database, transaction);
      const names = listValue(
        'text',
        wanted.map((each) => each.sha256),
      );
      const existingRows = await run(
        sql`UPDATE _blobs SET at=${storedAt} WHERE account=${accountId} AND sha256 = ANY(${names}) AND part=0 RETURNING sha256`,
      );
      const existing = new Set(existingRows.map(([name]) => name as string));
      for (const { sha256, bytes } of wanted) {
        if (existing.has(sha256)) continue;
        for (let part = 0; part === 0 || part * partBytes < bytes.length; part += 1) {
          const part64 = Buffer.from(bytes.subarray(part * partBytes, (part + 1) * partBytes)).toString('base64');
          await run(
            sql`INSERT INTO _blobs (account,sha256,part,at,bytes) VALUES (${accountId},${value('text', sha256)},${part},${storedAt},decode(${value('text', part64)},'base64')) ON CONFLICT DO NOTHING`,
          );
        }
      }
    });
  }

  async get(account: number, sha256: string): Promise<Buffer | null> {
    const rows = await createReader(this.#database)(
      sql`SELECT encode(bytes,'base64') FROM _blobs WHERE account=${value('integer', account)} AND sha256=${value('text', sha256)} ORDER BY part`,
    );
    return rows.length === 0 ? null : Buffer.concat(rows.map(([piece]) => Buffer.from(piece as string, 'base64')));
  }

  async open(account: number, sha256: string): Promise<OpenBlob | null> {
    const run = createReader(this.#database);
    const which = sql`account=${value('integer', account)} AND sha256=${value('text', sha256)}`;
    const [row] = await run(sql`SELECT count(*),sum(octet_length(bytes)) FROM _blobs WHERE ${which}`);
    if (Number(row![0]) === 0) return null;
    return {
      size: Number(row![1]),
      async *read(from, to): AsyncGenerator<Uint8Array> {
        for (let part = Math.floor(from / partBytes); part * partBytes <= to; part += 1) {
          const [piece] = await run(sql`SELECT encode(bytes,'base64') FROM _blobs WHERE ${which} AND part=${part}`);
          if (!piece) throw new Error('a part of a blob is missing in the database');
          const begin = part * partBytes;
          yield Buffer.from(piece[0] as string, 'base64').subarray(Math.max(0, from - begin), to - begin + 1);
        }
      },
    };
  }

  async findStoredBefore(account: number, time: number): Promise<string[]> {
    const rows = await createReader(this.#database)(
      sql`SELECT sha256 FROM _blobs WHERE account=${value('integer', account)} AND part=0 AND at<${value('datetime', isoTime(time))}`,
    );
    return rows.map(([name]) => name as string);
  }

  async remove(account: number, sha256s: readonly string[], before: number): Promise<void> {
    const which = sql`account=${value('integer', account)} AND sha256 = ANY(${listValue('text', sha256s)})`;
    const isOld = sql`part=0 AND at<${value('datetime', isoTime(before))}`;
    await this.#database.write(async (transaction) => {
      await createTxRunner(
        this.#database,
        transaction,
      )(sql`DELETE FROM _blobs WHERE ${which} AND sha256 IN (SELECT sha256 FROM _blobs WHERE ${which} AND ${isOld})`);
    });
  }

  async accounts(): Promise<number[]> {
    const rows = await createReader(this.#database)(sql`SELECT DISTINCT account FROM _blobs`);
    return rows.map(([account]) => Number(account));
  }
}
