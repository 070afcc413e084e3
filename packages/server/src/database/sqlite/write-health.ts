import type { HealthReporter } from '../../base/server-health.ts';
import type { DatabaseFault } from '../database.ts';

/** A successful write ends the reported problem this long after the last failure. */
const recoveryMilliseconds = 5000;

/** Reports whether the writes of a store succeed. */
export class WriteHealth {
  readonly #report: HealthReporter;
  /** When the last write failed, since writes fail; null: they succeed. */
  #failedAt: number | null = null;

  constructor(report: HealthReporter) {
    this.#report = report;
  }

  /** @param isSyncFailure whether no write is acknowledged any more. */
  noteFailure(fault: DatabaseFault, isSyncFailure: boolean): void {
    this.#failedAt = performance.now();
    const message = isSyncFailure
      ? `The disk failed to sync (${fault.message}): no write is acknowledged until the server is restarted.`
      : `Writes fail: ${fault.message}.`;
    this.#report({ severity: isSyncFailure ? 'fatal' : 'failing', message, cause: fault });
  }

  /** On a disk that is nearly full, small writes still succeed between failing ones. */
  noteSuccess(): void {
    if (this.#failedAt === null || performance.now() - this.#failedAt < recoveryMilliseconds) return;
    this.clear();
  }

  /** There is no problem any more. */
  clear(): void {
    this.#failedAt = null;
    this.#report(null);
  }
}
