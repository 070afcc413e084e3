import type { TestProject } from 'vitest/node';
import { startThrowawayPostgres } from '../../../../scripts/throwaway-postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of a throw-away PostgreSQL, or null with the reason beside it. */
    postgresUrl: string | null;
    postgresSkipped: string | null;
  }
}

/** One PostgreSQL for the whole run. In CI its absence fails; on a laptop it is said and skipped. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = await startThrowawayPostgres({ durable: false });
  if ('skipped' in started) {
    if (process.env['CI']) throw new Error(`PostgreSQL is needed in CI: ${started.skipped}`);
    process.stdout.write(`PostgreSQL tests are skipped: ${started.skipped}\n`);
    project.provide('postgresUrl', null);
    project.provide('postgresSkipped', started.skipped);
    return async () => {};
  }
  project.provide('postgresUrl', started.url);
  project.provide('postgresSkipped', null);
  return started.stop;
}
