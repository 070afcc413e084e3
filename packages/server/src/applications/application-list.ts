import { isoTime } from '../base/clock.ts';
import { recordEvent } from '../changes/record-event.ts';
import {
  type ApplicationRow,
  type ApplicationStatus,
  addApplicationError,
  deleteApplication,
  findApplication,
  setApplicationStatus,
} from '../database/application-rows.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Application, mainApplicationName } from './application.ts';

const maxStoredErrors = 20;

/** Who wants a change of state, for the event that tells of it; null: the server itself. */
export interface Requester {
  readonly caller: Caller;
  readonly requestId: string | null;
}

/** The list of applications in the store of `main`: which there are, and in what state. */
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

  /** An application that answers requests now. @throws ApiError 404, or 503 when it is stopped. */
  async findServed(name: string): Promise<ApplicationRow> {
    const row = await this.findRow(name);
    if (row.status === 'stopped')
      throw new ApiError('APPLICATION_STOPPED', `The application "${name}" is stopped; applications:start starts it.`, {
        retryAfter: 30,
      });
    return row;
  }

  /** Notes a state and tells of it, where it is another one. */
  async setStatus(name: string, status: ApplicationStatus, requester: Requester | null): Promise<void> {
    const { database, clock, changes } = this.#main;
    const time = isoTime(clock.now());
    await database.write(async (transaction) => {
      if (!(await setApplicationStatus(database, transaction, name, { status, updatedAt: time }))) return;
      const verb = status === 'destroying' ? 'destroyed' : 'updated';
      const changed = verb === 'updated' ? ['status'] : [];
      const event = recordEvent('applications', verb, [name], { ...requester, changed, isAudited: true });
      await changes.append(transaction, event, time);
    });
  }

  /** Writes to an application's error log that it failed. */
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
      `"${mainApplicationName}" keeps the list of the others and cannot be ${operation}.`,
    );
}

function unknownApplication(name: string): ApiError {
  return new ApiError('APPLICATION_UNKNOWN', `There is no application "${name.slice(0, 60)}".`);
}
