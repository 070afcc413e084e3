import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describe, inject } from 'vitest';

export interface Store {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  remove(): Promise<void>;
}

export interface Engine {
  readonly name: 'sqlite' | 'postgres';
  /** A fresh folder, and on PostgreSQL a fresh database. */
  store(): Promise<Store>;
}

export const sqlite: Engine = { name: 'sqlite', store: async () => folderStore(null, async () => {}) };
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

function folderStore(databaseUrl: string | null, drop: () => Promise<void>): Store {
  const dataDir = mkdtempSync(join(tmpdir(), 'tablinum-test-'));
  const remove = async (): Promise<void> => {
    await drop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { dataDir, databaseUrl, remove };
}

async function postgresStore(): Promise<Store> {
  const url = inject('postgresUrl')!;
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await administer(url, `CREATE DATABASE ${name} TEMPLATE template0`);
  const own = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  return folderStore(own, () => administer(url, `DROP DATABASE ${name} WITH (FORCE)`));
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
