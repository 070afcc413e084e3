import { DatabaseFault, StaleVersion } from '../database/database.ts';

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
