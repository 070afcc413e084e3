import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describe, inject } from 'vitest';
import { bornDatabase } from './server-settings.ts';

export interface Store {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  /** Keeps a copy of what is there, while no server runs; returns what puts it in the place of what there is then. */
  copy(): Promise<() => Promise<void>>;
  remove(): Promise<void>;
}

export interface Engine {
  readonly name: 'sqlite' | 'postgres';
  /** A fresh folder, and on PostgreSQL a fresh database; `born`: in which a server has been born already. */
  store(born?: boolean): Promise<Store>;
}

export const sqlite: Engine = { name: 'sqlite', store: async (born) => folderStore(null, noDatabase, born) };
export const postgres: Engine = { name: 'postgres', store: postgresStore };

/** The contract suite: the same body on both engines. */
export function describeEngines(name: string, body: (engine: Engine) => void): void {
  describe(`${name} (sqlite)`, () => body(sqlite));
  const skipped = inject('postgresSkipped');
  if (skipped === null) describe(`${name} (postgres)`, () => body(postgres));
  else describe.skip(`${name} (postgres): ${skipped}`, () => body(postgres));
}

/** Servers of one store, which stays when one of them is stopped. */
export function nodesOf({ name }: Engine, store: Store): Engine {
  return { name, store: async () => ({ ...store, remove: async () => {} }) };
}

/** What a store does with its database besides its folder. */
interface DatabaseSide {
  copy(): Promise<() => Promise<void>>;
  drop(): Promise<void>;
}

const noDatabase: DatabaseSide = { copy: async () => async () => {}, drop: async () => {} };

function folderStore(databaseUrl: string | null, database: DatabaseSide, born = false): Store {
  const dataDir = mkdtempSync(join(tmpdir(), 'tablinum-test-'));
  if (born) cpSync(inject('bornFolder'), dataDir, { recursive: true });
  const copyDir = `${dataDir}-copy`;
  const copy = async (): Promise<() => Promise<void>> => {
    cpSync(dataDir, copyDir, { recursive: true });
    const putBack = await database.copy();
    return async () => {
      rmSync(dataDir, { recursive: true });
      renameSync(copyDir, dataDir);
      await putBack();
    };
  };
  const remove = async (): Promise<void> => {
    await database.drop();
    for (const each of [dataDir, copyDir]) rmSync(each, { recursive: true, force: true });
  };
  return { dataDir, databaseUrl, copy, remove };
}

async function postgresStore(born = false): Promise<Store> {
  const url = inject('postgresUrl')!;
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await administer(url, `CREATE DATABASE ${name} TEMPLATE ${born ? bornDatabase : 'template0'}`);
  const own = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  const drop = (): Promise<void> => administer(url, `DROP DATABASE ${name} WITH (FORCE)`);
  const copy = async (): Promise<() => Promise<void>> => {
    // Connections of a server that was killed may still be there.
    await administer(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname='${name}'`);
    await administer(url, `CREATE DATABASE ${name}_copy TEMPLATE ${name}`);
    return async () => {
      await drop();
      await administer(url, `ALTER DATABASE ${name}_copy RENAME TO ${name}`);
    };
  };
  return folderStore(own, { copy, drop });
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
