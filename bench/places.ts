import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startThrowawayPostgres } from '../scripts/throwaway-postgres.ts';

export type Engine = 'sqlite' | 'postgres';

/** Where the server and the yardstick keep their data. */
export interface Places {
  readonly dataDir: string;
  readonly serverUrl: string | null;
  readonly yardstickEnv: Record<string, string>;
  remove(): Promise<void>;
}

/** Creates empty places for one run; null, with a printed line, if the engine is not available. */
export async function places(engine: Engine): Promise<Places | null> {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-bench-'));
  const clean = (): void => rmSync(folder, { recursive: true, force: true });
  if (engine === 'sqlite')
    return {
      dataDir: join(folder, 'data'),
      serverUrl: null,
      yardstickEnv: { YARDSTICK_FILE: join(folder, 'yardstick.db') },
      remove: async () => clean(),
    };
  const server = await startThrowawayPostgres({ durable: true });
  if ('skipped' in server) {
    console.log(`postgres skipped: ${server.skipped}`);
    return null;
  }
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  for (const name of ['bench_server', 'bench_yardstick']) {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${name} TEMPLATE template0`);
  }
  await client.end();
  const at = (name: string): string => Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
  const remove = async (): Promise<void> => {
    await server.stop();
    clean();
  };
  return {
    dataDir: join(folder, 'data'),
    serverUrl: at('bench_server'),
    yardstickEnv: { YARDSTICK_URL: at('bench_yardstick') },
    remove,
  };
}
