import { readVersions } from '../database/catalogue.ts';
import { type Database, DatabaseFault, StaleVersion } from '../database/database.ts';

/** Maximum random wait before another attempt, so that writers that change permissions do not collide again. */
const maxBackoffMilliseconds = 100;

/** Waits before the next attempt of work that met an outdated snapshot. @param attempt from 1. */
export function backOff(attempt: number): Promise<void> {
  const wait = Math.random() * Math.min(maxBackoffMilliseconds, 5 * 2 ** attempt);
  return new Promise((resolve) => setTimeout(resolve, wait));
}

/** Whether an error means that the snapshot of a statement is outdated. */
export function isStale(error: unknown): boolean {
  return error instanceof StaleVersion || (error instanceof DatabaseFault && error.kind === 'stale');
}

/** Whether a store is not at a version. If its tables cannot be found, because it is being moved, it is not; a new load says why. */
export function hasOtherVersion(database: Database, version: number): Promise<boolean> {
  return readVersions(database).then(
    (found) => found.version !== version,
    (error: unknown) => isStale(error) || Promise.reject(error),
  );
}
