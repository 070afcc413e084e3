/** Creates empty stores for the two servers of a comparison, on the same engine. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import type { Engine } from '../places.ts';
import type { Store } from './subject.ts';

export interface Stores {
  readonly own: Store;
  readonly peer: Store;
  remove(): Promise<void>;
}

/** @throws with the reason, if the engine cannot be started here. */
export async function makeStores(engine: Engine): Promise<Stores> {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-peers-data-'));
  const own = join(folder, 'own');
  const peer = join(folder, 'peer');
  for (const each of [own, peer]) mkdirSync(each);
  chmodSync(folder, 0o755);
  const clean = (): void => rmSync(folder, { recursive: true, force: true });
  if (engine === 'sqlite')
    return {
      own: { folder: own, databaseUrl: null },
      peer: { folder: peer, databaseUrl: null },
      remove: async () => clean(),
    };
  const server = await startThrowawayPostgres({ durable: true });
  if ('skipped' in server) throw new Error(`no PostgreSQL: ${server.skipped}`);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  for (const name of ['peers_own', 'peers_peer']) {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${name} TEMPLATE template0`);
  }
  await client.end();
  const at = (name: string): string => Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
  return {
    own: { folder: own, databaseUrl: at('peers_own') },
    peer: { folder: peer, databaseUrl: at('peers_peer') },
    async remove() {
      await server.stop();
      clean();
    },
  };
}

/** The version of the engine, as it names itself. */
export async function engineVersion({ databaseUrl }: Store): Promise<string> {
  if (databaseUrl === null) return 'SQLite';
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
  await client.end();
  return `PostgreSQL ${rows[0]!.server_version.split(' ')[0]}`;
}

/** Gives PostgreSQL the statistics that it would gather by itself within minutes. */
export async function analyse({ databaseUrl }: Store): Promise<void> {
  if (databaseUrl === null) return;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('ANALYZE');
  await client.end();
}
