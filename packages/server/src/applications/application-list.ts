import { isoTime } from '../base/clock.ts';
import { recordEvent } from '../changes/record-event.ts';
import {
  type ApplicationRow,
  type ApplicationStatus,
  addApplicationError,
  deleteApplication,
  findApplication,
  findStore,
  readServedStores,
  setApplicationStatus,
  writeRestoredApplication,
} from '../database/application-rows.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Application, mainApplicationName } from './application.ts';

const maxStoredErrors = 20;

/** Not needed at a start. */
const loadRunningRestore = () => import('./backups/running-restore.ts');

/** The caller who requested a change of state, for its event. */
export interface Requester {
  readonly caller: Caller;
  readonly requestId: string | null;
}

/** An application with a store that was restored. */
export interface RestoredStore {
  readonly name: string;
  readonly displayName: string | null;
  /** JSON text. */
  readonly options: string | null;
  readonly store: string;
  /** Whether an application with this name must not exist. */
  readonly mustBeNew: boolean;
}

/** The earlier store that a restored one replaces. */
export interface ReplacedStore {
  /** Null: there is no application of the name. */
  readonly replaces: string | null;
  readonly status: 'running' | 'stopped';
}

/** The list of applications and their states, in the store of `main`. */
export class ApplicationList {
  readonly #main: Application;

  constructor(main: Application) {
    this.#main = main;
  }

  /** @throws ApiError 404. */
  async findRow(name: string): Promise<ApplicationRow> {
    const row = await findApplication(this.#main.database, name);
    if (!row || row.status === 'destroying') throw unknownApplication(name);
    return row;
  }

  /** An application that serves requests. @throws ApiError 404, or 503 if it is stopped. */
  async findServed(name: string): Promise<ApplicationRow> {
    const row = await this.findRow(name);
    if (row.status === 'stopped')
      throw new ApiError(
        'APPLICATION_STOPPED',
        `The application "${name}" is stopped. Start it with applications:start.`,
        {
          retryAfter: 30,
        },
      );
    return row;
  }

  /** The stores of the named applications that serve requests, by name. */
  readServedStores(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return readServedStores(this.#main.database, names);
  }

  /**
   * Stores a new state and logs its event.
   *
   * @param requester null: the server itself.
   * @param by `restore` if the caller is the restore that replaces the application.
   * @throws ApiError 409 if a restore replaces it, on any server.
   */
  async setStatus(
    name: string,
    status: ApplicationStatus,
    requester: Requester | null,
    by: 'anyone' | 'restore' = 'anyone',
  ): Promise<void> {
    const { database, clock, changes } = this.#main;
    const time = isoTime(clock.now());
    const { requireNotRestored } = await loadRunningRestore();
    await database.write(async (transaction) => {
      const isChanged = await setApplicationStatus(database, transaction, name, { status, updatedAt: time });
      if (by !== 'restore') await requireNotRestored(database, transaction, name);
      if (!isChanged) return;
      const verb = status === 'destroying' ? 'destroyed' : 'updated';
      const changed = verb === 'updated' ? ['status'] : [];
      const event = recordEvent('applications', verb, [name], { ...requester, changed, isAudited: true });
      await changes.append(transaction, event, time);
    });
  }

  /**
   * Lists an application with a restored store, and logs its event.
   *
   * @throws ApiError if it no longer has the store that is replaced, or the restore was given up.
   */
  async setStore(
    { name, displayName, options, store }: RestoredStore,
    { replaces, status }: ReplacedStore,
    requester: Requester,
  ): Promise<void> {
    const { database, clock, changes } = this.#main;
    const time = isoTime(clock.now());
    const { requireRestoreRunning } = await loadRunningRestore();
    await database.write(async (transaction) => {
      const application = { name, displayName, options };
      const found = await findStore(database, transaction, name);
      if (found !== replaces) throw found === null ? unknownApplication(name) : applicationExists(name);
      await writeRestoredApplication(database, transaction, application, { store, at: time, status });
      await requireRestoreRunning(database, transaction, store);
      const isNew = replaces === null;
      const verb = isNew ? 'created' : 'updated';
      const event = recordEvent('applications', verb, [name], {
        ...requester,
        changed: isNew ? [] : ['status'],
        isAudited: true,
      });
      await changes.append(transaction, event, time);
    });
  }

  /** @throws ApiError 409 if a restore replaces the application, or was interrupted and is not settled yet. */
  async requireNotRestored(name: string): Promise<void> {
    const { requireNotRestored } = await loadRunningRestore();
    return requireNotRestored(this.#main.database, null, name);
  }

  /** Adds a failure to the error log of an application. */
  async recordFailure(name: string, stage: string, message: string): Promise<void> {
    const { database, clock } = this.#main;
    const entry = { application: name, at: isoTime(clock.now()), stage, message };
    await database.write((transaction) => addApplicationError(database, transaction, entry, maxStoredErrors));
    await this.setStatus(name, 'failed', null);
  }

  async remove(name: string): Promise<void> {
    const { database } = this.#main;
    await database.write((transaction) => deleteApplication(database, transaction, name));
  }
}

/** @throws ApiError 403 for `main`. */
export function rejectMain(name: string, operation: string): void {
  if (name === mainApplicationName)
    throw new ApiError(
      'SYSTEM_PROTECTED',
      `"${mainApplicationName}" stores the list of all applications and cannot be ${operation}.`,
    );
}

export function applicationExists(name: string): ApiError {
  return new ApiError('APPLICATION_EXISTS', `An application "${name}" exists already. Choose another name.`);
}

function unknownApplication(name: string): ApiError {
  return new ApiError('APPLICATION_UNKNOWN', `There is no application "${name.slice(0, 60)}".`);
}
