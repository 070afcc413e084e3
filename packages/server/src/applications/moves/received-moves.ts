/** Applications that another server moves to this one. Loaded when it is first needed. */
import type { BackupSource } from '../../base/backup-config.ts';
import { storeVersion } from '../../database/catalogue.ts';
import type { MoveTarget } from '../../database/move/move-stores.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { CopyEnd } from '../../transfer/move/copy-target.ts';
import type { OpenTarget } from '../../transfer/move/local-target.ts';
import { describeMovedApplication } from '../../transfer/move/move-protocol.ts';
import { planTables, type TablePlan } from '../../transfer/move/plan-tables.ts';
import type { Applications } from '../applications.ts';
import { runBackupTask } from '../backups/run-backup-task.ts';

/** Builds and replaces stores on the engine of this server. */
export interface MoveStores {
  openTarget(store: string): Promise<OpenTarget>;
  replace(store: string): Promise<void>;
}

export interface ReceivedMovesParts {
  readonly applications: Applications;
  readonly openStores: () => Promise<MoveStores>;
  readonly source: BackupSource;
}

/** Which application a move writes. */
export interface MoveKey {
  readonly application: string;
  /** The id of the move, a UUID. */
  readonly move: string;
}

/** How long stores stay open between two steps. */
const idleMilliseconds = 20_000;
/** The versions of a copy that is not complete. */
const unknownVersions = { version: '0', schema: '0', store: storeVersion };

/** The stores that are being built, opened. */
class ReceivedCopy {
  readonly opened: OpenTarget;
  #plan: TablePlan | null = null;

  constructor(opened: OpenTarget) {
    this.opened = opened;
  }

  get target(): MoveTarget {
    return this.opened.target;
  }

  /** The tables that the received definitions describe. */
  async plan(): Promise<TablePlan> {
    this.#plan ??= await planTables(this.target, unknownVersions);
    return this.#plan;
  }

  /** Reads the definitions again. */
  planAgain(): Promise<TablePlan> {
    this.#plan = null;
    return this.plan();
  }
}

interface Session {
  readonly copy: ReceivedCopy;
  /** Closes it; null while a step runs. */
  timer: NodeJS.Timeout | null;
}

export type { ReceivedCopy };

export class ReceivedMoves {
  readonly #parts: ReceivedMovesParts;
  readonly #sessions = new Map<string, Session>();
  readonly #stopping = new AbortController();

  constructor(parts: ReceivedMovesParts) {
    this.#parts = parts;
  }

  /**
   * Runs work on the copy of an application, which is created if it does not exist yet. Steps of one application run one after the
   * other, and it cannot be started meanwhile.
   *
   * @throws ApiError if this move has not created the application, or it is not stopped.
   */
  use<T>(key: MoveKey, work: (copy: ReceivedCopy) => Promise<T>): Promise<T> {
    return this.#withStore(key, async (store) => {
      const session = await this.#openSession(store);
      // The session does not expire while a step runs: a large file takes longer.
      if (session.timer) clearTimeout(session.timer);
      return work(session.copy).finally(() => {
        session.timer = setTimeout(() => void this.#closeSession(store).catch(() => {}), idleMilliseconds).unref();
      });
    });
  }

  /** Completes the copy in another process, because it takes time. */
  complete(key: MoveKey, end: Omit<CopyEnd, 'application'>): Promise<void> {
    return this.#withStore(key, async (store) => {
      await this.#closeSession(store);
      const request = { ...end, application: key.application, store };
      await runBackupTask(this.#parts.source, { kind: 'completeMove', request }, { signal: this.#stopping.signal });
    });
  }

  /** Puts the complete copy in the place of the store of the application. */
  place(key: MoveKey): Promise<void> {
    return this.#withStore(key, async (store) => {
      await this.#closeSession(store);
      await (await this.#parts.openStores()).replace(store);
    });
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    for (const store of this.#sessions.keys()) await this.#closeSession(store);
  }

  /** @throws ApiError `STOPPING` if the server is stopped meanwhile: the sender repeats the step. */
  async #withStore<T>({ application, move }: MoveKey, work: (store: string) => Promise<T>): Promise<T> {
    this.#requireServing();
    try {
      return await this.#parts.applications.whileStopped(application, async ({ store, displayName }) => {
        this.#requireServing();
        if (displayName === describeMovedApplication(move)) return work(store);
        throw new ApiError(
          'MOVE_REFUSED',
          `The application "${application}" was not created by this move. Destroy it, or move to another server.`,
        );
      });
    } catch (error) {
      this.#requireServing();
      throw error;
    }
  }

  #requireServing(): void {
    if (this.#stopping.signal.aborted) throw new ApiError('STOPPING', 'The server is stopping.', { retryAfter: 5 });
  }

  async #openSession(store: string): Promise<Session> {
    const open = this.#sessions.get(store);
    if (open) return open;
    const opened = await (await this.#parts.openStores()).openTarget(store);
    const session: Session = { copy: new ReceivedCopy(opened), timer: null };
    this.#sessions.set(store, session);
    return session;
  }

  async #closeSession(store: string): Promise<void> {
    const session = this.#sessions.get(store);
    if (!session) return;
    this.#sessions.delete(store);
    if (session.timer) clearTimeout(session.timer);
    await session.copy.opened.close();
  }
}
