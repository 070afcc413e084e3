/**
 * The conversations of a list, the newest first, page after page by the server's cursor, as far as somebody scrolled.
 *
 * Changes show at once, stay while their request is on its way, whatever events say meanwhile, and are put right when the
 * server refuses them (`patch`, `hide`, `settle`). What arrives takes its place at the top only where that is in view:
 * until then it is counted, and nothing jumps.
 */
import { type Client, Failure, type ListMeta } from '@tablinum/client';
import { listParameters, type Shown } from '../inbox-search.ts';
import type { Conversation } from '../mail.ts';
import { Overlays, type RowChange } from './overlays.ts';

export interface ListState {
  readonly rows: readonly Conversation[];
  /** False until the first page is there. */
  readonly read: boolean;
  readonly more: boolean;
  readonly error: Error | null;
  /** Conversations that arrived or went on, and do not stand in their place yet. */
  readonly arrived: number;
}

const pageSize = 60;
/** Rows that are read again in one request, and in all: a list that was scrolled further begins anew. */
const largePage = 200;
const mostReloaded = 1000;
const moment = 60;
/** From a reading that did not arrive to the next, in milliseconds. */
const pause = 3000;

export class ConversationList {
  readonly #client: Client;
  readonly #shown: Shown;
  readonly #listeners = new Set<() => void>();
  /** Keys of rows to read again. */
  readonly #stale = new Set<number>();
  readonly #arrived = new Map<number, Conversation>();
  readonly #overlays = new Overlays();
  #state: ListState = { rows: [], read: false, more: false, error: null, arrived: 0 };
  #next: string | null = null;
  #reading = false;
  #underWay: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the top of the list is in view: then what arrives is shown at once. */
  atTop = true;
  /** A conversation in which somebody writes: it stays where it is, though drafts make it the latest. */
  held: number | null = null;

  constructor(client: Client, shown: Shown) {
    this.#client = client;
    this.#shown = shown;
  }

  readonly snapshot = (): ListState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Reads the first page, or the next one. Does nothing while one is on its way. */
  async readOn(): Promise<void> {
    if (this.#reading || (this.#state.read && !this.#state.more)) return;
    this.#reading = true;
    this.#underWay = this.#readNext();
    await this.#underWay;
  }

  async #readNext(): Promise<void> {
    try {
      const { rows, next } = await this.#page(this.#next);
      this.#next = next;
      const known = new Set(this.#state.rows.map(({ id }) => id));
      const added = this.#overlays.over(rows.filter(({ id }) => !known.has(id)));
      this.#become({ rows: [...this.#state.rows, ...added], read: true, more: next !== null, error: null });
    } catch (error) {
      this.#become({ error: error as Error });
    } finally {
      this.#reading = false;
    }
  }

  /** Reads anew what was read before somebody listened, or is being read. */
  async readAgain(): Promise<void> {
    await this.#underWay;
    if (this.#state.read) await this.reload();
  }

  /** Reads anew what was read, from the top: rows keep their place as far as they are still there. */
  async reload(): Promise<void> {
    const wanted = Math.min(this.#state.rows.length, mostReloaded);
    try {
      const rows: Conversation[] = [];
      let next: string | null = null;
      do {
        const page = await this.#page(next, null, wanted > pageSize ? largePage : pageSize);
        rows.push(...page.rows);
        next = page.next;
      } while (next !== null && rows.length < wanted);
      this.#next = next;
      this.#arrived.clear();
      this.#become({ rows: this.#overlays.over(rows), read: true, more: next !== null, error: null, arrived: 0 });
    } catch (error) {
      this.#become({ error: error as Error });
    }
  }

  /** What arrived takes its place. */
  show(): void {
    const arrived = [...this.#arrived.values()];
    this.#arrived.clear();
    const ids = new Set(arrived.map(({ id }) => id));
    const others = this.#state.rows.filter(({ id }) => !ids.has(id));
    this.#become({ rows: newestFirst([...this.#overlays.over(arrived), ...others]), arrived: 0 });
  }

  /** Shows a change at once. @returns to be called when the server has answered: from then on, what it tells stands. */
  patch(ids: readonly number[], change: RowChange): () => void {
    const end = this.#overlays.change(ids, change);
    const changed = new Set(ids);
    this.#become({ rows: this.#state.rows.map((row) => (changed.has(row.id) ? change(row) : row)) });
    return end;
  }

  /** They leave the list at once. */
  hide(ids: readonly number[]): void {
    this.#overlays.hide(ids);
    this.#become({ rows: this.#state.rows.filter(({ id }) => !this.#overlays.hides(id)) });
  }

  /** What hid them is over: they are looked at again, and what the server says stands. */
  settle(ids: readonly number[], rows: readonly Conversation[] = []): void {
    this.#overlays.unhide(ids);
    const known = new Set(this.#state.rows.map(({ id }) => id));
    const back = rows.filter(({ id }) => !known.has(id));
    if (back.length > 0) this.#become({ rows: newestFirst([...this.#state.rows, ...back]) });
    for (const id of ids) this.heard(id);
  }

  /** They stay in the list, though the server does not have them there yet. @returns what ends it. */
  keep(ids: readonly number[]): () => void {
    const end = this.#overlays.keep(ids);
    return () => {
      end();
      for (const id of ids) this.heard(id);
    };
  }

  /** Something happened to a conversation: it is read again, several at once after a moment. */
  heard(id: number): void {
    this.#stale.add(id);
    this.#timer ??= setTimeout(() => void this.#refresh(), moment);
  }

  async #refresh(): Promise<void> {
    const keys = [...this.#stale].slice(0, largePage);
    for (const key of keys) this.#stale.delete(key);
    let next = moment;
    try {
      const { rows } = await this.#page(null, keys, largePage);
      this.#settleRows(keys, new Map(rows.map((row) => [row.id, row])));
    } catch (error) {
      // What was refused, or happened, may stand there wrong: it is asked for again as long as somebody looks.
      const passes = error instanceof Failure && (error.lost || error.retryAfter !== null);
      if (passes && this.#listeners.size > 0) for (const key of keys) this.#stale.add(key);
      next = pause;
    }
    this.#timer = this.#stale.size > 0 ? setTimeout(() => void this.#refresh(), next) : undefined;
  }

  #settleRows(keys: readonly number[], found: ReadonlyMap<number, Conversation>): void {
    const known = new Map(this.#state.rows.map((row) => [row.id, row]));
    const asked = new Set(keys);
    for (const id of keys) {
      const now = found.get(id);
      const before = known.get(id);
      if (!now || this.#overlays.hides(id) || !(before || this.#fits(now))) this.#arrived.delete(id);
      else if (!before || (before.lastAt !== now.lastAt && id !== this.held)) this.#arrived.set(id, now);
    }
    const stays = ({ id }: Conversation): boolean => !asked.has(id) || found.has(id) || this.#overlays.keeps(id);
    const rows = this.#state.rows.filter(stays).map((row) => found.get(row.id) ?? row);
    this.#become({ rows: this.#overlays.over(rows), arrived: this.#arrived.size });
    if (this.atTop && this.#arrived.size > 0) this.show();
  }

  #fits({ unread, starred }: Conversation): boolean {
    return (!this.#shown.unread || unread > 0) && (!this.#shown.starred || starred > 0);
  }

  /** @param keys these alone, also those that have been read or lost their star since: they keep their place. */
  async #page(
    after: string | null,
    keys: readonly number[] | null = null,
    size = pageSize,
  ): Promise<{ rows: Conversation[]; next: string | null }> {
    const { unread: _, starred: __, ...standing } = this.#shown;
    const query = {
      ...listParameters(keys ? standing : this.#shown),
      pageSize: size,
      ...(after !== null && { after }),
      ...(keys && { filterByTk: keys }),
    };
    const { data, meta } = await this.#client.call<Conversation[], ListMeta>('conversations:list', { query });
    return { rows: data, next: meta.nextCursor };
  }

  #become(change: Partial<ListState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function newestFirst(rows: readonly Conversation[]): Conversation[] {
  return [...rows].sort((a, b) => (b.lastAt ?? '').localeCompare(a.lastAt ?? ''));
}
