import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startThrowawayPostgres } from '../../../../scripts/throwaway-postgres.ts';
import { readConfig } from '../../src/base/config.ts';
import { setCheapHashing } from '../../src/identity/password.ts';
import { startServer } from '../../src/server.ts';
import { bornDatabase, serverSettings } from './server-settings.ts';

/** `npm run test:quick` */
const isQuick = process.env['TEST_QUICK'] !== undefined;

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of a throw-away PostgreSQL, or null with the reason beside it. */
    postgresUrl: string | null;
    postgresSkipped: string | null;
    /** A folder that a server has just been born in: tests that are not about births begin with a copy of it. */
    bornFolder: string;
  }
}

/** One PostgreSQL for the whole run. In CI its absence fails; on a laptop it is said and skipped. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  setCheapHashing(true);
  const bornFolder = mkdtempSync(join(tmpdir(), 'tablinum-born-'));
  await giveBirth(bornFolder);
  project.provide('bornFolder', bornFolder);
  const stop = await providePostgres(project);
  return async () => {
    await stop();
    rmSync(bornFolder, { recursive: true });
  };
}

async function providePostgres(project: TestProject): Promise<() => Promise<void>> {
  const started = isQuick
    ? { skipped: 'a quick run is on SQLite only' }
    : await startThrowawayPostgres({ durable: false });
  if ('skipped' in started) {
    if (process.env['CI'] && !isQuick) throw new Error(`PostgreSQL is needed in CI: ${started.skipped}`);
    process.stdout.write(`PostgreSQL tests are skipped: ${started.skipped}\n`);
    project.provide('postgresUrl', null);
    project.provide('postgresSkipped', started.skipped);
    return async () => {};
  }
  const client = new pg.Client({ connectionString: started.url });
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS ${bornDatabase}`);
  await client.query(`CREATE DATABASE ${bornDatabase} TEMPLATE template0`).finally(() => client.end());
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-born-'));
  await giveBirth(folder, Object.assign(new URL(started.url), { pathname: `/${bornDatabase}` }).href);
  rmSync(folder, { recursive: true });
  project.provide('postgresUrl', started.url);
  project.provide('postgresSkipped', null);
  return started.stop;
}

async function giveBirth(folder: string, url?: string): Promise<void> {
  const config = readConfig({ ...serverSettings, DATA_DIR: folder, ...(url && { DATABASE_URL: url }) });
  await (await startServer({ config })).stop();
}
