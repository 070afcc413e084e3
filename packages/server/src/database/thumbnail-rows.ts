/**
 * Statements about thumbnails of pictures. A row is first the claim of the server that makes the thumbnail; it names the blob when
 * the thumbnail is stored. The row of a picture with an empty variant says that no thumbnail can be made of it.
 */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

/** A thumbnail: the SHA-256 of the picture, and the size as text. */
export interface ThumbnailKey {
  readonly source: string;
  readonly variant: string;
}

/** What is known about a thumbnail; `claimed`: a server is making it. */
export type ThumbnailState =
  | { readonly state: 'stored'; readonly sha256: string }
  | { readonly state: 'failed' | 'claimed' | 'missing' };

/** Times in ISO 8601: older claims and failures have expired. */
export interface ThumbnailTimes {
  readonly claimedSince: string;
  readonly failedSince: string;
}

const failure = value('text', '');

/** Whether a thumbnail is stored, is being made, or cannot be made. */
export async function readThumbnailState(
  database: Database,
  { source, variant }: ThumbnailKey,
  { claimedSince, failedSince }: ThumbnailTimes,
): Promise<ThumbnailState> {
  const isFailure = sql`variant=${failure} AND at>${value('datetime', failedSince)}`;
  const isClaim = sql`CASE WHEN at>${value('datetime', claimedSince)} THEN 1 ELSE 0 END`;
  const rows = await createReader(database)<[variant: string, sha256: string | null, isClaim: unknown]>(
    sql`SELECT variant,sha256,${isClaim} FROM _thumbnails WHERE source=${value('text', source)} AND (variant=${value('text', variant)} OR (${isFailure}))`,
  );
  const found = rows.find(([each]) => each === variant);
  if (found && found[1] !== null) return { state: 'stored', sha256: found[1] };
  if (rows.some(([each]) => each === '')) return { state: 'failed' };
  return { state: found && Number(found[2]) === 1 ? 'claimed' : 'missing' };
}

/** A claim of a server, for {@link claimThumbnail}. */
export interface ThumbnailClaim {
  /** ISO 8601. */
  readonly time: string;
  /** Older claims have expired, because their server has died. */
  readonly claimedSince: string;
  /** A stored thumbnail whose bytes are missing may be made again. */
  readonly missingBlob: string | null;
}

/** Claims a thumbnail. @returns how often it was claimed without a result, with this claim; null if it is stored or claimed. */
export async function claimThumbnail(
  database: Database,
  { source, variant }: ThumbnailKey,
  { time, claimedSince, missingBlob }: ThumbnailClaim,
): Promise<number | null> {
  const values = sql`${value('text', source)},${value('text', variant)},1,${value('datetime', time)}`;
  const mayClaim = sql`(t.sha256 IS NULL AND t.at<=${value('datetime', claimedSince)}) OR t.sha256=${value('text', missingBlob)}`;
  const attempts = sql`CASE WHEN t.sha256 IS NULL THEN t.attempts+1 ELSE 1 END`;
  return database.write(async (transaction) => {
    const [row] = await createTxRunner(
      database,
      transaction,
    )(
      sql`INSERT INTO _thumbnails AS t (source,variant,attempts,at) VALUES (${values}) ON CONFLICT (source,variant) DO UPDATE SET attempts=${attempts},at=excluded.at,sha256=NULL WHERE ${mayClaim} RETURNING attempts`,
    );
    return row ? Number(row[0]) : null;
  });
}

/** Keeps a claim from expiring. @param time ISO 8601. */
export async function renewThumbnailClaim(database: Database, key: ThumbnailKey, time: string): Promise<void> {
  await write(
    database,
    sql`UPDATE _thumbnails SET at=${value('datetime', time)} WHERE ${isThumbnail(key)} AND sha256 IS NULL`,
  );
}

/** Stores the blob of a claimed thumbnail. @param time ISO 8601. */
export async function storeThumbnail(
  database: Database,
  key: ThumbnailKey,
  sha256: string,
  time: string,
): Promise<void> {
  await write(
    database,
    sql`UPDATE _thumbnails SET sha256=${value('text', sha256)},at=${value('datetime', time)} WHERE ${isThumbnail(key)}`,
  );
}

/** Releases a claim, so that the next request tries again. */
export async function releaseThumbnail(database: Database, key: ThumbnailKey): Promise<void> {
  await write(database, sql`DELETE FROM _thumbnails WHERE ${isThumbnail(key)} AND sha256 IS NULL`);
}

/** Stores that no thumbnail can be made of the picture of a claim, in any size, and releases the claim. @param time ISO 8601. */
export async function storeThumbnailFailure(database: Database, key: ThumbnailKey, time: string): Promise<void> {
  const values = sql`${value('text', key.source)},${failure},1,${value('datetime', time)}`;
  await database.write(async (transaction) => {
    const run = createTxRunner(database, transaction);
    await run(
      sql`INSERT INTO _thumbnails (source,variant,attempts,at) VALUES (${values}) ON CONFLICT (source,variant) DO UPDATE SET at=excluded.at`,
    );
    await run(sql`DELETE FROM _thumbnails WHERE ${isThumbnail(key)} AND sha256 IS NULL`);
  });
}

/** The pictures after one, in the order of their hashes. */
export async function readThumbnailSources(database: Database, after: string, maxRows: number): Promise<string[]> {
  const rows = await createReader(database)<[source: string]>(
    sql`SELECT DISTINCT source FROM _thumbnails WHERE source>${value('text', after)} ORDER BY source LIMIT ${maxRows}`,
  );
  return rows.map(([source]) => source);
}

/** Deletes what is known about the thumbnails of those pictures that no file has. */
export async function deleteThumbnailRows(database: Database, sources: readonly string[]): Promise<void> {
  const isWanted = database.dialect.isIn(sql`source`, listValue('text', sources));
  const isUnused = sql`NOT EXISTS (SELECT 1 FROM files WHERE files.sha256=_thumbnails.source)`;
  await write(database, sql`DELETE FROM _thumbnails WHERE ${isWanted} AND ${isUnused}`);
}

/** Which of the blobs are thumbnails. */
export async function findThumbnailBlobs(database: Database, sha256s: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await createReader(database)<[sha256: string]>(
    sql`SELECT DISTINCT sha256 FROM _thumbnails WHERE ${database.dialect.isIn(sql`sha256`, listValue('text', sha256s))}`,
  );
  return new Set(rows.map(([name]) => name));
}

function isThumbnail({ source, variant }: ThumbnailKey): Sql {
  return sql`source=${value('text', source)} AND variant=${value('text', variant)}`;
}

async function write(database: Database, statement: Sql): Promise<void> {
  await database.write(async (transaction: Transaction) => {
    await createTxRunner(database, transaction)(statement);
  });
}
