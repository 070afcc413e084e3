/**
 * The applications besides `main` that are open now: opened when somebody asks for one, closed when nobody has used it for
 * a while. One that does not open answers for itself alone.
 */
import { isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { type ApplicationRow, setWakeTime } from '../database/application-rows.ts';
import { DatabaseFault } from '../database/database.ts';
import { readUser } from '../database/user-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { Application, type CommonParts } from './application.ts';
import type { ApplicationList } from './application-list.ts';
import type { ApplicationStores } from './application-stores.ts';
import { addFirstAdmin, migrateSystemCollections, prepareStore } from './bootstrap.ts';
import { findReopeningTime, runHousekeeping } from './housekeeping.ts';
import { sweepKeyHomes } from './key-homes.ts';

export interface OpenApplicationsParts {
  readonly main: Application;
  readonly list: ApplicationList;
  readonly common: CommonParts;
  readonly stores: ApplicationStores;
  /** How long an application stays open without use. */
  readonly idleMilliseconds: number;
  /** Applications open at once; past it those longest unused are closed first. */
  readonly maxOpen: number;
}

/** An application in use. Until it is released it stays open. */
export interface Lease {
  readonly application: Application;
  /** Why the named application cannot be used, to be told after the caller has proved who they are; `main` stands for it. */
  readonly error: ApiError | null;
  /** Another lease of the same application, before this one is released. */
  duplicate(): Lease;
  release(): void;
}

interface Slot {
  readonly application: Application;
  users: number;
  lastUsed: number;
  /** When its scheduled work is due, in milliseconds since the epoch; null: none. */
  due: number | null;
  /** Whether it had webhooks when its work was scheduled. */
  hadWebhooks: boolean;
  /** Called when the last user has left a slot that is to be closed. */
  onUnused: (() => void) | null;
}

interface OpenFailure {
  readonly error: ApiError;
  readonly until: number;
}

/** How long a failed application answers without being tried again. */
const failureCacheMilliseconds = 10_000;
/** How long closing waits for requests under way; and when the server stops, which has waited for them already. */
const closeTimeoutMilliseconds = 30_000;
const stopTimeoutMilliseconds = 500;
/** How often it is looked for keys and logins that have ended. */
const sweepIntervalMilliseconds = 24 * 3_600_000;
const noop = (): void => {};

export class OpenApplications {
  readonly #parts: OpenApplicationsParts;
  readonly #logger: Logger;
  readonly #slots = new Map<string, Slot>();
  /** Openings and closings under way: the next one waits for them. */
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

  /** A lease of one that is open, or null. */
  lease(name: string): Lease | null {
    const slot = this.#slots.get(name);
    return slot ? acquireLease(slot) : null;
  }

  /** @throws ApiError `APPLICATION_FAILED` naming the stage. */
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

  /** Lets the next {@link open} try again at once. */
  clearFailure(name: string): void {
    this.#failures.delete(name);
  }

  /** Opens a store for a look that serves no requests, whatever state the application is in. */
  withTemporaryApplication<T>(row: ApplicationRow, work: (application: Application) => Promise<T>): Promise<T> {
    return this.#runTransition(row.name, async () => {
      const application = await this.#createApplication(row, null);
      return work(application).finally(() => application.close());
    });
  }

  /** Work on a store that is closed, between openings. */
  whileClosed<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#runTransition(name, work);
  }

  /** Lets requests under way finish, then closes it; nothing where it is not open. */
  async close(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (!slot) return void (await this.#transitions.get(name)?.catch(noop));
    this.#slots.delete(name);
    slot.application.signalClosing();
    await this.#runTransition(name, async () => {
      await waitUntilUnused(slot, this.#closed ? stopTimeoutMilliseconds : closeTimeoutMilliseconds);
      await slot.application.webhooks.close();
      await this.#logErrors(`the scheduled work of ${name}`, () => this.#scheduleReopening(slot.application));
      await this.#logErrors(`closing ${name}`, () => slot.application.close());
    });
  }

  async closeAll(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([...this.#transitions.values()]);
    await Promise.all([...this.#slots.keys()].map((name) => this.close(name)));
  }

  async closeIdle(): Promise<void> {
    const before = performance.now() - this.#parts.idleMilliseconds;
    for (const [name, slot] of this.#slots) if (slot.users === 0 && slot.lastUsed <= before) await this.close(name);
  }

  /** Does what is due in those that are open. */
  async housekeepDue(now: number): Promise<void> {
    for (const slot of this.#slots.values()) {
      if (!isDue(slot, now)) continue;
      await this.#housekeep(slot);
      await this.#sweepKeyHomes(slot.application, now);
    }
  }

  /** Once a day: what has ended since is no matter of minutes. */
  async #sweepKeyHomes({ name, database }: Application, now: number): Promise<void> {
    if ((this.#lastSweep.get(name) ?? 0) > now - sweepIntervalMilliseconds) return;
    this.#lastSweep.set(name, now);
    await sweepKeyHomes(this.#parts.main.database, name, database);
  }

  async #openSlot(row: ApplicationRow): Promise<Slot> {
    const { name } = row;
    await this.#parts.list.findRow(name); // it may have been destroyed while this waited
    const stage = { name: 'opening the store' };
    let application: Application | null = null;
    try {
      application = await this.#createApplication(row, () => this.#requireServed(name));
      await this.#bootstrap(application, row, stage);
      application.webhooks.begin();
      application.mail.begin();
    } catch (error) {
      await application?.close().catch(noop);
      throw await this.#recordFailure(name, stage.name, error);
    }
    const slot: Slot = {
      application,
      users: 0,
      lastUsed: performance.now(),
      due: null,
      hadWebhooks: false,
      onUnused: null,
    };
    this.#slots.set(name, slot);
    this.#failures.delete(name);
    await this.#logErrors(`the scheduled work of ${name}`, () => this.#housekeep(slot));
    this.#closeExcess(name);
    return slot;
  }

  async #createApplication(
    { name, store, born }: ApplicationRow,
    requireServed: (() => Promise<void>) | null,
  ): Promise<Application> {
    const { stores, common } = this.#parts;
    const database = await stores.open(store, !born);
    const parts = { name, database, blobs: stores.blobs(store, database), requireServed };
    return new Application({ ...common, ...parts, openJournal: () => stores.openJournal(store) });
  }

  /** Begins an application's life, or goes on with it. */
  async #bootstrap(application: Application, row: ApplicationRow, stage: { name: string }): Promise<void> {
    const { database, name } = application;
    await database.withStartupLock(async () => {
      stage.name = 'reading the catalogue';
      if (!(await prepareStore(database, name, !row.born))) throw new Error('the store is empty');
      await application.open();
      stage.name = 'completing the definitions';
      await migrateSystemCollections(application);
      const owner = row.born || row.ownerId === null ? null : await readUser(this.#parts.main.database, row.ownerId);
      if (owner) await addFirstAdmin(application, owner);
    });
    if (row.status === 'starting' || row.status === 'failed') {
      stage.name = 'noting that it runs';
      await this.#parts.list.setStatus(name, 'running', null);
    }
  }

  async #recordFailure(name: string, stage: string, cause: unknown): Promise<unknown> {
    // Nothing is wrong with the application: the next request tries again.
    if (cause instanceof DatabaseFault && cause.kind === 'unavailable') return cause;
    this.#logger.error({ err: cause, application: name, stage }, 'an application could not be opened');
    const reason = describeCause(cause);
    const error = new ApiError(
      'APPLICATION_FAILED',
      `The application "${name}" failed at the stage "${stage}": ${reason}. Its error log and applications:start help.`,
    );
    this.#failures.set(name, { error, until: performance.now() + failureCacheMilliseconds });
    await this.#logErrors('the error log', () => this.#parts.list.recordFailure(name, stage, reason));
    return error;
  }

  async #housekeep(slot: Slot): Promise<void> {
    const { application } = slot;
    slot.hadWebhooks = application.webhooks.listening;
    const { dueWhileOpen, dueWhenClosed } = await runHousekeeping(application);
    slot.due = dueWhileOpen;
    await this.#setWake(application, dueWhenClosed);
  }

  /** Notes when one that is being closed has something to do next. Its webhooks may have been paused or gone since. */
  async #scheduleReopening(application: Application): Promise<void> {
    const { webhooks, mail } = application;
    if (webhooks.listening || mail.isBusy) await this.#setWake(application, await findReopeningTime(application));
  }

  async #setWake({ name }: Application, time: number | null): Promise<void> {
    await setWakeTime(this.#parts.main.database, name, time === null ? null : isoTime(time));
  }

  #closeExcess(except: string): void {
    const idle = [...this.#slots].filter(([name, slot]) => slot.users === 0 && name !== except);
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

  async #requireServed(name: string): Promise<void> {
    try {
      await this.#parts.list.findServed(name);
    } catch (error) {
      void this.close(name);
      throw error;
    }
  }

  async #logErrors(task: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#logger.warn({ err: error }, `${task} failed`);
    }
  }
}

/** A lease of what stays open anyway. */
export function createPermanentLease(application: Application, error: ApiError | null): Lease {
  const lease: Lease = { application, error, duplicate: () => lease, release: noop };
  return lease;
}

function acquireLease(slot: Slot): Lease {
  slot.users += 1;
  let isHeld = true;
  const release = (): void => {
    if (!isHeld) return;
    isHeld = false;
    slot.users -= 1;
    slot.lastUsed = performance.now();
    if (slot.users === 0) slot.onUnused?.();
  };
  return { application: slot.application, error: null, duplicate: () => acquireLease(slot), release };
}

/** One that has got its first webhook is scheduled anew. */
function isDue({ application, due, hadWebhooks }: Slot, now: number): boolean {
  return (due !== null && due <= now) || application.webhooks.listening !== hadWebhooks;
}

/** Resolves when nobody uses it any more, or patience has ended. */
async function waitUntilUnused(slot: Slot, timeout: number): Promise<void> {
  if (slot.users === 0) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeout);
    slot.onUnused = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/** What an administrator may read: an engine's code, never a path, an address or a statement. */
function describeCause(cause: unknown): string {
  const deepest = cause instanceof DatabaseFault && cause.cause instanceof Error ? cause.cause : cause;
  const { code, errcode, errstr } = (deepest ?? {}) as { code?: string; errcode?: number; errstr?: string };
  if (errcode !== undefined) return `SQLite says "${errstr}" (${errcode})`;
  if (typeof code === 'string') return `the database says ${code}`;
  return cause instanceof DatabaseFault ? `the database failed (${cause.kind})` : (cause as Error).message;
}
