/** All applications of this server: finds the one of a request, and starts, stops and destroys them. */
import { existsSync } from 'node:fs';
import { isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { tokenKind } from '../base/token.ts';
import {
  claimDueApplications,
  findApplication,
  findTokenApplication,
  insertTokenApplication,
  readApplicationsByStatus,
  readAutoStartedNames,
  readDisplayName,
  readStores,
} from '../database/application-rows.ts';
import { bumpVersion } from '../database/catalogue.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Application, mainApplicationName } from './application.ts';
import { createPermanentLease, type Lease } from './application-lease.ts';
import {
  ApplicationList,
  applicationExists,
  type Requester,
  type RestoredStore,
  rejectMain,
} from './application-list.ts';
import type { ServerBackups, ServerBackupsParts } from './backups/server-backups.ts';
import { runHousekeeping } from './housekeeping.ts';
import type { NodeMoves } from './moves/node-moves.ts';
import type { ReceivedMoves, ReceivedMovesParts } from './moves/received-moves.ts';
import { OpenApplications, type OpenApplicationsParts } from './open-applications.ts';

const tickMilliseconds = 15_000;
/** How long a stop waits until other servers have closed the application: as long as it waits for running requests. */
const closeElsewhereMilliseconds = 30_000;

export interface ApplicationsParts extends Omit<OpenApplicationsParts, 'list'> {
  readonly backups: Omit<ServerBackupsParts, 'applications' | 'stores'> & {
    /** False: no background work is started. */
    readonly begins: boolean;
  };
  readonly openMoveStores: ReceivedMovesParts['openStores'];
  /**
   * Closes all stores and opens them again in the same process. Meanwhile, requests get 503.
   *
   * @param replaceMain is run while all stores are closed; null: another server replaces `main`.
   */
  readonly restart: (replaceMain: (() => Promise<void>) | null) => void;
}

/** A stopped application in the list. */
export interface StoppedApplication {
  readonly store: string;
  readonly displayName: string | null;
}

/** Callbacks around the replacement of a store. */
export interface ReplaceSteps {
  /** @param wasServed whether the application is stopped only for the exchange. */
  beforeStop(store: string, wasServed: boolean): Promise<void>;
  whileStopped(): Promise<void>;
}

/** All applications of this server. */
export class Applications {
  readonly main: Application;
  readonly restart: ApplicationsParts['restart'];
  readonly #parts: ApplicationsParts;
  #backups: Promise<ServerBackups> | null = null;
  #receivedMoves: ReceivedMoves | null = null;
  #nodeMoves: NodeMoves | null = null;
  /** Resolves when interrupted moves to other nodes are settled; null: this is not running. */
  #settling: Promise<void> | null = null;
  readonly #logger: Logger;
  readonly #list: ApplicationList;
  readonly #open: OpenApplications;
  readonly #mainLease: Lease;
  #mainDue: number | null = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(parts: ApplicationsParts) {
    this.#parts = parts;
    this.main = parts.main;
    this.#logger = parts.common.logger;
    this.#list = new ApplicationList(parts.main);
    this.#open = new OpenApplications({ ...parts, list: this.#list });
    this.restart = parts.restart;
    parts.stores.group()?.watch((message) => {
      if (message === 'main') parts.restart(null);
      else this.closeMoved().catch((error: unknown) => this.#warn(error, 'Applications could not be closed.'));
    });
    this.#mainLease = createPermanentLease(parts.main, null);
  }

  /** The number of open applications, without `main`. */
  get openCount(): number {
    return this.#open.count;
  }

  /** The backups of the server. @throws StartFailure if their schedule is invalid. */
  async backups(): Promise<ServerBackups> {
    const { openServerBackups } = await import('./backups/server-backups.ts');
    const { backups, stores } = this.#parts;
    this.#backups ??= openServerBackups({ ...backups, stores, applications: this });
    return this.#backups;
  }

  /** The moves to this server. */
  async receivedMoves(): Promise<ReceivedMoves> {
    const { ReceivedMoves } = await import('./moves/received-moves.ts');
    const { openMoveStores, backups } = this.#parts;
    const parts = { applications: this, openStores: openMoveStores, source: backups.source };
    this.#receivedMoves ??= new ReceivedMoves(parts);
    return this.#receivedMoves;
  }

  /** The moves to other nodes of a cluster. */
  async nodeMoves(): Promise<NodeMoves> {
    const { NodeMoves } = await import('./moves/node-moves.ts');
    this.#nodeMoves ??= new NodeMoves({ ...this.#parts, applications: this, source: this.#parts.backups.source });
    return this.#nodeMoves;
  }

  /** The store of an application that can be moved to another node. @throws ApiError */
  async requireMovable(name: string): Promise<string> {
    await this.#requireNotRestored(name);
    const { store, isBootstrapped } = await this.#list.findRow(name);
    if (isBootstrapped) return store;
    throw new ApiError('MOVE_REFUSED', `The application "${name}" was never started. Start it, and try again.`);
  }

  /** Closes applications that are on another node now, or were stopped by another server. */
  async closeMoved(): Promise<void> {
    await this.#open.closeWithdrawn();
  }

  /** Settles moves whose servers have died, in the background. */
  #settleMoves(): void {
    if (!this.#parts.backups.begins || this.#settling) return;
    this.#settling = this.backups()
      .then(({ backups }) => backups.settle())
      .catch((error: unknown) => this.#warn(error, 'Interrupted moves could not be settled.'))
      .finally(() => {
        this.#settling = null;
      });
  }

  /** Finishes or undoes interrupted backups and starts the schedule, if there may be backups. */
  async #beginBackups(): Promise<void> {
    const { begins, settings, folder } = this.#parts.backups;
    const { schedule, s3 } = settings();
    const mayHaveAny = schedule !== null || s3 !== null || this.isShared || existsSync(folder);
    if (!begins || !mayHaveAny) return;
    await (await this.backups()).begin();
  }

  /** Starts a backup schedule that was set while the server runs. Does not sweep, because another server may be making a backup. */
  async startBackupSchedule(): Promise<void> {
    if (this.#parts.backups.begins && !this.#closed) (await this.backups()).schedule.begin();
  }

  /** Completes interrupted removals, opens applications that start automatically, and starts the timer. */
  async begin(): Promise<void> {
    this.#timer = setInterval(() => void this.tick(), tickMilliseconds).unref();
    await this.#beginBackups().catch((error: unknown) => this.#warn(error, 'Backups could not be started.'));
    for (const { name, store } of await readApplicationsByStatus(this.main.database, 'destroying'))
      await this.#remove(name, store).catch((error: unknown) =>
        this.#warn(error, 'The store of an application could not be removed.'),
      );
    for (const name of await readAutoStartedNames(this.main.database)) {
      if (this.#closed) return;
      (await this.find(name)).release();
    }
  }

  /** The application that the X-App header names; `main` without the header. Synchronous if it is open. */
  find(name: string | undefined): Lease | Promise<Lease> {
    if (name === undefined || name === mainApplicationName) return this.#mainLease;
    return this.#open.lease(name) ?? this.#findClosed(name);
  }

  /** A lease of an application that is open now; null if it is not. */
  leaseOpen(name: string): Lease | null {
    return name === mainApplicationName ? this.#mainLease : this.#open.lease(name);
  }

  /** Whether a key that is not valid in one application is valid in the application that created it. */
  async isKeyValidElsewhere(token: string, excludedName: string): Promise<boolean> {
    if (tokenKind(token) !== 'tbk') return false;
    const homeName =
      (await findTokenApplication(this.main.database, this.main.hashTokenWithAllKeys(token))) ?? mainApplicationName;
    if (homeName === excludedName) return false;
    const home = await this.find(homeName);
    try {
      // If the application is not available, its entry in `main` decides.
      return home.error ? home.error.code !== 'APPLICATION_UNKNOWN' : await home.application.acceptsToken(token);
    } finally {
      home.release();
    }
  }

  /**
   * Whether a login is, or may be, valid in a stopped application: its users get 503 instead of 401. It is not known while the application
   * is started again, or if it cannot be opened. Nothing is written to its store, because a move may be copying it.
   */
  async isLoginValidInStopped(token: string, name: string): Promise<boolean> {
    const row = tokenKind(token) === 'tbs' ? await findApplication(this.main.database, name) : null;
    if (row?.status !== 'stopped') return row !== null;
    const accepted = async (application: Application): Promise<boolean> => {
      await application.refresh();
      return application.authenticator.accepts(token);
    };
    return this.#open.withTemporaryApplication(row, accepted).catch(() => true);
  }

  /** Whether a login was created in an application that failed to open, so that its database cannot be queried. */
  async isLoginOfFailed(token: string, name: string): Promise<boolean> {
    if (tokenKind(token) !== 'tbs') return false;
    return (await findTokenApplication(this.main.database, this.main.hashTokenWithAllKeys(token))) === name;
  }

  /** Records which application created a key or login: for other applications, and for when it has failed. */
  async recordTokenHome(token: string, name: string): Promise<void> {
    if (name !== mainApplicationName)
      await insertTokenApplication(this.main.database, this.main.hashToken(token), name);
  }

  /** Opens an application in any state. Afterwards it is `running`, or `failed` with an entry in its error log. */
  async start(name: string, requester: Requester): Promise<void> {
    if (name === mainApplicationName) return;
    await this.#requireNotRestored(name);
    const row = await this.#list.findRow(name);
    this.#open.clearFailure(name);
    if (row.isBootstrapped) await this.#list.setStatus(name, 'running', requester);
    const opened = await this.#open.open({ ...row, status: 'starting' }).catch(ignoreRecordedFailure);
    opened?.release();
  }

  /** Waits for running requests, then closes it. Requests get 503 until it is started again. */
  async stop(name: string, requester: Requester): Promise<void> {
    await this.#requireNotRestored(name);
    await this.#withdraw(name, 'stopped', requester);
  }

  /** Removes an application with its store. If this is interrupted, the next start of the server completes it. */
  async destroy(name: string, requester: Requester): Promise<void> {
    await this.#requireNotRestored(name);
    if (name !== mainApplicationName && this.isShared)
      await (await this.nodeMoves()).requireNone(name, (await this.#list.findRow(name)).store);
    const store = await this.#withdraw(name, 'destroying', requester);
    await this.#remove(name, store);
  }

  /** Runs work on the store of a stopped application, which cannot be started meanwhile. @throws ApiError 404, or 409 if it is not stopped. */
  whileStopped<T>(name: string, work: (stopped: StoppedApplication) => Promise<T>): Promise<T> {
    return this.#open.whileClosed(name, async () => {
      const { store, status } = await this.#list.findRow(name);
      if (status !== 'stopped') throw new ApiError('MOVE_REFUSED', `The application "${name}" is not stopped.`);
      return work({ store, displayName: await readDisplayName(this.main.database, name) });
    });
  }

  /** @throws ApiError 404. */
  async requireListed(name: string): Promise<void> {
    await this.#list.findRow(name);
  }

  /** Whether an application with this name exists. */
  async isListed(name: string): Promise<boolean> {
    return (await findApplication(this.main.database, name)) !== null;
  }

  /** Whether the list has an application with this store. */
  async isStoreListed(store: string): Promise<boolean> {
    return (await readStores(this.main.database)).includes(store);
  }

  /** Starts an application again that was stopped for work that was interrupted. */
  async resume(name: string): Promise<void> {
    await this.#list.setStatus(name, 'running', null, 'restore');
  }

  /**
   * Gives an application another store, or adds an application with this store. An existing application is stopped meanwhile; after a
   * failure, it is started again with its present store. One that was stopped stays stopped.
   *
   * @returns the earlier store, which is no longer used; null if there was none.
   * @throws ApiError for `main`, and for a name that exists although it must be new.
   */
  async replaceStore(restored: RestoredStore, requester: Requester, steps: ReplaceSteps): Promise<string | null> {
    const { name } = restored;
    rejectMain(name, 'restored while the server runs');
    const row = await findApplication(this.main.database, name);
    if (!row) {
      await this.#list.setStore(restored, { replaces: null, status: 'running' }, requester);
      return null;
    }
    if (restored.mustBeNew || row.status === 'destroying') throw applicationExists(name);
    const wasServed = row.status !== 'stopped';
    await steps.beforeStop(row.store, wasServed);
    try {
      await this.#withdraw(name, 'stopped', requester, 'restore');
      await steps.whileStopped();
      const status = wasServed ? 'running' : 'stopped';
      await this.#list.setStore(restored, { replaces: row.store, status }, requester);
    } catch (error) {
      if (wasServed) await this.resume(name);
      throw error;
    }
    await this.#open.close(name);
    this.#open.clearFailure(name);
    return row.store;
  }

  /** Runs due housekeeping and closes idle applications. */
  async tick(): Promise<void> {
    try {
      const now = this.main.clock.now();
      if (this.#mainDue !== null && this.#mainDue <= now)
        this.#mainDue = (await runHousekeeping(this.main)).dueWhileOpen;
      for (const name of await claimDueApplications(this.main.database, isoTime(now)))
        (await this.find(name)).release();
      if (this.isShared) await this.#open.closeWithdrawn();
      if (await this.#parts.stores.nodes?.isCluster()) this.#settleMoves();
      await this.#open.housekeepDue(now);
      await this.#open.scheduleTakeover(now);
      await this.#open.closeIdle();
    } catch (error) {
      this.#warn(error, 'Scheduled work of applications failed.');
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearInterval(this.#timer);
    this.#nodeMoves?.close();
    await (await this.#backups?.catch(() => null))?.close();
    await this.#receivedMoves?.close();
    await this.#open.closeAll();
    await this.main.close();
  }

  async #findClosed(name: string): Promise<Lease> {
    try {
      return await this.#open.open(await this.#list.findServed(name));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'BUSY') this.#settleMoves(); // it may be locked for a move whose server has died
      return createPermanentLease(this.main, error);
    }
  }

  /** Takes an application out of service. @returns the name of its store. */
  async #withdraw(
    name: string,
    status: 'stopped' | 'destroying',
    requester: Requester,
    by: 'anyone' | 'restore' = 'anyone',
  ): Promise<string> {
    rejectMain(name, status === 'stopped' ? 'stopped' : 'destroyed');
    const row = await this.#list.findRow(name);
    await this.#list.setStatus(name, status, requester, by);
    await this.#open.close(name);
    // Other servers with the same store then read the state again before their next reply.
    if (this.isShared && row.isBootstrapped)
      await this.#open
        .withTemporaryApplication(row, ({ database }) => database.write((transaction) => bumpVersion(transaction)))
        .catch((error: unknown) => this.#warn(error, 'Other servers could not be notified of a stopped application.'));
    const isClosed = await this.#parts.stores.group()?.waitUntilClosed(row.store, closeElsewhereMilliseconds);
    if (isClosed === false)
      this.#logger.warn({ application: name }, 'Another server has not closed a stopped application in time.');
    return row.store;
  }

  async #remove(name: string, store: string): Promise<void> {
    await this.#open.close(name);
    await this.#open.whileClosed(name, async () => {
      await this.#parts.stores.remove(store);
      await this.#list.remove(name);
    });
    this.#open.clearFailure(name);
  }

  /**
   * Settles a restore of the application whose server has died. @throws ApiError 409 if it still runs, on any server.
   */
  async #requireNotRestored(name: string): Promise<void> {
    try {
      await this.#list.requireNotRestored(name);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      await (await this.backups()).backups.settle();
      await this.#list.requireNotRestored(name);
    }
  }

  /** Whether other servers may use the same store. */
  get isShared(): boolean {
    return this.main.database.multiNode;
  }

  #warn(error: unknown, message: string): void {
    this.#logger.warn({ err: error }, message);
  }
}

/** The error log already contains a failure to open. */
function ignoreRecordedFailure(error: unknown): null {
  if (error instanceof ApiError && error.code === 'APPLICATION_FAILED') return null;
  throw error;
}
