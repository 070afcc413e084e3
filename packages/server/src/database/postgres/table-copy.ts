/** Copies the rows of a table from PostgreSQL to a compressed file, and back. */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { PostgresClient } from './postgres-client.ts';
import { runQuery } from './run-query.ts';
import type { TableDefinition } from './schema-definition.ts';

/** The rows that were copied, and the SHA-256 of their text in the format of COPY: equal for equal rows in the same order. */
export interface CopiedRows {
  readonly rows: number;
  readonly sha256: string;
}

/** Statements after which a value always has the same text. */
export const setForCopies = (scope: 'LOCAL' | 'SESSION'): string =>
  Object.entries(settings)
    .map(([name, text]) => `SET ${scope} ${name}='${text}'`)
    .join(';');

const settings = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  // A scan begins at the first row, so that equal tables have equal texts.
  synchronize_seqscans: 'off',
  statement_timeout: '0',
  lock_timeout: '30s',
} as const;

/** Counts rows while they pass. In the text format of COPY, each row is one line: a line feed within a value is escaped. */
class RowCounter extends Transform {
  readonly #hash: Hash = createHash('sha256');
  rows = 0;

  override _transform(piece: Buffer, _: BufferEncoding, done: (error: null, piece: Buffer) => void): void {
    this.#hash.update(piece);
    for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) this.rows += 1;
    done(null, piece);
  }

  result(): CopiedRows {
    return { rows: this.rows, sha256: this.#hash.digest('hex') };
  }
}

/** The copy of a table without rows. */
export const noRows: CopiedRows = new RowCounter().result();

/** How many tables one statement checks for rows. */
const tablesAtOnce = 100;

/**
 * The names of the tables that have rows. Most tables of an application have none, and copying one takes several round trips and 3 MB
 * for the compression.
 */
export async function findFilledTables(
  client: PostgresClient,
  tables: readonly TableDefinition[],
): Promise<ReadonlySet<string>> {
  const filled = new Set<string>();
  for (let at = 0; at < tables.length; at += tablesAtOnce) {
    const some = tables.slice(at, at + tablesAtOnce);
    const text = some.map((table) => `EXISTS(SELECT FROM ${quote(table)})`).join(',');
    const [row] = await runQuery<{ filled: boolean[] }>(client, `SELECT ARRAY[${text}] AS filled`);
    for (const [index, { table }] of some.entries()) if (row?.filled[index]) filled.add(table);
  }
  return filled;
}

/** Writes the file of a table without rows. */
export async function saveNoRows(path: string): Promise<CopiedRows> {
  await writeFile(path, zstdCompressSync(''), { flag: 'wx', mode: 0o600 });
  return noRows;
}

const quote = ({ table }: TableDefinition): string => `"${table.replaceAll('"', '""')}"`;
const target = (table: TableDefinition): string =>
  `${quote(table)} ${table.columns.length > 0 ? `(${table.columns.join(',')})` : ''}`;

/** Writes the rows of a table that the client's transaction sees. @param path null: they are only counted. */
export async function saveTable(
  client: PostgresClient,
  table: TableDefinition,
  path: string | null,
): Promise<CopiedRows> {
  const counter = new RowCounter();
  const rows = client.submit(copyTo(`COPY ${target(table)} TO STDOUT`));
  if (path === null) await pipeline(rows, counter.resume());
  else await pipeline(rows, counter, createZstdCompress(), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  return counter.result();
}

/** Reads rows from a file into a table. @param client null: they are only counted. */
export async function loadTable(
  client: PostgresClient | null,
  table: TableDefinition,
  path: string,
): Promise<CopiedRows> {
  if (await isWithoutRows(path)) return noRows;
  const counter = new RowCounter();
  const file = createReadStream(path);
  if (client === null) await pipeline(file, createZstdDecompress(), counter.resume());
  else {
    const rows = client.submit(copyFrom(`COPY ${target(table)} FROM STDIN`));
    await pipeline(file, createZstdDecompress(), counter, rows);
  }
  return counter.result();
}

/** Whether a file contains the compressed text of a table without rows. */
async function isWithoutRows(path: string): Promise<boolean> {
  return (await stat(path)).size < smallestFile && zstdDecompressSync(await readFile(path)).length === 0;
}

/** A frame without content has 9 to 13 bytes. */
const smallestFile = 14;
