/**
 * The work for one account as long as this server has its lease: connects, synchronises, waits after failures, and connects again.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import type { ImapFlow } from 'imapflow';
import { BackgroundPace } from '../../base/background-pace.ts';
import type { BlobStore } from '../../base/blob-store.ts';
import { isoTime } from '../../base/clock.ts';
import type { AccountPresence } from '../../database/mail/account-presence.ts';
import type { SyncAccount } from '../../database/mail/lease-rows.ts';
import { loadLogin } from '../connect/load-login.ts';
import { MailServerProblem } from '../connect/mail-server-problem.ts';
import { openImap } from '../connect/open-imap.ts';
import type { ServerLogin } from '../connect/server-login.ts';
import { selectServerNames } from '../connect/server-text.ts';
import { toMailServerProblem } from '../connect/to-mail-server-problem.ts';
import type { MailServices } from '../mail-store.ts';
import type { MailOperations } from '../store/mail-operations.ts';
import type { ServerMail } from '../store/server-mail.ts';
import {
  type AccountStatus,
  type ProblemSource,
  type ReportedProblem,
  type ReportParts,
  reportProblem,
  reportStatus,
} from './account-reports.ts';
import { AccountSync } from './account-sync.ts';
import { computeSyncPause, type RetryKind } from './backoff.ts';
import { BodyDownload } from './body-download.ts';
import type { SyncParts } from './mailbox-sync.ts';
import { MessageDownload } from './message-download.ts';
import { OperationExecutor } from './operation-executor.ts';
import type { RunningBodies } from './running-bodies.ts';
import { StoredMessages } from './stored-messages.ts';
import type { SyncServices } from './sync-services.ts';
import { SyncSession } from './sync-session.ts';
import { Wakeup } from './wakeup.ts';

/** What the work for accounts is done with. */
export interface RunnerParts extends ReportParts {
  readonly application: string;
  readonly blobs: BlobStore;
  readonly services: MailServices;
  readonly presence: AccountPresence;
}

/** The store, as the mail server sees it. */
export interface SyncStore {
  readonly serverMail: ServerMail;
  readonly operations: MailOperations;
  /** Bodies that are read from mail servers now. */
  readonly running: RunningBodies;
}

/** Another server may synchronise the account now, so this one must not write for it any more. */
export class LeaseLost extends Error {
  constructor() {
    super('The lease of the account has ended.');
  }
}

/** Keeps one account synchronised until it is stopped. */
export class AccountRunner {
  readonly account: SyncAccount;
  readonly #parts: RunnerParts;
  readonly #store: SyncStore;
  readonly #stopping = new AbortController();
  readonly #wakeup = new Wakeup();
  /** By `performance.now()`: until then, no other server has the lease. */
  #leasedUntil: number;
  #failures: number;
  /** When everything was stored for the first time on the present connection, by `performance.now()`; null: not yet. */
  #synchronisedAt: number | null = null;
  /** By `performance.now()`: when a retry that a user requests may begin. */
  #nextRequest = 0;
  #sync: AccountSync | null = null;
  #client: ImapFlow | null = null;
  #status: AccountStatus | null = null;
  #hasEnded = false;
  #running: Promise<void> = Promise.resolve();

  /** @param leasedUntil by `performance.now()`. */
  constructor(parts: RunnerParts, store: SyncStore, account: SyncAccount, leasedUntil: number) {
    this.#parts = parts;
    this.#store = store;
    this.account = account;
    this.#failures = account.failures;
    this.#leasedUntil = leasedUntil;
  }

  /** Whether it does nothing any more, because the server refused the sign-in or the lease was lost. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  start(): void {
    this.#running = this.#run()
      .catch((error: unknown) => this.#parts.logger.error({ err: error }, 'A mail account could not be synchronised.'))
      .finally(() => {
        this.#hasEnded = true;
      });
  }

  /** The lease was renewed. @param until by `performance.now()`. */
  renew(until: number): void {
    this.#leasedUntil = until;
  }

  /** Synchronises now; an account that waits after a failure is tried again. */
  wake(): void {
    this.#sync?.wake();
    this.#wakeup.signal();
  }

  /** Sends now what waits to be sent. An account that waits after a failure goes on waiting. */
  wakeOperations(): void {
    this.#sync?.wakeOperations();
  }

  /** Closes the connection. Resolves when nothing is written for the account any more. */
  async stop(): Promise<void> {
    this.signalStop();
    await this.#running;
  }

  /** Begins to stop. */
  signalStop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort(new LeaseLost());
    this.#wakeup.signal();
    this.#client?.close();
  }

  async #run(): Promise<void> {
    const { clock } = this.#parts;
    const { retryAt } = this.account;
    if (retryAt !== null) await this.#wakeup.wait(Math.max(0, Date.parse(retryAt) - clock.now()));
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#connectAndSync();
      } catch (error) {
        if (this.#stopping.signal.aborted || error instanceof LeaseLost) return;
        if (!(await this.#pauseAfter(error))) return;
      }
    }
  }

  async #connectAndSync(): Promise<void> {
    const { services, signal } = { services: this.#parts.services, signal: this.#stopping.signal };
    const slot = await services.sync.connections.acquire(this.account.host, signal);
    let login: ServerLogin | null = null;
    let connectionError: unknown = null;
    this.#synchronisedAt = null;
    try {
      await this.#setStatus('connecting');
      login = await loadLogin(this.#parts, this.account.id, 'imap');
      const options = { ...connectionOptions, socketTimeout: services.sync.times.silenceMilliseconds };
      const client = await openImap(login, { services, logger: this.#parts.logger, signal }, options);
      this.#client = client;
      client.once('error', (error: unknown) => {
        connectionError = error;
      });
      await this.#synchronise(new SyncSession(client, services.sync.times), slot);
    } catch (error) {
      if (login === null || error instanceof LeaseLost || signal.aborted) throw error;
      // The error of the running command only says that the connection was closed.
      throw toMailServerProblem(isNoConnection(error) ? (connectionError ?? error) : error, login);
    } finally {
      this.#client?.close();
      this.#client = null;
      slot.release();
    }
  }

  async #synchronise(
    session: SyncSession,
    slot: Awaited<ReturnType<SyncServices['connections']['acquire']>>,
  ): Promise<void> {
    const { services, clock, logger } = this.#parts;
    const account = { id: this.account.id, address: this.account.address };
    const requireLease = (): void => this.#requireLease();
    const report = (problem: ReportedProblem): Promise<void> => this.#report('sync', problem);
    const base = {
      pace: new BackgroundPace(),
      account,
      session,
      serverMail: this.#store.serverMail,
      report,
      requireLease,
    };
    const downloadParts = { ...base, bytes: services.sync.bytes, signal: this.#stopping.signal };
    const download = new MessageDownload(downloadParts);
    const { times } = services.sync;
    const parts: SyncParts = { ...base, since: this.account.since, download, times, clock, logger };
    const bodies = new BodyDownload({ ...downloadParts, ...parts, running: this.#store.running });
    await this.#storeCapabilities(session);
    const sync = new AccountSync({
      ...parts,
      reports: this.#parts,
      bodies,
      slot,
      signal: this.#stopping.signal,
      createExecutor: () =>
        new OperationExecutor({
          ...parts,
          operations: this.#store.operations,
          rawSource: new StoredMessages(this.#parts.database, this.#parts.blobs),
          now: () => clock.now(),
          report: (problem) => this.#report('operation', problem),
        }),
      setStatus: (status, lastSyncAt) => this.#setStatus(status, lastSyncAt),
      onSynchronised: () => {
        this.#synchronisedAt ??= performance.now();
        this.#forgetFailures();
      },
    });
    this.#sync = sync;
    try {
      await sync.run();
    } finally {
      this.#sync = null;
      await sync.end();
    }
  }

  /** A server that drops every connection after a while must not be connected to again and again without longer waits. */
  #forgetFailures(): void {
    const { stableMilliseconds } = this.#parts.services.sync.times;
    const since = this.#synchronisedAt;
    if (since !== null && performance.now() - since >= stableMilliseconds) this.#failures = 0;
  }

  #requireLease(): void {
    if (this.#stopping.signal.aborted || performance.now() >= this.#leasedUntil) throw new LeaseLost();
  }

  async #storeCapabilities({ client }: SyncSession): Promise<void> {
    const capabilities = selectServerNames(client.capabilities.keys())
      .map((name) => name.toUpperCase())
      .sort();
    await reportStatus(this.#parts, this.account.id, { status: this.#status ?? 'connecting', capabilities });
  }

  /** Stores a changed status. A status without problems also removes the problem of an earlier one. */
  async #setStatus(status: AccountStatus, lastSyncAt?: string): Promise<void> {
    this.#requireLease();
    // A connection that was lost and is opened again at once changes nothing that a user should see.
    if (status === 'connecting' && this.#failures > 0) return;
    const isSame = status === this.#status;
    this.#status = status;
    if (isSame && lastSyncAt === undefined) return;
    const isWorking = status === 'live' || status === 'syncing';
    await reportStatus(this.#parts, this.account.id, {
      status,
      ...(isWorking && { problem: null, retryAt: null }),
      ...(status === 'live' && { failures: this.#failures }),
      ...(lastSyncAt !== undefined && { lastSyncAt }),
    });
  }

  /** Reports a failure and waits. @returns false where no retry can help before somebody changes the account. */
  async #pauseAfter(error: unknown): Promise<boolean> {
    const { clock, logger, services } = this.#parts;
    const problem = describeFailure(error);
    if (!(error instanceof MailServerProblem))
      logger.warn({ err: error, account: this.account.id }, 'The synchronisation of a mail account failed.');
    this.#forgetFailures();
    this.#failures += 1;
    const wait = computeSyncPause(problem.retry, this.#failures, services.sync.times.retryMilliseconds);
    const pause = wait === null ? null : Math.max(wait, problem.waitMilliseconds ?? 0);
    this.#requireLease();
    // After the first loss of a connection, the account is reconnected before a problem is reported.
    const isQuiet = this.#failures === 1 && problem.retry === 'soon' && this.#status === 'live';
    if (!isQuiet) {
      await this.#report('connect', problem);
      this.#status = pause === null ? 'authError' : 'backoff';
      const retryAt = pause === null ? null : isoTime(clock.now() + pause);
      await reportStatus(this.#parts, this.account.id, {
        status: this.#status,
        problem,
        retryAt,
        failures: this.#failures,
      });
    }
    if (pause === null) return false;
    const end = performance.now() + pause;
    if (await this.#wakeup.wait(pause)) {
      this.#failures = Math.min(this.#failures, 1);
      await this.#waitForRequest(end);
    }
    return true;
  }

  /**
   * Delays a retry that a user requests, but not beyond the planned retry: repeated requests do not cause repeated
   * sign-ins.
   *
   * @param latest the planned retry.
   */
  async #waitForRequest(latest: number): Promise<void> {
    const wait = Math.min(this.#nextRequest, latest) - performance.now();
    if (wait > 0) await pauseFor(wait, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => {});
    this.#nextRequest = performance.now() + this.#parts.services.sync.times.retryMilliseconds;
  }

  async #report(source: ProblemSource, { code, message, cure }: ReportedProblem): Promise<void> {
    this.#requireLease();
    await reportProblem(this.#parts, this.account.id, { source, code, message, cure });
  }
}

/** IDLE is restarted before servers and network devices drop an idle connection. */
const connectionOptions = {
  qresync: true,
  disableAutoIdle: true,
  maxIdleTime: 600_000,
} as const;

function isNoConnection(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'NoConnection';
}

interface Failure extends ReportedProblem {
  readonly retry: RetryKind;
  readonly waitMilliseconds: number | null;
}

function describeFailure(error: unknown): Failure {
  if (error instanceof MailServerProblem) {
    const { code, message, cure, retry, waitMilliseconds } = error;
    return { code, message, cure, retry, waitMilliseconds };
  }
  return {
    code: 'internal',
    message: 'The account could not be synchronised because of a fault of this server.',
    cure: 'The server tries again by itself. Its log tells the operator more.',
    retry: 'soon',
    waitMilliseconds: null,
  };
}
