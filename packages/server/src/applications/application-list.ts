import { isoTime } from '../base/clock.ts';
import {
  type ApplicationRow,
  type ApplicationStatus,
  addApplicationError,
  deleteApplication,
  findApplication,
  setStatus,
} from '../database/application-rows.ts';
import { actorOf, type Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Application, mainName } from './application.ts';

const errorsKept = 20;

/** Who wants a change of state, for the event that tells of it; null: the server itself. */
export interface Asker {
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
  async row(name: string): Promise<ApplicationRow> {
    const row = await findApplication(this.#main.database, name);
    if (!row || row.status === 'destroying') throw unknown(name);
    return row;
  }

  /** An application that answers requests now. @throws ApiError 404, or 503 when it is stopped. */
  async served(name: string): Promise<ApplicationRow> {
    const row = await this.row(name);
    if (row.status === 'stopped')
      throw new ApiError('APPLICATION_STOPPED', `The application "${name}" is stopped; applications:start starts it.`, {
        retryAfter: 30,
      });
    return row;
  }

  /** Notes a state and tells of it, where it is another one. */
  async setStatus(name: string, status: ApplicationStatus, asker: Asker | null): Promise<void> {
    const { database, clock, changes } = this.#main;
    const at = isoTime(clock.now());
    await database.write(async (transaction) => {
      if (!(await setStatus(database, transaction, name, status, at))) return;
      const verb = status === 'destroying' ? 'destroyed' : 'updated';
      const events = {
        name: `applications.${verb}`,
        resource: 'applications',
        tks: [name],
        actor: asker && actorOf(asker.caller),
        requestId: asker?.requestId ?? null,
        changed: verb === 'updated' ? ['status'] : [],
        by: asker?.caller ?? null,
      };
      await changes.append(transaction, events, at);
    });
  }

  /** Writes to an application's error log that it failed. */
  async noteFailure(name: string, stage: string, message: string): Promise<void> {
    const { database, clock } = this.#main;
    const entry = { application: name, at: isoTime(clock.now()), stage, message };
    await database.write((transaction) => addApplicationError(database, transaction, entry, errorsKept));
    await this.setStatus(name, 'failed', null);
  }

  async remove(name: string): Promise<void> {
    const { database } = this.#main;
    await database.write((transaction) => deleteApplication(database, transaction, name));
  }
}

/** @throws ApiError 403 for `main`. */
export function refuseMain(name: string, what: string): void {
  if (name === mainName)
    throw new ApiError('SYSTEM_PROTECTED', `"${mainName}" keeps the list of the others and cannot be ${what}.`);
}

function unknown(name: string): ApiError {
  return new ApiError('APPLICATION_UNKNOWN', `There is no application "${name.slice(0, 60)}".`);
}
