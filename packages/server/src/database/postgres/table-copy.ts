/** Copies the rows of a table from PostgreSQL to a compressed file, and back. */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { PostgresClient } from './postgres-client.ts';
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

const target = ({ table, columns }: TableDefinition): string =>
  `"${table.replaceAll('"', '""')}" ${columns.length > 0 ? `(${columns.join(',')})` : ''}`;

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
  const counter = new RowCounter();
  const file = createReadStream(path);
  if (client === null) await pipeline(file, createZstdDecompress(), counter.resume());
  else {
    const rows = client.submit(copyFrom(`COPY ${target(table)} FROM STDIN`));
    await pipeline(file, createZstdDecompress(), counter, rows);
  }
  return counter.result();
}
