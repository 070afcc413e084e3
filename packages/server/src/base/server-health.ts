/** Problems that keep this server from working, by source. Each change of state is logged once. */
import type { Clock } from './clock.ts';
import { isoTime } from './clock.ts';
import type { Logger } from './logger.ts';

/**
 * - `warning`: every request is served, but the operator should act.
 * - `failing`: writes fail now and may succeed later without a restart.
 * - `fatal`: writes fail until the process is started again.
 */
export type Severity = 'warning' | 'failing' | 'fatal';

export interface Problem {
  readonly severity: Severity;
  /** For administrators: what is wrong and why. No path, address or statement. */
  readonly message: string;
  /** For the log only. */
  readonly cause?: unknown;
}

export interface OpenProblem {
  readonly source: string;
  readonly severity: Severity;
  readonly message: string;
  /** The time at which it began, in ISO 8601. */
  readonly since: string;
}

/** Reports the state of one source; null: no problem. */
export type HealthReporter = (problem: Problem | null) => void;

const levels = { warning: 'warn', failing: 'error', fatal: 'fatal', cleared: 'info' } as const;

/** Collects the problems that the parts of a server report. */
export class ServerHealth {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #problems = new Map<string, OpenProblem>();
  readonly #fatal = Promise.withResolvers<string>();
  #isLogging = false;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** The server has started. Errors before that are printed by the command line and not logged again. */
  begin(): void {
    this.#isLogging = true;
    for (const { source, severity, message } of this.problems) this.#log(severity, { source }, message);
  }

  /** Resolves with the message of the first fatal problem; never rejects. */
  get fatal(): Promise<string> {
    return this.#fatal.promise;
  }

  get problems(): readonly OpenProblem[] {
    return [...this.#problems.values()];
  }

  get canWrite(): boolean {
    return this.problems.every(({ severity }) => severity === 'warning');
  }

  reporter(source: string): HealthReporter {
    return (problem) => this.set(source, problem);
  }

  /** A fatal problem stays, whatever is reported later. */
  set(source: string, problem: Problem | null): void {
    const known = this.#problems.get(source);
    if (known?.severity === 'fatal') return;
    if (problem === null) {
      if (known && this.#problems.delete(source)) this.#log('cleared', { source }, `cleared: ${known.message}`);
      return;
    }
    const { severity, message, cause } = problem;
    if (known?.severity === severity && known.message === message) return;
    this.#problems.set(source, { source, severity, message, since: known?.since ?? isoTime(this.#clock.now()) });
    this.#log(severity, { source, ...(cause !== undefined && { err: cause }) }, message);
    if (severity === 'fatal') this.#fatal.resolve(`${source}: ${message}`);
  }

  #log(severity: Severity | 'cleared', more: object, message: string): void {
    if (this.#isLogging) this.#logger[levels[severity]](more, message);
  }
}
