/**
 * The applications other than `main` that are open now. An application is opened when it is first used, and closed when
 * it has not been used for a while. If one fails to open, only its own requests fail.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { type ApplicationRow, setWakeTime, setWakeTimes } from '../database/application-rows.ts';
import { type Database, DatabaseFault } from '../database/database.ts';
import { readUser } from '../database/user-rows.ts';
import type { FinishedAttempt } from '../mail/delivery/settle-delivery.ts';
import { ApiError } from '../protocol/api-error.ts';
import { Application, type CommonParts } from './application.ts';
import { acquireLease, type Lease, type OpenSlot, waitUntilUnused } from './application-lease.ts';
import type { ApplicationList } from './application-list.ts';
import type { ApplicationStores } from './application-stores.ts';
import { addFirstAdmin, migrateSystemCollections, prepareStore } from './bootstrap.ts';
import { findReopeningTime, runHousekeeping, syncTakeoverMilliseconds } from './housekeeping.ts';
import { sweepKeyHomes } from './key-homes.ts';

export interface OpenApplicationsParts {
  readonly main: Application;
  readonly list: ApplicationList;
  readonly common: CommonParts;
  readonly stores: ApplicationStores;
  /** How long an application stays open without requests. */
  readonly idleMilliseconds: number;
  /** Maximum number of open applications; above it, the least recently used is closed. */
  readonly maxOpen: number;
  /** Ends the reads of other threads. Called before an application is closed, and awaited before its store is. */
  readonly endSharing?: ((application: Application) => Promise<void>) | undefined;
}

interface OpenFailure {
  readonly error: ApiError;
  readonly until: number;
}

/** How long a failed application is not opened again. */
const failureCacheMilliseconds = 10_000;
/** How long closing waits for running requests. When the server stops, they have already had time to end. */
const closeTimeoutMilliseconds = 30_000;
const stopTimeoutMilliseconds = 500;
/** Attempts to open an application that is being moved, and the time between them. */
const maxReopenings = 20;
const reopenMilliseconds = 500;
/** How often ended keys and logins are removed from the list in `main`. */
const sweepIntervalMilliseconds = 24 * 3_600_000;
/** Error codes that do not mean that an application has failed. */
const withdrawnCodes = new Set(['APPLICATION_STOPPED', 'APPLICATION_UNKNOWN', 'BACKUP_RUNNING', 'BUSY']);
const noop = (): void => {};

/** Opens applications on demand, counts their leases, and closes them when they are idle. */
export class OpenApplications {
  readonly #parts: OpenApplicationsParts;
  readonly #logger: Logger;
  readonly #slots = new Map<string, OpenSlot>();
  /** Running openings and closings by name: the next one waits for them. */
  readonly #transitions = new Map<string, Promise<unknown>>();
  readonly #failures = new Map<string, OpenFailure>();
  readonly #lastSweep = new Map<string, number>();
  #closed = false;

  constructor(parts: OpenApplicationsParts) {
    this.#parts = parts;
    this.#logger = parts.common.logger;
  }

  get count(): number {
    return this.#slots.size;
  }

  /** A lease of an open application; null if it is not open. */
  lease(name: string): Lease | null {
    const slot = this.#slots.get(name);
    return slot ? acquireLease(slot) : null;
  }

  /** Opens an application if necessary. @throws ApiError `APPLICATION_FAILED` naming the stage. */
  async open(row: ApplicationRow): Promise<Lease> {
    for (;;) {
      const slot = this.#slots.get(row.name);
      if (slot) return acquireLease(slot);
      if (this.#closed) throw new ApiError('STOPPING', 'The server is stopping.', { retryAfter: 5 });
      const failure = this.#failures.get(row.name);
      if (failure && performance.now() < failure.until) throw failure.error;
      const transition = this.#transitions.get(row.name);
      if (transition) await transition.catch(noop);
      else return acquireLease(await this.#runTransition(row.name, () => this.#openSlot(row)));
    }
  }

  /** Lets the next {@link open} try again immediately. */
  clearFailure(name: string): void {
    this.#failures.delete(name);
  }

  /** Opens an application in any state for internal work. It serves no requests meanwhile. */
  withTemporaryApplication<T>(row: ApplicationRow, work: (application: Application) => Promise<T>): Promise<T> {
    return this.#runTransition(row.name, async () => {
      const application = await this.#createApplication(row, null);
      return work(application).finally(() => application.close());
    });
  }

  /** Runs work on a closed store. Openings wait for it. */
  whileClosed<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#runTransition(name, work);
  }

  /**
   * Waits for running requests, then closes it. Does nothing if it is not open.
   *
   * @param isElsewhere whether its store was moved or replaced, so that running requests cannot succeed and are not waited for.
   */
  async close(name: string, isElsewhere = false): Promise<void> {
    const slot = this.#slots.get(name);
    if (!slot) return void (await this.#transitions.get(name)?.catch(noop));
    this.#slots.delete(name);
    slot.application.signalClosing();
    const unshared = this.#parts.endSharing?.(slot.application);
    await this.#runTransition(name, async () => {
      await unshared;
      await waitUntilUnused(slot, this.#closed || isElsewhere ? stopTimeoutMilliseconds : closeTimeoutMilliseconds);
      await this.#logErrors(`Ending the webhooks of application "${name}"`, () => slot.application.webhooks.close());
      await this.#logErrors(`Scheduling the work of application "${name}"`, () =>
        this.#scheduleReopening(slot.application),
      );
      await this.#logErrors(`Closing application "${name}"`, () => slot.application.close());
    });
  }

  async closeAll(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([...this.#transitions.values()]);
    await Promise.all([...this.#slots.keys()].map((name) => this.close(name)));
  }

  /**
   * Closes applications that another server has stopped, destroyed, created again under the same name, or moved to another node.
   * Otherwise this server would continue to process their mail and webhooks until the next request for them arrives.
   */
  async closeWithdrawn(): Promise<void> {
    const slots = [...this.#slots];
    if (slots.length === 0) return;
    const served = await this.#parts.list.readServedStores(slots.map(([name]) => name));
    const opened = new Map(slots.map(([, { store, application }]) => [store, application.database]));
    const moved = await this.#parts.stores.nodes?.findMoved(opened);
    const withdrawn = slots
      .filter(([name, { store }]) => served.get(name) !== store || (moved?.has(store) ?? false))
      .filter(([name, slot]) => this.#slots.get(name) === slot);
    await Promise.all(withdrawn.map(([name, { store }]) => this.close(name, moved?.has(store))));
  }

  async closeIdle(): Promise<void> {
    const before = performance.now() - this.#parts.idleMilliseconds;
    for (const [name, slot] of this.#slots) if (isUnused(slot) && slot.lastUsed <= before) await this.close(name);
  }

  /** Applications that synchronise mail accounts or run imports are opened by another server soon after this one has died. */
  async scheduleTakeover(now: number): Promise<void> {
    const names = [...this.#slots].filter(([, { application }]) => mustStayOpen(application)).map(([name]) => name);
    if (names.length > 0) await setWakeTimes(this.#parts.main.database, names, isoTime(now + syncTakeoverMilliseconds));
  }

  /** Runs housekeeping that is due in open applications. */
  async housekeepDue(now: number): Promise<void> {
    for (const slot of this.#slots.values()) {
      if (!isDue(slot, now)) continue;
      await this.#housekeep(slot);
      await this.#sweepKeyHomes(slot.application, now);
    }
  }

  /** Runs at most once a day. */
  async #sweepKeyHomes({ name, database }: Application, now: number): Promise<void> {
    if ((this.#lastSweep.get(name) ?? 0) > now - sweepIntervalMilliseconds) return;
    this.#lastSweep.set(name, now);
    await sweepKeyHomes(this.#parts.main.database, name, database);
  }

  async #openSlot(row: ApplicationRow): Promise<OpenSlot> {
    const { name } = row;
    await this.#parts.list.findRow(name); // the application may have been destroyed in the meantime
    const stage = { name: 'opening the store' };
    let application: Application | null = null;
    try {
      application = await this.#createApplication(row, (database) => this.#requireServed(row, database));
      // Another server may have stopped it before this one had noted that it opens the store.
      if (row.isBootstrapped && this.#parts.stores.group()) await this.#requireStillServed(row, application.database);
      await this.#bootstrap(application, row, stage);
      await this.#requireStillServed(row, application.database);
      application.webhooks.begin();
      application.mail.begin();
      application.imports.begin();
    } catch (error) {
      // The cause may be a move to another node: tables that it has locked are not found.
      const refusal = application && (await this.#findRefusal(row, application.database));
      await application?.close().catch(noop);
      throw await this.#recordFailure(name, stage.name, refusal ?? error);
    }
    const slot: OpenSlot = {
      application,
      store: row.store,
      users: 0,
      lastUsed: performance.now(),
      due: null,
      hadWebhooks: false,
      onUnused: null,
    };
    this.#slots.set(name, slot);
    this.#failures.delete(name);
    await this.#logErrors(`Scheduling the work of application "${name}"`, () => this.#housekeep(slot));
    this.#closeExcess(name);
    return slot;
  }

  async #createApplication(
    { name, store, isBootstrapped }: ApplicationRow,
    requireServed: ((database: Database) => Promise<void>) | null,
  ): Promise<Application> {
    const { stores, common } = this.#parts;
    const database = await stores.open(store, !isBootstrapped, requireServed !== null);
    const blobs = stores.blobs(store, database);
    const parts = {
      ...{ name, database, blobs },
      requireServed: requireServed && (() => requireServed(database)),
      handOver: (finished: FinishedAttempt) => this.#handOver(name, finished),
    };
    return new Application({ ...common, ...parts, openJournal: () => stores.openJournal(store) });
  }

  /** Creates or migrates the system parts of an application. */
  async #bootstrap(application: Application, row: ApplicationRow, stage: { name: string }): Promise<void> {
    const { database, name } = application;
    const { stores, common } = this.#parts;
    await database.withStartupLock(async () => {
      stage.name = 'reading the catalogue';
      const saveStore = (version: number): Promise<string | null> => stores.saveBeforeUpgrade(row.store, version);
      const prepared = await prepareStore(database, { ...common, name, mayCreate: !row.isBootstrapped, saveStore });
      if (!prepared) throw new Error('the store is empty');
      await application.open();
      stage.name = 'completing the definitions';
      await migrateSystemCollections(application);
      const owner =
        row.isBootstrapped || row.ownerId === null ? null : await readUser(this.#parts.main.database, row.ownerId);
      if (owner) await addFirstAdmin(application, owner);
    });
    if (row.status === 'starting' || row.status === 'failed') {
      stage.name = 'storing the status';
      await this.#parts.list.setStatus(name, 'running', null);
    }
  }

  async #recordFailure(name: string, stage: string, cause: unknown): Promise<unknown> {
    // The application itself is intact: the next request tries again.
    if (cause instanceof DatabaseFault && cause.kind === 'unavailable') return cause;
    if (cause instanceof ApiError && withdrawnCodes.has(cause.code)) return cause;
    this.#logger.error({ err: cause, application: name, stage }, 'An application could not be opened.');
    const reason = describeCause(cause);
    const error = new ApiError(
      'APPLICATION_FAILED',
      `The application "${name}" failed at the stage "${stage}": ${reason}. See its error log, remove the cause, and call applications:start.`,
    );
    this.#failures.set(name, { error, until: performance.now() + failureCacheMilliseconds });
    await this.#logErrors('Writing the error log of an application', () =>
      this.#parts.list.recordFailure(name, stage, reason),
    );
    return error;
  }

  async #housekeep(slot: OpenSlot): Promise<void> {
    const { application } = slot;
    slot.hadWebhooks = application.webhooks.listening;
    const { dueWhileOpen, dueWhenClosed } = await runHousekeeping(application);
    slot.due = dueWhileOpen;
    await this.#setWake(application, dueWhenClosed);
  }

  /** Schedules the next opening of an application that is being closed. Its webhooks may have changed since. */
  async #scheduleReopening(application: Application): Promise<void> {
    const { webhooks, mail, imports } = application;
    if (webhooks.listening || mail.isBusy || imports.isBusy)
      await this.#setWake(application, await findReopeningTime(application));
  }

  async #setWake({ name }: Application, time: number | null): Promise<void> {
    await setWakeTime(this.#parts.main.database, name, time === null ? null : isoTime(time));
  }

  #closeExcess(except: string): void {
    const idle = [...this.#slots].filter(([name, slot]) => isUnused(slot) && name !== except);
    const oldest = idle.sort(([, one], [, other]) => one.lastUsed - other.lastUsed);
    for (const [name] of oldest.slice(0, Math.max(0, this.#slots.size - this.#parts.maxOpen))) void this.close(name);
  }

  #runTransition<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#transitions.get(name) ?? Promise.resolve();
    const transition = before.catch(noop).then(work);
    const settled = transition.finally(() => {
      if (this.#transitions.get(name) === settled) this.#transitions.delete(name);
    });
    this.#transitions.set(name, settled);
    return settled;
  }

  /** Another server may have stopped or moved the application, or given it another store, before this one could notice that. */
  async #requireStillServed({ name, store }: ApplicationRow, database: Database): Promise<void> {
    const served = await this.#parts.list.findServed(name);
    const moved = await this.#parts.stores.nodes?.findMoved(new Map([[store, database]]));
    if (served.store !== store || moved?.has(store)) throw hasChangedStore(name);
  }

  async #findRefusal(row: ApplicationRow, database: Database): Promise<ApiError | null> {
    return this.#requireStillServed(row, database).then(
      () => null,
      (error: unknown) => (error instanceof ApiError ? error : null),
    );
  }

  async #requireServed(row: ApplicationRow, database: Database): Promise<void> {
    try {
      await this.#requireStillServed(row, database);
    } catch (error) {
      void this.close(row.name, error instanceof ApiError && error.code === 'BUSY');
      throw error;
    }
  }

  /** Opens an application again that was moved, and stores the outcome of a message there. */
  async #handOver(name: string, finished: FinishedAttempt): Promise<void> {
    for (let attempt = 1; ; attempt += 1)
      try {
        const lease = await this.open(await this.#parts.list.findServed(name));
        await lease.application.mail.delivery.takeOver(finished).finally(() => lease.release());
        return;
      } catch (error) {
        if (attempt === maxReopenings || this.#closed) throw error;
        await pause(reopenMilliseconds);
      }
  }

  async #logErrors(task: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#logger.warn({ err: error }, `${task} failed.`);
    }
  }
}

function hasChangedStore(name: string): ApiError {
  const change = 'is being moved to another node, or was created again';
  return new ApiError('BUSY', `The application "${name}" ${change}. Try again.`, { retryAfter: 1 });
}

/** Whether an application may be closed: it is not in use, and has no work of its own. */
function isUnused({ application, users }: OpenSlot): boolean {
  return users === 0 && !mustStayOpen(application);
}

/** Whether an application synchronises mail accounts, or runs imports. */
function mustStayOpen({ mail, imports }: Application): boolean {
  return mail.mustStayOpen || imports.isBusy;
}

/** Whether housekeeping is due. It is also run after the first webhook is created or the last one destroyed. */
function isDue({ application, due, hadWebhooks }: OpenSlot, now: number): boolean {
  return (due !== null && due <= now) || application.webhooks.listening !== hadWebhooks;
}

/** A description for administrators: the code of the engine, but no path, address or statement. */
function describeCause(cause: unknown): string {
  const deepest = cause instanceof DatabaseFault && cause.cause instanceof Error ? cause.cause : cause;
  const { code, errcode, errstr } = (deepest ?? {}) as { code?: string; errcode?: number; errstr?: string };
  if (errcode !== undefined) return `SQLite says "${errstr}" (${errcode})`;
  if (typeof code === 'string') return `the database says ${code}`;
  return cause instanceof DatabaseFault ? `the database failed (${cause.kind})` : (cause as Error).message;
}
