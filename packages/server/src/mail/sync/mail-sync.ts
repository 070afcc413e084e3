/**
 * The synchronisation of one application's accounts with their IMAP servers. Each account is synchronised by one server at a time, which
 * has its lease. Servers that share a store share the accounts evenly. When a server dies, its leases expire and the others take over.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { BackgroundWorker } from '../../base/background-worker.ts';
import { isoTime } from '../../base/clock.ts';
import { readAccountsWithDueOperations } from '../../database/mail/due-operation-rows.ts';
import {
  claimLeases,
  countWorkers,
  endFormerLeases,
  leaseNoticeMilliseconds,
  readSyncAccounts,
  refusedStatus,
  releaseLeases,
  removeWorker,
  renewLeases,
  reportWorker,
  restartSync,
  type SyncAccount,
} from '../../database/mail/lease-rows.ts';
import type { AccountRunner, RunnerParts, SyncStore } from './account-runner.ts';

/** Accounts that a server with more than its share gives to others at each poll. */
const maxReleased = 5;

/** Supervises the accounts of one application. */
export class MailSync {
  readonly #parts: RunnerParts;
  readonly #store: SyncStore;
  readonly #worker: BackgroundWorker;
  /** This server and application, in leases. */
  readonly #name = `${hostname().slice(0, 60)}:${process.pid}:${randomBytes(6).toString('hex')}`;
  readonly #runners = new Map<number, AccountRunner>();
  #accountCount = 0;
  /** By `performance.now()`. */
  #nextRenewal = 0;
  #isEnding = false;
  /** Whether leases of an earlier process are to be ended. */
  #mustRecover = false;

  constructor(parts: RunnerParts, store: SyncStore) {
    this.#parts = parts;
    this.#store = store;
    this.#worker = new BackgroundWorker({
      run: () => this.#tick(),
      onError: (error) => parts.logger.warn({ err: error }, 'The mail accounts could not be supervised.'),
      intervalMilliseconds: parts.services.sync.times.tickMilliseconds,
    });
  }

  /** Starts to synchronise, unless `MAIL_SYNC` is off for this server. @param isShared whether other servers may use the same store. */
  begin(isShared: boolean): void {
    if (!this.#parts.services.sync.isEnabled) return;
    this.#mustRecover = !isShared;
    this.#worker.start();
    this.#worker.wake(0);
  }

  /** Whether the application has accounts to synchronise, so that it must stay open. */
  get isBusy(): boolean {
    return this.#accountCount > 0;
  }

  /** Accounts that this server synchronises now. */
  get runningAccounts(): readonly number[] {
    return [...this.#runners.keys()];
  }

  /** Synchronises an account soon: accounts were created or changed, or somebody asks for a retry. */
  wake(accountId: number | null = null): void {
    this.#parts.presence.recheck();
    if (accountId !== null) this.#runners.get(accountId)?.wake();
    this.#worker.wake(0);
  }

  /** Sends the operations of an account soon. They were committed just now. */
  wakeOperations(accountId: number): void {
    this.#runners.get(accountId)?.wakeOperations();
  }

  /**
   * Synchronises an account now, wherever it runs: one that waits after a failure or was refused is tried again.
   *
   * @returns false if this server does not synchronise the account. Its lease was then ended, so that any server can
   * claim it.
   */
  async retry(accountId: number): Promise<boolean> {
    const runner = this.#runners.get(accountId);
    if (runner && !runner.hasEnded) {
      runner.wake();
      return true;
    }
    const { database } = this.#parts;
    const freeAt = isoTime(this.#parts.clock.now() + leaseNoticeMilliseconds);
    await database.write((transaction) => restartSync(database, transaction, accountId, freeAt));
    this.#worker.wake(0);
    return false;
  }

  /** Begins to stop: no command is sent any more. */
  signalEnd(): void {
    this.#isEnding = true;
    for (const runner of this.#runners.values()) runner.signalStop();
  }

  /** Stops all work and gives the leases back. */
  async end(): Promise<void> {
    this.signalEnd();
    await this.#worker.stop();
    const accounts = [...this.#runners.keys()];
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop()));
    this.#runners.clear();
    if (accounts.length === 0) return;
    await releaseLeases(this.#parts.database, this.#name, accounts);
    await removeWorker(this.#parts.database, this.#name);
  }

  async #tick(): Promise<void> {
    const { database } = this.#parts;
    if (this.#mustRecover) await endFormerLeases(database);
    this.#mustRecover = false;
    const mayHaveAny = this.#runners.size > 0 || (await this.#parts.presence.mayHaveAny());
    const accounts = mayHaveAny ? await readSyncAccounts(database) : [];
    this.#accountCount = accounts.length;
    await this.#stopLost(accounts);
    if (accounts.length === 0) return;
    await this.#renew(accounts);
    if (this.#isEnding) return;
    await this.#claim(accounts);
    for (const account of await readAccountsWithDueOperations(database, isoTime(this.#parts.clock.now())))
      this.wakeOperations(account);
  }

  /** Stops the work for accounts that are deleted, changed, claimed by another server, or refused by their mail server. */
  async #stopLost(accounts: readonly SyncAccount[]): Promise<void> {
    const leased = new Set(accounts.filter(({ leasedBy }) => leasedBy === this.#name).map(({ id }) => id));
    const stopped = [...this.#runners].filter(([id, runner]) => !leased.has(id) || runner.hasEnded);
    await Promise.all(stopped.map(([, runner]) => runner.stop()));
    for (const [id] of stopped) this.#runners.delete(id);
    const ended = stopped.map(([id]) => id).filter((id) => leased.has(id));
    if (ended.length > 0) await releaseLeases(this.#parts.database, this.#name, ended);
  }

  async #renew(accounts: readonly SyncAccount[]): Promise<void> {
    const { database, clock, services } = this.#parts;
    const { leaseMilliseconds, renewMilliseconds } = services.sync.times;
    const begun = performance.now();
    if (begun < this.#nextRenewal) return;
    this.#nextRenewal = begun + renewMilliseconds;
    const now = clock.now();
    await reportWorker(database, this.#name, { now: isoTime(now), deadSince: isoTime(now - leaseMilliseconds) });
    const held = [...this.#runners.keys()];
    if (held.length === 0) return;
    for (const id of await renewLeases(database, this.#name, held, isoTime(now + leaseMilliseconds)))
      this.#runners.get(id)?.renew(begun + leaseMilliseconds);
    await this.#releaseExcess(accounts);
  }

  /** Gives accounts to servers that have fewer. */
  async #releaseExcess(accounts: readonly SyncAccount[]): Promise<void> {
    const share = await this.#computeShare(accounts);
    const excess = [...this.#runners.keys()].slice(share).slice(0, maxReleased);
    if (excess.length === 0) return;
    await Promise.all(excess.map((id) => this.#runners.get(id)?.stop()));
    for (const id of excess) this.#runners.delete(id);
    await releaseLeases(this.#parts.database, this.#name, excess);
  }

  /** How many accounts this server should have at most. */
  async #computeShare(accounts: readonly SyncAccount[]): Promise<number> {
    const { database, clock, services } = this.#parts;
    const since = isoTime(clock.now() - services.sync.times.leaseMilliseconds);
    const workers = Math.max(1, await countWorkers(database, since));
    return Math.ceil(accounts.filter(({ status }) => status !== refusedStatus).length / workers);
  }

  async #claim(accounts: readonly SyncAccount[]): Promise<void> {
    const { AccountRunner: Runner } = await import('./account-runner.ts');
    const { database, clock, services } = this.#parts;
    const now = clock.now();
    const isFree = ({ leasedUntil, leasedBy }: SyncAccount): boolean =>
      leasedUntil === null || leasedBy === this.#name || Date.parse(leasedUntil) < now;
    const free = accounts.filter(
      (each) => each.status !== refusedStatus && !this.#runners.has(each.id) && isFree(each),
    );
    if (free.length === 0) return;
    const room = (await this.#computeShare(accounts)) - this.#runners.size;
    if (room <= 0) return;
    const { leaseMilliseconds } = services.sync.times;
    const begun = performance.now();
    const wanted = free.slice(0, room).map(({ id }) => id);
    const times = { now: isoTime(now), until: isoTime(now + leaseMilliseconds) };
    const claimed = new Set(await claimLeases(database, this.#name, wanted, times));
    for (const account of free) {
      if (!claimed.has(account.id) || this.#isEnding) continue;
      const runner = new Runner(this.#parts, this.#store, account, begun + leaseMilliseconds);
      this.#runners.set(account.id, runner);
      runner.start();
    }
  }
}
