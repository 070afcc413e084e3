import type { Lease } from '../applications/application-lease.ts';
import type { Applications } from '../applications/applications.ts';
import type { Row } from '../database/database.ts';
import { executeSentWrite } from '../records/write/execute-sent-write.ts';
import type { ForwardedWrite, WriteOutcome } from './reader-messages.ts';

/** The main thread's side of the writes of one reader: executes them, and sends back the outcomes of one turn of the event loop together. */
export class WriteReceiver {
  readonly #applications: Applications;
  readonly #post: (outcomes: readonly WriteOutcome[]) => void;
  #outcomes: WriteOutcome[] = [];

  constructor(applications: Applications, post: (outcomes: readonly WriteOutcome[]) => void) {
    this.#applications = applications;
    this.#post = post;
  }

  /** Executes writes. A write that cannot be executed changes nothing; the reader then hands its request over, which explains why. */
  receive(writes: readonly ForwardedWrite[]): void {
    for (const write of writes)
      void this.#execute(write).then(
        (rows) => this.#report(write.id, rows),
        () => this.#report(write.id, null),
      );
  }

  async #execute(write: ForwardedWrite): Promise<Row[] | null> {
    const lease = this.#applications.leaseOpen(write.application);
    if (lease === null) return null;
    try {
      return await execute(write, lease);
    } finally {
      lease.release();
    }
  }

  #report(id: number, rows: Row[] | null): void {
    if (this.#outcomes.push({ id, rows }) === 1) setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    this.#post(outcomes);
  };
}

function execute({ version, ...write }: ForwardedWrite, { application }: Lease): Promise<Row[]> {
  const { database, changes, clock } = application;
  return executeSentWrite(write, { database, changes, clock, version, currentVersion: () => application.version });
}
