/** Blobs in the database, in pieces, where any number of servers can read them. */
import { createHash, randomUUID } from 'node:crypto';
import type { BlobScope, BlobStore, NewBlob, OpenBlob, ReceivedBlob } from '../base/blob-store.ts';
import type { Clock } from '../base/clock.ts';
import { isoTime } from '../base/clock.ts';
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

const partBytes = 512 * 1024;

/** Blobs in tables of the application's database, for stores that several servers share. The column `account` holds the scope. */
export class DatabaseBlobs implements BlobStore {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Uses its own transaction. The sweep removes blobs that nothing refers to afterwards. */
  async put(scope: BlobScope, blobs: readonly NewBlob[]): Promise<void> {
    if (blobs.length === 0) return;
    const wanted = [...new Map(blobs.map((each) => [each.sha256, each])).values()];
    const storedAt = value('datetime', isoTime(this.#clock.now()));
    const scopeId = value('integer', scope);
    await this.#database.write(async (transaction) => {
      const run = createTxRunner(this.#database, transaction);
      const names = listValue(
        'text',
        wanted.map((each) => each.sha256),
      );
      const existingRows = await run(
        sql`UPDATE _blobs SET at=${storedAt} WHERE account=${scopeId} AND sha256 = ANY(${names}) AND part=0 RETURNING sha256`,
      );
      const existing = new Set(existingRows.map(([name]) => name as string));
      for (const { sha256, bytes } of wanted) {
        if (existing.has(sha256)) continue;
        for (let part = 0; part === 0 || part * partBytes < bytes.length; part += 1) {
          const piece = bytes.subarray(part * partBytes, (part + 1) * partBytes);
          await this.#insertPart(transaction, { scope, name: sha256, part }, piece);
        }
      }
    });
  }

  /**
   * Parts are stored under a temporary name until the hash is known. Each part is a transaction, so that a slow upload
   * holds none open.
   */
  async receive(scope: BlobScope, bytes: AsyncIterable<Uint8Array>): Promise<ReceivedBlob> {
    const temporary = `in-${randomUUID()}`;
    const hasher = createHash('sha256');
    let size = 0;
    let part = 0;
    try {
      for await (const piece of cutIntoParts(bytes)) {
        hasher.update(piece);
        size += piece.length;
        await this.#database.write((transaction) =>
          this.#insertPart(transaction, { scope, name: temporary, part }, piece),
        );
        part += 1;
      }
      const sha256 = hasher.digest('hex');
      await this.#nameParts(scope, temporary, sha256);
      return { sha256, size };
    } catch (error) {
      await this.#deleteParts(scope, temporary).catch(() => {}); // then the sweep removes them
      throw error;
    }
  }

  /** Gives received parts the name of their blob; if it exists, they are deleted. */
  async #nameParts(scope: BlobScope, temporary: string, sha256: string): Promise<void> {
    const storedAt = value('datetime', isoTime(this.#clock.now()));
    const isNamed = (name: string): Sql => sql`account=${value('integer', scope)} AND sha256=${value('text', name)}`;
    await this.#database.write(
      async (transaction) => {
        const run = createTxRunner(this.#database, transaction);
        const existing = await run(
          sql`UPDATE _blobs SET at=${storedAt} WHERE ${isNamed(sha256)} AND part=0 RETURNING part`,
        );
        if (existing.length > 0) await run(sql`DELETE FROM _blobs WHERE ${isNamed(temporary)}`);
        else
          await run(sql`UPDATE _blobs SET sha256=${value('text', sha256)},at=${storedAt} WHERE ${isNamed(temporary)}`);
      },
      { lockKey: `blob ${scope} ${sha256}` },
    );
  }

  async #deleteParts(scope: BlobScope, temporary: string): Promise<void> {
    await this.#database.write(async (transaction) => {
      await createTxRunner(
        this.#database,
        transaction,
      )(sql`DELETE FROM _blobs WHERE account=${value('integer', scope)} AND sha256=${value('text', temporary)}`);
    });
  }

  async #insertPart(
    transaction: Transaction,
    { scope, name, part }: { readonly scope: BlobScope; readonly name: string; readonly part: number },
    bytes: Uint8Array,
  ): Promise<void> {
    const storedAt = value('datetime', isoTime(this.#clock.now()));
    const bytes64 = value('text', Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'));
    await createTxRunner(
      this.#database,
      transaction,
    )(
      sql`INSERT INTO _blobs (account,sha256,part,at,bytes) VALUES (${value('integer', scope)},${value('text', name)},${part},${storedAt},decode(${bytes64},'base64')) ON CONFLICT DO NOTHING`,
    );
  }

  async get(scope: BlobScope, sha256: string): Promise<Buffer | null> {
    const rows = await createReader(this.#database)(
      sql`SELECT encode(bytes,'base64') FROM _blobs WHERE account=${value('integer', scope)} AND sha256=${value('text', sha256)} ORDER BY part`,
    );
    return rows.length === 0 ? null : Buffer.concat(rows.map(([piece]) => Buffer.from(piece as string, 'base64')));
  }

  async open(scope: BlobScope, sha256: string): Promise<OpenBlob | null> {
    const run = createReader(this.#database);
    const which = sql`account=${value('integer', scope)} AND sha256=${value('text', sha256)}`;
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

  async findPresent(scope: BlobScope, names: readonly string[]): Promise<string[]> {
    return this.#listNames(scope, sql`sha256 = ANY(${listValue('text', names)})`);
  }

  findStoredBefore(scope: BlobScope, time: number): Promise<string[]> {
    const isAny = time === Number.POSITIVE_INFINITY;
    return this.#listNames(scope, isAny ? sql`TRUE` : sql`at<${value('datetime', isoTime(time))}`);
  }

  async #listNames(scope: BlobScope, condition: Sql): Promise<string[]> {
    const rows = await createReader(this.#database)(
      sql`SELECT sha256 FROM _blobs WHERE account=${value('integer', scope)} AND part=0 AND ${condition}`,
    );
    return rows.map(([name]) => name as string);
  }

  async remove(scope: BlobScope, sha256s: readonly string[], before: number): Promise<void> {
    const which = sql`account=${value('integer', scope)} AND sha256 = ANY(${listValue('text', sha256s)})`;
    const isOld = sql`part=0 AND at<${value('datetime', isoTime(before))}`;
    await this.#database.write(async (transaction) => {
      await createTxRunner(
        this.#database,
        transaction,
      )(sql`DELETE FROM _blobs WHERE ${which} AND sha256 IN (SELECT sha256 FROM _blobs WHERE ${which} AND ${isOld})`);
    });
  }

  async scopes(): Promise<BlobScope[]> {
    const rows = await createReader(this.#database)(sql`SELECT DISTINCT account FROM _blobs`);
    return rows.map(([scope]) => Number(scope));
  }
}

/** Bytes in parts of {@link partBytes}, and at least one, which may be empty. */
export async function* cutIntoParts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let collected: Uint8Array[] = [];
  let length = 0;
  let isFirst = true;
  for await (const piece of bytes) {
    let rest = piece;
    while (length + rest.length >= partBytes) {
      collected.push(rest.subarray(0, partBytes - length));
      rest = rest.subarray(partBytes - length);
      yield Buffer.concat(collected);
      [collected, length, isFirst] = [[], 0, false];
    }
    collected.push(rest);
    length += rest.length;
  }
  if (length > 0 || isFirst) yield Buffer.concat(collected);
}
