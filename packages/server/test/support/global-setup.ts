import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { buildFolder } from '../../../../scripts/build-folder.ts';
import { startThrowawayPostgres } from '../../../../scripts/throwaway-postgres.ts';
import { serverBuild } from '../../build.ts';
import { readConfig } from '../../src/base/config.ts';
import { setCheapHashing } from '../../src/identity/password.ts';
import { startServer } from '../../src/server.ts';
import { buildTestServer } from './build-test-server.ts';
import {
  closeToConnections,
  createEmptyCluster,
  createOnNodes,
  dropOnNodes,
  emptyClusterDatabase,
  findClusterNodes,
  inDatabase,
} from './citus-cluster.ts';
import { serverProgram } from './server-program.ts';
import { bootstrappedDatabase, serverSettings } from './server-settings.ts';

/** True for `npm run test:quick`. */
const isQuick = process.env['TEST_QUICK'] !== undefined;

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a temporary PostgreSQL, or null if the PostgreSQL tests are skipped. */
    postgresUrl: string | null;
    /** Why the PostgreSQL tests are skipped, or null. */
    postgresSkipped: string | null;
    /** Addresses of the coordinator and the workers of the Citus cluster that replaces PostgreSQL; null: none. */
    clusterNodes: readonly string[] | null;
    /** A folder that a server has bootstrapped. Tests that do not concern the bootstrap start with a copy of it. */
    bootstrappedFolder: string;
  }
}

/** Starts one PostgreSQL for the whole run. Without PostgreSQL, CI fails; elsewhere its tests are skipped with a message. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  setCheapHashing(true);
  await prepareServers();
  const bootstrappedFolder = mkdtempSync(join(tmpdir(), 'tablinum-bootstrapped-'));
  await bootstrapStore(bootstrappedFolder);
  project.provide('bootstrappedFolder', bootstrappedFolder);
  const stop = await providePostgres(project);
  return async () => {
    await stop();
    rmSync(bootstrappedFolder, { recursive: true });
  };
}

/** Bundles the server, and the test server processes with their threads, and fills the compile cache for both. */
async function prepareServers(): Promise<void> {
  await buildFolder(serverBuild, true);
  await buildTestServer();
  for (const each of [serverBuild.output, serverProgram.folder]) fillCompileCache(each);
}

/**
 * Node writes its compile cache when a process exits by itself, but many tests kill their servers. So this loads all
 * files of a bundle,
 * including those that servers load later.
 */
function fillCompileCache(folder: string): void {
  const names = readdirSync(folder).filter((name) => name.endsWith('.js') && name !== 'cli.js');
  const urls = names.map((name) => pathToFileURL(join(folder, name)).href);
  // Programs of threads and child processes throw when they are imported here, but only after they were compiled.
  const load = `Promise.allSettled(${JSON.stringify(urls)}.map((url) => import(url))).then(() => process.exit())`;
  spawnSync(process.execPath, ['--eval', load], { stdio: 'ignore' });
}

async function providePostgres(project: TestProject): Promise<() => Promise<void>> {
  const cluster = process.env['TEST_CITUS_URL'];
  if (cluster) return provideCluster(project, cluster);
  project.provide('clusterNodes', null);
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
  await client.query(`DROP DATABASE IF EXISTS ${bootstrappedDatabase}`);
  await client.query(`CREATE DATABASE ${bootstrappedDatabase} TEMPLATE template0`).finally(() => client.end());
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-bootstrapped-'));
  await bootstrapStore(folder, Object.assign(new URL(started.url), { pathname: `/${bootstrappedDatabase}` }).href);
  rmSync(folder, { recursive: true });
  project.provide('postgresUrl', started.url);
  project.provide('postgresSkipped', null);
  return started.stop;
}

/** @param url the coordinator, with a role that may create databases and extensions. */
async function provideCluster(project: TestProject, url: string): Promise<() => Promise<void>> {
  const nodes = await findClusterNodes(url);
  await createEmptyCluster(nodes);
  await dropOnNodes(nodes, bootstrappedDatabase);
  await createOnNodes(nodes, bootstrappedDatabase, emptyClusterDatabase);
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-bootstrapped-'));
  await bootstrapStore(folder, inDatabase(url, bootstrappedDatabase));
  rmSync(folder, { recursive: true });
  await closeToConnections(nodes, bootstrappedDatabase);
  project.provide('clusterNodes', nodes);
  project.provide('postgresUrl', url);
  project.provide('postgresSkipped', null);
  return async () => {
    for (const name of [bootstrappedDatabase, emptyClusterDatabase]) await dropOnNodes(nodes, name);
  };
}

async function bootstrapStore(folder: string, url?: string): Promise<void> {
  const config = readConfig({ ...serverSettings, DATA_DIR: folder, ...(url && { DATABASE_URL: url }) });
  await (await startServer({ config })).stop();
}
