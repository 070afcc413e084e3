/**
 * Who has a record open now. Views are rows of a small table, so that servers on the same store see those of each
 * other; they appear in no event and no history, and expire when their server does not confirm them. While anybody on
 * this server has a record open, the table is read once a second, and at once after a change on this server.
 */
import { randomUUID } from 'node:crypto';
import type { Application } from '../applications/application.ts';
import { BackgroundWorker } from '../base/background-worker.ts';
import { isoTime } from '../base/clock.ts';
import { type NamedPresenceRow, type PresenceRow, readOpenViews, writeOpenViews } from '../database/presence-rows.ts';

/** What a user does with a record. */
export const presenceActivities = ['viewing', 'editing'] as const;
export type PresenceActivity = (typeof presenceActivities)[number];

/** A user who has a record open. */
export interface PresentUser {
  readonly userId: number;
  readonly name: string;
  readonly activity: PresenceActivity;
}

/** One view of a record on this server. */
export interface PresenceView {
  readonly resource: string;
  readonly key: string;
  readonly userId: number;
  /** Receives the other users who have the record open, at the beginning and after each change. */
  deliver(present: readonly PresentUser[]): Promise<void>;
  /** Called regularly: ends the view if its user may not get the record any more. */
  verify(): Promise<void>;
}

/** A view that is open. */
export interface OpenView {
  setActivity(activity: PresenceActivity): void;
  close(): void;
}

const pollMilliseconds = 1000;
const debounceMilliseconds = 15;
/** How often open views are confirmed, and after which time without confirmation they do not count. */
const confirmMilliseconds = 20_000;
const expiryMilliseconds = 60_000;

interface ViewState {
  readonly view: PresenceView;
  activity: PresenceActivity;
  /** What was delivered last, as JSON; null: nothing yet. */
  delivered: string | null;
}

/** The views of one application on this server. */
export class PresenceBoard {
  readonly #application: Application;
  readonly #worker: BackgroundWorker;
  readonly #views = new Map<string, ViewState>();
  readonly #changed = new Set<string>();
  readonly #closed = new Set<string>();
  #confirmedAt = 0;

  constructor(application: Application) {
    this.#application = application;
    this.#worker = new BackgroundWorker({
      run: () => this.#work(),
      onError: (error) => application.logger.warn({ err: error }, 'Presence could not be stored or read.'),
      debounceMilliseconds,
      intervalMilliseconds: pollMilliseconds,
    });
  }

  /** Announces a view, until it is closed. */
  open(view: PresenceView, activity: PresenceActivity): OpenView {
    const session = randomUUID();
    const state: ViewState = { view, activity, delivered: null };
    this.#views.set(session, state);
    this.#report(this.#changed, session);
    return {
      setActivity: (next) => {
        if (state.activity === next) return;
        state.activity = next;
        this.#report(this.#changed, session);
      },
      close: () => {
        if (!this.#views.delete(session)) return;
        this.#changed.delete(session);
        this.#report(this.#closed, session);
      },
    };
  }

  #report(changes: Set<string>, session: string): void {
    changes.add(session);
    this.#worker.start();
    this.#worker.wake();
  }

  async #work(): Promise<void> {
    if (this.#application.closingSignal.aborted) return void this.#worker.stop();
    const { database, clock } = this.#application;
    const now = clock.now();
    await this.#store(now);
    const rows = await readOpenViews(database, isoTime(now - expiryMilliseconds));
    const byRecord = Map.groupBy(rows, ({ resource, key }) => `${resource} ${key}`);
    for (const state of [...this.#views.values()]) {
      const present = listOthers(byRecord.get(`${state.view.resource} ${state.view.key}`) ?? [], state.view.userId);
      const text = JSON.stringify(present);
      if (text === state.delivered) continue;
      state.delivered = text;
      await state.view.deliver(present);
    }
    if (this.#views.size === 0 && this.#closed.size === 0) void this.#worker.stop();
  }

  /** Stores what has changed on this server, and confirms the views that are still open. */
  async #store(now: number): Promise<void> {
    const isDue = now - this.#confirmedAt >= confirmMilliseconds;
    const [changed, closed] = [[...this.#changed], [...this.#closed]];
    if (changed.length + closed.length === 0 && !(isDue && this.#views.size > 0)) return;
    const opened = changed.flatMap((session) => {
      const state = this.#views.get(session);
      return state ? [toRow(session, state)] : [];
    });
    const confirmed = isDue ? [...this.#views.keys()] : null;
    const times = { now: isoTime(now), expired: isoTime(now - expiryMilliseconds) };
    await writeOpenViews(this.#application.database, { opened, closed, confirmed }, times);
    for (const session of changed) this.#changed.delete(session);
    for (const session of closed) this.#closed.delete(session);
    if (!isDue) return;
    this.#confirmedAt = now;
    for (const { view } of [...this.#views.values()]) await view.verify();
  }
}

function toRow(session: string, { view, activity }: ViewState): PresenceRow {
  const { resource, key, userId } = view;
  return { session, resource, key, userId, activity };
}

/** The other users of a record, each once. A user who edits the record in any view counts as editing. */
function listOthers(rows: readonly NamedPresenceRow[], self: number): PresentUser[] {
  const users = new Map<number, PresentUser>();
  for (const { userId, name, activity } of rows) {
    if (userId === self || (users.has(userId) && activity !== 'editing')) continue;
    users.set(userId, { userId, name, activity: activity as PresenceActivity });
  }
  return [...users.values()].sort((one, second) => one.userId - second.userId);
}

const boards = new WeakMap<Application, PresenceBoard>();

/** The board of an application, created on first use. */
export function getPresenceBoard(application: Application): PresenceBoard {
  let board = boards.get(application);
  if (!board) {
    board = new PresenceBoard(application);
    boards.set(application, board);
  }
  return board;
}
