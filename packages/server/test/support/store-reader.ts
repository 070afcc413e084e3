import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { mainStoreName } from '../../src/open-stores.ts';
import type { Store } from './engines.ts';

/**
 * Reads the store of the application `main` while a server in another process uses it, or after that server was killed.
 */
export interface StoreReader {
  /** The first column of the first row, as a number. */
  readNumber(text: string): Promise<number>;
  readRows(text: string): Promise<unknown[][]>;
  close(): Promise<void>;
}

/** Opens a reader of a store. */
export async function openStoreReader({ dataDir, databaseUrl }: Store): Promise<StoreReader> {
  if (databaseUrl === null) {
    const database = new DatabaseSync(join(dataDir, 'applications', `${mainStoreName}.db`), { readOnly: true });
    return {
      readNumber: async (text) => Number(Object.values(database.prepare(text).get() ?? {})[0]),
      readRows: async (text) => {
        const statement = database.prepare(text);
        statement.setReturnArrays(true);
        return statement.all() as unknown as unknown[][];
      },
      close: async () => database.close(),
    };
  }
  const client = new pg.Client({ connectionString: databaseUrl, options: `-c search_path=app_${mainStoreName}` });
  await client.connect();
  return {
    readNumber: async (text) => Number((await client.query({ text, rowMode: 'array' })).rows[0]?.[0]),
    readRows: async (text) => (await client.query({ text, rowMode: 'array' })).rows,
    close: () => client.end(),
  };
}
