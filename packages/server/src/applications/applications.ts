/** The applications of this server: the one that a request names, their states, and the keys that tell them apart. */
import { isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { tokenKind } from '../base/token.ts';
import {
  applicationsWith,
  autoStarted,
  findApplication,
  findKeyHome,
  insertKeyHome,
  takeDue,
} from '../database/application-rows.ts';
import { bumpVersion } from '../database/catalogue.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Application, mainName } from './application.ts';
import { ApplicationList, type Asker, refuseMain } from './application-list.ts';
import { housekeep } from './housekeeping.ts';
import { type Lease, OpenApplications, type OpenApplicationsParts, standingLease } from './open-applications.ts';

const tickMilliseconds = 15_000;

export class Applications {
  readonly main: Application;
  readonly #parts: Omit<OpenApplicationsParts, 'list'>;
  readonly #logger: Logger;
  readonly #list: ApplicationList;
  readonly #open: OpenApplications;
  readonly #mainLease: Lease;
  #mainDue: number | null = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(parts: Omit<OpenApplicationsParts, 'list'>) {
    this.#parts = parts;
    this.main = parts.main;
    this.#logger = parts.common.logger;
    this.#list = new ApplicationList(parts.main);
    this.#open = new OpenApplications({ ...parts, list: this.#list });
    this.#mainLease = standingLease(parts.main, null);
  }

  /** How many applications besides `main` are open now. */
  get openCount(): number {
    return this.#open.count;
  }

  /** Ends what an earlier run left half done, opens what is to be open from the start, and begins to keep time. */
  async begin(): Promise<void> {
    this.#timer = setInterval(() => void this.tick(), tickMilliseconds).unref();
    for (const { name, store } of await applicationsWith(this.main.database, 'destroying'))
      await this.#remove(name, store).catch((error: unknown) => this.#warn(error, 'a store could not be removed'));
    for (const name of await autoStarted(this.main.database)) {
      if (this.#closed) return;
      (await this.find(name)).release();
    }
  }

  /** The application that X-App names; `main` without the header. At once for one that is open. */
  find(name: string | undefined): Lease | Promise<Lease> {
    if (name === undefined || name === mainName) return this.#mainLease;
    return this.#open.lease(name) ?? this.#findClosed(name);
  }

  /** Whether a key that does not hold in one application holds where it was made. */
  async keyHoldsElsewhere(token: string, elsewhereThan: string): Promise<boolean> {
    if (tokenKind(token) !== 'tbk') return false;
    const homeName = (await findKeyHome(this.main.database, this.main.hashesOf(token))) ?? mainName;
    if (homeName === elsewhereThan) return false;
    const home = await this.find(homeName);
    try {
      // A key of an application that cannot be asked is known by its home alone.
      return home.error ? home.error.code !== 'APPLICATION_UNKNOWN' : await home.application.accepts(token);
    } finally {
      home.release();
    }
  }

  /** Whether a login holds in an application that is stopped: its users are told so, and not sent to sign in again. */
  async loginHoldsInStopped(token: string, name: string): Promise<boolean> {
    const row = await findApplication(this.main.database, name);
    if (row?.status !== 'stopped' || tokenKind(token) !== 'tbs') return false;
    const accepted = async (application: Application): Promise<boolean> => {
      await application.open();
      return application.accepts(token);
    };
    return this.#open.aside(row, accepted).catch(() => false);
  }

  /** Whether a login was created in an application that failed to open, so that its database cannot be queried. */
  async loginIsOfFailed(token: string, name: string): Promise<boolean> {
    if (tokenKind(token) !== 'tbs') return false;
    return (await findKeyHome(this.main.database, this.main.hashesOf(token))) === name;
  }

  /** Notes where a key or login was made: for other applications, and for when its own one has failed. */
  async noteToken(token: string, name: string): Promise<void> {
    if (name !== mainName) await insertKeyHome(this.main.database, this.main.hashesOf(token)[0]!, name);
  }

  /** Opens an application, whatever its state; afterwards it is `running`, or `failed` with a line in its error log. */
  async start(name: string, asker: Asker): Promise<void> {
    if (name === mainName) return;
    const row = await this.#list.row(name);
    this.#open.forgetFailure(name);
    if (row.born) await this.#list.setStatus(name, 'running', asker);
    const opened = await this.#open.open({ ...row, status: 'starting' }).catch(failure);
    opened?.release();
  }

  /** Lets requests under way finish, then closes it; until it is started again it answers 503. */
  async stop(name: string, asker: Asker): Promise<void> {
    await this.#withdraw(name, 'stopped', asker);
  }

  /** Removes an application with its store. What was begun is ended by the next start of the server, if need be. */
  async destroy(name: string, asker: Asker): Promise<void> {
    const store = await this.#withdraw(name, 'destroying', asker);
    await this.#remove(name, store);
  }

  /** Runs what is due, closes what is idle. */
  async tick(): Promise<void> {
    try {
      const now = this.main.clock.now();
      if (this.#mainDue !== null && this.#mainDue <= now) this.#mainDue = (await housekeep(this.main)).again;
      for (const name of await takeDue(this.main.database, isoTime(now))) (await this.find(name)).release();
      await this.#open.housekeepDue(now);
      await this.#open.closeIdle();
    } catch (error) {
      this.#warn(error, 'scheduled work failed');
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#open.closeAll();
    await this.main.close();
  }

  async #findClosed(name: string): Promise<Lease> {
    try {
      return await this.#open.open(await this.#list.served(name));
    } catch (error) {
      if (error instanceof ApiError) return standingLease(this.main, error);
      throw error;
    }
  }

  /** Takes an application out of service; returns where it lies. */
  async #withdraw(name: string, status: 'stopped' | 'destroying', asker: Asker): Promise<string> {
    refuseMain(name, status === 'stopped' ? 'stopped' : 'destroyed');
    const row = await this.#list.row(name);
    await this.#list.setStatus(name, status, asker);
    await this.#open.close(name);
    // Other servers on the same store look again before their next answer.
    if (this.main.database.dialect.shared && row.born)
      await this.#open
        .aside(row, ({ database }) => database.write((transaction) => bumpVersion(transaction)))
        .catch((error: unknown) => this.#warn(error, 'other servers could not be told'));
    return row.store;
  }

  async #remove(name: string, store: string): Promise<void> {
    await this.#open.close(name);
    await this.#open.closed(name, async () => {
      await this.#parts.stores.remove(store);
      await this.#list.remove(name);
    });
    this.#open.forgetFailure(name);
  }

  #warn(error: unknown, what: string): void {
    this.#logger.warn({ err: error }, what);
  }
}

/** A failure to open has been told in the error log. */
function failure(error: unknown): null {
  if (error instanceof ApiError && error.code === 'APPLICATION_FAILED') return null;
  throw error;
}
