/**
 * What users see of the work for an account: its status, its progress, and the log of its problems. Every change of the status appends
 * the event `accounts.status`; progress appends `accounts.progress`, at most once each second and account.
 */
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database } from '../../database/database.ts';
import { type AccountState, logProblem, setAccountState } from '../../database/mail/problem-rows.ts';
import { appendMailEvent, type MailEvent } from '../store/mail-events.ts';

/** What reports are written with. */
export interface ReportParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A problem with a mail server, in words that a user understands. */
export interface ReportedProblem {
  /** A stable name, such as `wrongPassword`. */
  readonly code: string;
  /** What is wrong, in one sentence. */
  readonly message: string;
  /** What a person can do about it, in one sentence. */
  readonly cure: string;
}

/** The part of the server that had a problem. */
export type ProblemSource = 'connect' | 'sync' | 'operation' | 'delivery';

export type AccountStatus = 'disabled' | 'connecting' | 'syncing' | 'live' | 'backoff' | 'authError';

/** The status of an account with what belongs to it. */
export interface StatusReport extends Pick<AccountState, 'retryAt' | 'failures' | 'lastSyncAt' | 'capabilities'> {
  readonly status: AccountStatus;
  /** Null: the account has no problem any more. Absent: its problem stays. */
  readonly problem?: ReportedProblem | null;
}

/**
 * Adds a problem to the log of an account. A problem that occurs again directly after itself is counted in its entry.
 *
 *     await reportProblem(parts, account.id, { source: 'delivery', code: 'overQuota', message, cure });
 */
export async function reportProblem(
  parts: ReportParts,
  account: number,
  { source, code, message, cure }: ReportedProblem & { readonly source: ProblemSource },
): Promise<void> {
  const { database, clock } = parts;
  await database.write(async (transaction) => {
    const at = isoTime(clock.now());
    const logged = await logProblem(database, transaction, account, { at, source, code, message, cure });
    if (!logged) return;
    const event: MailEvent = logged.isNew
      ? { name: 'mailProblems.created', keys: [logged.id] }
      : { name: 'mailProblems.updated', keys: [logged.id], changed: ['at', 'count'] };
    await appendMailEvent(transaction, { ...parts, actor: null, requestId: null }, event);
  });
}

/** Stores the status of an account and appends `accounts.status`. @returns false where the account is deleted. */
export function reportStatus(parts: ReportParts, account: number, report: StatusReport): Promise<boolean> {
  const { problem, ...rest } = report;
  const stored =
    problem === undefined
      ? rest
      : { ...rest, problem: problem && { ...pickProblem(problem), at: isoTime(parts.clock.now()) } };
  return storeState(parts, account, 'accounts.status', stored);
}

/** What a synchronisation has done, as `accounts.progress` reports it. */
export type ProgressReport = Pick<AccountState, 'backfillDone' | 'backfillTotal' | 'bodiesWaiting' | 'lastSyncAt'>;

/** Stores the progress of an account and appends `accounts.progress`. */
export async function reportProgress(parts: ReportParts, account: number, report: ProgressReport): Promise<void> {
  await storeState(parts, account, 'accounts.progress', report);
}

function pickProblem({ code, message, cure }: ReportedProblem): ReportedProblem {
  return { code, message, cure };
}

function storeState(
  parts: ReportParts,
  account: number,
  name: 'accounts.status' | 'accounts.progress',
  state: AccountState,
): Promise<boolean> {
  const { database } = parts;
  return database.write(async (transaction) => {
    // Progress leaves the version as it is, so that an editor of the account does not conflict with its first synchronisation.
    const isNewVersion = name === 'accounts.status';
    if (!(await setAccountState(database, transaction, account, { state, isNewVersion }))) return false;
    const visible = Object.keys(state).filter((each) => each !== 'failures');
    const event = { name, keys: [account], changed: visible } as const;
    await appendMailEvent(transaction, { ...parts, actor: null, requestId: null }, event);
    return true;
  });
}

/** Reports progress at most once a second; the last report of a burst is never lost. */
export class ProgressReporter {
  readonly #parts: ReportParts;
  readonly #account: number;
  #pending: ProgressReport | null = null;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: ReportParts, account: number) {
    this.#parts = parts;
    this.#account = account;
  }

  /** Reports within a second; later values replace these. */
  report(progress: ProgressReport): void {
    this.#pending = { ...this.#pending, ...progress };
    if (this.#timer === null) {
      this.#write();
      this.#timer = setTimeout(() => this.#continue(), progressIntervalMilliseconds).unref();
    }
  }

  /** Writes what is pending. Resolves when it is written. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#write();
    await this.#writing;
  }

  #continue(): void {
    this.#timer = null;
    if (this.#pending !== null) this.report({});
  }

  #write(): void {
    const progress = this.#pending;
    if (progress === null) return;
    this.#pending = null;
    this.#writing = this.#writing
      .then(() => reportProgress(this.#parts, this.#account, progress))
      .catch((error: unknown) =>
        this.#parts.logger.warn({ err: error }, 'The progress of a mail account could not be stored.'),
      );
  }
}

const progressIntervalMilliseconds = 1000;
