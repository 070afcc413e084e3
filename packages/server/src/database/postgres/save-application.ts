/** Writes the schema of one application to files: its definition, and the rows of each table, all as of one moment. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupTable } from '../backup-manifest.ts';
import type { ConnectionBudget } from './connection-budget.ts';
import type { PostgresClient } from './postgres-client.ts';
import { toPostgresFault } from './postgres-fault.ts';
import { readDefinition, readStorage, runQuery, type SchemaDefinition } from './schema-definition.ts';
import { type CopiedRows, saveTable, setForCopies } from './table-copy.ts';

/** A connection of a backup may take this long for one statement, such as building an index. */
const statementMilliseconds = 6 * 3_600_000;
/** Attempts while definitions are changed. */
const maxAttempts = 5;

/** The content of `schema.json`: the definition, and for each of its tables the copied rows and their file next to it. */
export interface SavedSchema extends Omit<SchemaDefinition, 'tables'> {
  readonly tables: readonly (SchemaDefinition['tables'][number] & CopiedRows & { readonly file: string })[];
}

export const schemaFile = 'schema.json';

/** Opens a connection for a backup or restore. The caller ends it. @throws DatabaseFault. */
export async function connect(url: string, budget: ConnectionBudget): Promise<PostgresClient> {
  const client = new budget.client({ connectionString: url, query_timeout: statementMilliseconds });
  await client.connect().catch((error: unknown) => Promise.reject(toPostgresFault(error)));
  return client;
}

export interface SaveParts {
  readonly url: string;
  readonly budget: ConnectionBudget;
  readonly schema: string;
  /** Of the backup. */
  readonly root: string;
  /** Of this application, within `root`; it is created. */
  readonly path: string;
}

/**
 * Saves a schema while servers use it. Writes are not delayed. A change of definitions during the copy would make it inconsistent,
 * so it begins again then.
 *
 * @throws Error if definitions change each time.
 */
export async function saveApplication(parts: SaveParts): Promise<BackupTable[]> {
  for (let attempt = 1; ; attempt += 1) {
    await rm(join(parts.root, parts.path), { recursive: true, force: true });
    await mkdir(join(parts.root, parts.path), { recursive: true, mode: 0o700 });
    const saved = await trySave(parts);
    if (saved) return saved;
    if (attempt === maxAttempts)
      throw new Error(
        `Collections of the schema ${parts.schema} were changed during each of ${attempt} attempts. Try again.`,
      );
  }
}

/** @returns null if definitions were changed meanwhile. */
async function trySave(parts: SaveParts): Promise<BackupTable[] | null> {
  const { url, budget, schema } = parts;
  const [holder, worker] = [await connect(url, budget), await connect(url, budget)];
  try {
    await begin(holder, schema);
    const [row] = await runQuery<{ snapshot: string }>(holder, 'SELECT pg_export_snapshot() AS snapshot');
    const before = await readStorage(holder, schema);
    const isChanged = async (): Promise<boolean> => (await readStorage(worker, schema)) !== before;
    try {
      const definition = await readDefinition(holder, schema);
      const tables = await saveTables(worker, parts, definition, row!.snapshot);
      return (await isChanged()) ? null : tables;
    } catch (error) {
      // A table or column may be gone. The error is that of a lost connection, if there is one.
      await runQuery(worker, 'ROLLBACK').catch(() => Promise.reject(error));
      if (await isChanged()) return null;
      throw error;
    }
  } finally {
    await Promise.allSettled([holder.end(), worker.end()]);
  }
}

/** Writes all files of an application, one table for each transaction. */
async function saveTables(
  client: PostgresClient,
  { schema, root, path }: SaveParts,
  definition: SchemaDefinition,
  snapshot: string,
): Promise<BackupTable[]> {
  const tables: SavedSchema['tables'][number][] = [];
  for (const [index, table] of definition.tables.entries()) {
    const file = `${String(index + 1).padStart(5, '0')}.copy.zst`;
    await begin(client, schema, snapshot);
    const copied = await saveTable(client, table, join(root, path, file));
    await runQuery(client, 'COMMIT');
    tables.push({ ...table, file, ...copied });
  }
  const saved: SavedSchema = { ...definition, tables };
  await writeFile(join(root, path, schemaFile), JSON.stringify(saved, null, 1), { mode: 0o600 });
  return tables.map(({ table, file, rows }) => ({ file: `${path}/${file}`, table, rows }));
}

async function begin(client: PostgresClient, schema: string, snapshot?: string): Promise<void> {
  await runQuery(client, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  if (snapshot !== undefined) await runQuery(client, `SET TRANSACTION SNAPSHOT '${snapshot}'`);
  await runQuery(client, `SET LOCAL search_path TO ${schema},public; ${setForCopies('LOCAL')}`);
}
