/**
 * The applications besides `main` that are open now: opened when somebody asks for one, closed when nobody has used it for
 * a while. One that does not open answers for itself alone.
 */
import { isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { type ApplicationRow, setWake } from '../database/application-rows.ts';
import { DatabaseFault } from '../database/database.ts';
import { readUser } from '../database/identity-store.ts';
import { ApiError } from '../protocol/api-error.ts';
import { Application, type ApplicationParts } from './application.ts';
import type { ApplicationList } from './application-list.ts';
import type { ApplicationStores } from './application-stores.ts';
import { addFirstAdmin, completeBirth, prepareStore } from './birth.ts';
import { housekeep, reopening } from './housekeeping.ts';
import { sweepKeyHomes } from './key-homes.ts';

export interface OpenApplicationsParts {
  readonly main: Application;
  readonly list: ApplicationList;
  /** What every application of this server is made with. */
  readonly common: Omit<ApplicationParts, 'name' | 'database' | 'blobs' | 'openJournal' | 'requireServed'>;
  readonly stores: ApplicationStores;
  /** How long an application stays open without use. */
  readonly idleMilliseconds: number;
  /** Applications open at once; past it those longest unused are closed first. */
  readonly mostOpen: number;
}

/** An application in use. Until it is released it stays open. */
export interface Lease {
  readonly application: Application;
  /** Why the named application cannot be used, to be told after the caller has proved who they are; `main` stands for it. */
  readonly error: ApiError | null;
  /** Another lease of the same application, before this one is released. */
  again(): Lease;
  release(): void;
}

interface Slot {
  readonly application: Application;
  users: number;
  lastUsed: number;
  /** When its scheduled work is due, in milliseconds since the epoch; null: none. */
  due: number | null;
  /** Whether it had webhooks when its work was scheduled. */
  watched: boolean;
  /** Called when the last user has left a slot that is to be closed. */
  left: (() => void) | null;
}

interface Failure {
  readonly error: ApiError;
  readonly until: number;
}

/** How long a failed application answers without being tried again. */
const failureMilliseconds = 10_000;
/** How long closing waits for requests under way; and when the server stops, which has waited for them already. */
const patienceMilliseconds = 30_000;
const stopPatienceMilliseconds = 500;
/** How often it is looked for keys and logins that have ended. */
const sweepMilliseconds = 24 * 3_600_000;
const nothing = (): void => {};

export class OpenApplications {
  readonly #parts: OpenApplicationsParts;
  readonly #logger: Logger;
  readonly #slots = new Map<string, Slot>();
  /** Openings and closings under way: the next one waits for them. */
  readonly #moving = new Map<string, Promise<unknown>>();
  readonly #failures = new Map<string, Failure>();
  readonly #sweptAt = new Map<string, number>();
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
    return slot ? leaseOf(slot) : null;
  }

  /** @throws ApiError `APPLICATION_FAILED` naming the stage. */
  async open(row: ApplicationRow): Promise<Lease> {
    for (;;) {
      const slot = this.#slots.get(row.name);
      if (slot) return leaseOf(slot);
      if (this.#closed) throw new ApiError('STOPPING', 'The server is stopping.', { retryAfter: 5 });
      const failure = this.#failures.get(row.name);
      if (failure && performance.now() < failure.until) throw failure.error;
      const moving = this.#moving.get(row.name);
      if (moving) await moving.catch(nothing);
      else return leaseOf(await this.#moved(row.name, () => this.#opened(row)));
    }
  }

  /** Lets the next {@link open} try again at once. */
  forgetFailure(name: string): void {
    this.#failures.delete(name);
  }

  /** Opens a store for a look that serves no requests, whatever state the application is in. */
  aside<T>(row: ApplicationRow, look: (application: Application) => Promise<T>): Promise<T> {
    return this.#moved(row.name, async () => {
      const application = await this.#made(row, null);
      return look(application).finally(() => application.close());
    });
  }

  /** Work on a store that is closed, between openings. */
  closed<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#moved(name, work);
  }

  /** Lets requests under way finish, then closes it; nothing where it is not open. */
  async close(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (!slot) return void (await this.#moving.get(name)?.catch(nothing));
    this.#slots.delete(name);
    slot.application.withdraw();
    await this.#moved(name, async () => {
      await unused(slot, this.#closed ? stopPatienceMilliseconds : patienceMilliseconds);
      await slot.application.webhooks.close();
      await this.#quietly(`the scheduled work of ${name}`, () => this.#scheduleReopening(slot.application));
      await this.#quietly(`closing ${name}`, () => slot.application.close());
    });
  }

  async closeAll(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([...this.#moving.values()]);
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
    if ((this.#sweptAt.get(name) ?? 0) > now - sweepMilliseconds) return;
    this.#sweptAt.set(name, now);
    await sweepKeyHomes(this.#parts.main.database, name, database);
  }

  async #opened(row: ApplicationRow): Promise<Slot> {
    const { name } = row;
    await this.#parts.list.row(name); // it may have been destroyed while this waited
    const stage = { name: 'opening the store' };
    let application: Application | null = null;
    try {
      application = await this.#made(row, () => this.#requireServed(name));
      await this.#wake(application, row, stage);
      application.webhooks.begin();
      application.mail.begin();
    } catch (error) {
      await application?.close().catch(nothing);
      throw await this.#failed(name, stage.name, error);
    }
    const slot: Slot = { application, users: 0, lastUsed: performance.now(), due: null, watched: false, left: null };
    this.#slots.set(name, slot);
    this.#failures.delete(name);
    await this.#quietly(`the scheduled work of ${name}`, () => this.#housekeep(slot));
    this.#closeOverMost(name);
    return slot;
  }

  async #made(
    { name, store, born }: ApplicationRow,
    requireServed: (() => Promise<void>) | null,
  ): Promise<Application> {
    const { stores, common } = this.#parts;
    const database = await stores.open(store, !born);
    const own = { name, database, blobs: stores.blobs(store, database), requireServed };
    return new Application({ ...common, ...own, openJournal: () => stores.openJournal(store) });
  }

  /** Begins an application's life, or goes on with it. */
  async #wake(application: Application, row: ApplicationRow, stage: { name: string }): Promise<void> {
    const { database, name } = application;
    await database.alone(async () => {
      stage.name = 'reading the catalogue';
      if (!(await prepareStore(database, name, !row.born))) throw new Error('the store is empty');
      await application.open();
      stage.name = 'completing the definitions';
      await completeBirth(application);
      const owner = row.born || row.ownerId === null ? null : await readUser(this.#parts.main.database, row.ownerId);
      if (owner) await addFirstAdmin(application, owner);
    });
    if (row.status === 'starting' || row.status === 'failed') {
      stage.name = 'noting that it runs';
      await this.#parts.list.setStatus(name, 'running', null);
    }
  }

  async #failed(name: string, stage: string, cause: unknown): Promise<unknown> {
    // Nothing is wrong with the application: the next request tries again.
    if (cause instanceof DatabaseFault && cause.kind === 'unavailable') return cause;
    this.#logger.error({ err: cause, application: name, stage }, 'an application could not be opened');
    const reason = reasonOf(cause);
    const error = new ApiError(
      'APPLICATION_FAILED',
      `The application "${name}" failed at the stage "${stage}": ${reason}. Its error log and applications:start help.`,
    );
    this.#failures.set(name, { error, until: performance.now() + failureMilliseconds });
    await this.#quietly('the error log', () => this.#parts.list.noteFailure(name, stage, reason));
    return error;
  }

  async #housekeep(slot: Slot): Promise<void> {
    const { application } = slot;
    slot.watched = application.webhooks.listening;
    const { again, wake } = await housekeep(application);
    slot.due = again;
    await this.#setWake(application, wake);
  }

  /** Notes when one that is being closed has something to do next. Its webhooks may have been paused or gone since. */
  async #scheduleReopening(application: Application): Promise<void> {
    const { webhooks, mail } = application;
    if (webhooks.listening || mail.busy) await this.#setWake(application, await reopening(application));
  }

  async #setWake({ name }: Application, at: number | null): Promise<void> {
    await setWake(this.#parts.main.database, name, at === null ? null : isoTime(at));
  }

  #closeOverMost(except: string): void {
    const idle = [...this.#slots].filter(([name, slot]) => slot.users === 0 && name !== except);
    const oldest = idle.sort(([, one], [, other]) => one.lastUsed - other.lastUsed);
    for (const [name] of oldest.slice(0, Math.max(0, this.#slots.size - this.#parts.mostOpen))) void this.close(name);
  }

  #moved<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#moving.get(name) ?? Promise.resolve();
    const moving = before.catch(nothing).then(work);
    const settled = moving.finally(() => {
      if (this.#moving.get(name) === settled) this.#moving.delete(name);
    });
    this.#moving.set(name, settled);
    return settled;
  }

  async #requireServed(name: string): Promise<void> {
    try {
      await this.#parts.list.served(name);
    } catch (error) {
      void this.close(name);
      throw error;
    }
  }

  async #quietly(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#logger.warn({ err: error }, `${what} failed`);
    }
  }
}

/** A lease of what stays open anyway. */
export function standingLease(application: Application, error: ApiError | null): Lease {
  const lease: Lease = { application, error, again: () => lease, release: nothing };
  return lease;
}

function leaseOf(slot: Slot): Lease {
  slot.users += 1;
  let held = true;
  const release = (): void => {
    if (!held) return;
    held = false;
    slot.users -= 1;
    slot.lastUsed = performance.now();
    if (slot.users === 0) slot.left?.();
  };
  return { application: slot.application, error: null, again: () => leaseOf(slot), release };
}

/** One that has got its first webhook is scheduled anew. */
function isDue({ application, due, watched }: Slot, now: number): boolean {
  return (due !== null && due <= now) || application.webhooks.listening !== watched;
}

/** Resolves when nobody uses it any more, or patience has ended. */
async function unused(slot: Slot, patience: number): Promise<void> {
  if (slot.users === 0) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, patience);
    slot.left = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/** What an administrator may read: an engine's code, never a path, an address or a statement. */
function reasonOf(cause: unknown): string {
  const deepest = cause instanceof DatabaseFault && cause.cause instanceof Error ? cause.cause : cause;
  const { code, errcode, errstr } = (deepest ?? {}) as { code?: string; errcode?: number; errstr?: string };
  if (errcode !== undefined) return `SQLite says "${errstr}" (${errcode})`;
  if (typeof code === 'string') return `the database says ${code}`;
  return cause instanceof DatabaseFault ? `the database failed (${cause.kind})` : (cause as Error).message;
}
