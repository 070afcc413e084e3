import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, inject } from 'vitest';
import {
  closeToConnections,
  createOnNodes,
  dropOnNodes,
  emptyClusterDatabase,
  inDatabase,
  onAllNodes,
} from './citus-cluster.ts';
import { queryDatabase } from './query-database.ts';
import { bootstrappedDatabase } from './server-settings.ts';

export interface Store {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  /** Copies the stored data while no server runs. The returned function replaces the data with that copy. */
  copy(): Promise<() => Promise<void>>;
  remove(): Promise<void>;
}

export interface Engine {
  readonly name: 'sqlite' | 'postgres';
  /** Creates a new folder, and on PostgreSQL a new database. `isBootstrapped`: both are already bootstrapped. */
  store(isBootstrapped?: boolean): Promise<Store>;
}

export const sqlite: Engine = {
  name: 'sqlite',
  store: async (isBootstrapped) => makeStore(null, noDatabase, isBootstrapped),
};
/** With `npm run test:citus`, the stores of this engine are on a Citus cluster. */
export const postgres: Engine = {
  name: 'postgres',
  store: async (isBootstrapped) => {
    const nodes = inject('clusterNodes');
    return nodes === null ? makePostgresStore(isBootstrapped) : makeClusterStore(nodes, isBootstrapped);
  },
};

/** Runs the same suite on both engines; with `npm run test:citus`, only on a Citus cluster. */
export function describeEngines(name: string, body: (engine: Engine) => void): void {
  if (inject('clusterNodes') === null) describe(`${name} (sqlite)`, () => body(sqlite));
  describeSharedStores(name, body);
}

/** Runs a suite whose servers share a store: on PostgreSQL, or on a Citus cluster. Only one process can use a file of SQLite. */
export function describeSharedStores(name: string, body: (engine: Engine) => void): void {
  if (inject('clusterNodes') !== null) return void describe(`${name} (citus)`, () => body(postgres));
  const skipped = inject('postgresSkipped');
  if (skipped === null) describe(`${name} (postgres)`, () => body(postgres));
  else describe.skip(`${name} (postgres): ${skipped}`, () => body(postgres));
}

/** An engine whose servers all use one store, which is kept when a server is stopped. */
export function shareStore({ name }: Engine, store: Store): Engine {
  return { name, store: async () => ({ ...store, remove: async () => {} }) };
}

/** The operations of a store on its database; its folder is handled separately. */
interface DatabaseSide {
  copy(): Promise<() => Promise<void>>;
  drop(): Promise<void>;
}

const noDatabase: DatabaseSide = { copy: async () => async () => {}, drop: async () => {} };

function makeStore(databaseUrl: string | null, database: DatabaseSide, isBootstrapped = false): Store {
  const dataDir = mkdtempSync(join(tmpdir(), 'tablinum-test-'));
  if (isBootstrapped) cpSync(inject('bootstrappedFolder'), dataDir, { recursive: true });
  const copyDir = `${dataDir}-copy`;
  const copy = async (): Promise<() => Promise<void>> => {
    cpSync(dataDir, copyDir, { recursive: true });
    const restoreDatabase = await database.copy();
    return async () => {
      rmSync(dataDir, { recursive: true });
      renameSync(copyDir, dataDir);
      await restoreDatabase();
    };
  };
  const remove = async (): Promise<void> => {
    await database.drop();
    for (const each of [dataDir, copyDir]) rmSync(each, { recursive: true, force: true });
  };
  return { dataDir, databaseUrl, copy, remove };
}

async function makePostgresStore(isBootstrapped = false): Promise<Store> {
  const url = inject('postgresUrl')!;
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await createDatabase(url, name, isBootstrapped ? bootstrappedDatabase : 'template0');
  const drop = async (): Promise<void> => void (await queryDatabase(url, `DROP DATABASE ${name} WITH (FORCE)`));
  const copy = async (): Promise<() => Promise<void>> => {
    // Connections of a server that was killed may still be open.
    await queryDatabase(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname='${name}'`);
    await createDatabase(url, `${name}_copy`, name);
    return async () => {
      await drop();
      await queryDatabase(url, `ALTER DATABASE ${name}_copy RENAME TO ${name}`);
    };
  };
  return makeStore(inDatabase(url, name), { copy, drop });
}

async function makeClusterStore(nodes: readonly string[], isBootstrapped = false): Promise<Store> {
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await createOnNodes(nodes, name, isBootstrapped ? bootstrappedDatabase : emptyClusterDatabase);
  const drop = (): Promise<void> => dropOnNodes(nodes, name);
  const copy = async (): Promise<() => Promise<void>> => {
    await closeToConnections(nodes, name);
    await createOnNodes(nodes, `${name}_copy`, name);
    await onAllNodes(nodes, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    return async () => {
      await drop();
      await onAllNodes(nodes, `ALTER DATABASE ${name}_copy RENAME TO ${name}`);
    };
  };
  return makeStore(inDatabase(nodes[0] ?? '', name), { copy, drop }, isBootstrapped);
}

/**
 * Copies the files of the template, which takes half the processor time of copying the database through its write-ahead
 * log.
 */
async function createDatabase(url: string, name: string, template: string): Promise<void> {
  await queryDatabase(url, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
}
