/**
 * The conversations of a list, the newest first, page after page by the server's cursor, as far as somebody scrolled.
 *
 * Changes show at once and are put right when the server refuses them (`patch`, `hide`, `refresh`). What arrives takes its
 * place at the top only where `show` is asked for: until then it is counted, and nothing jumps.
 */
import type { Client, ListMeta } from '@tablinum/client';
import { listParameters, type Shown } from '../inbox-search.ts';
import type { Conversation } from '../mail.ts';

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
const moment = 60;

export class ConversationList {
  readonly #client: Client;
  readonly #shown: Shown;
  readonly #listeners = new Set<() => void>();
  /** Keys of rows to read again. */
  readonly #stale = new Set<number>();
  readonly #arrived = new Map<number, Conversation>();
  readonly #hidden = new Set<number>();
  #state: ListState = { rows: [], read: false, more: false, error: null, arrived: 0 };
  #next: string | null = null;
  #reading = false;
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

  row(id: number): Conversation | undefined {
    return this.#state.rows.find((row) => row.id === id);
  }

  /** Reads the first page, or the next one. Does nothing while one is on its way. */
  async readOn(): Promise<void> {
    if (this.#reading || (this.#state.read && !this.#state.more)) return;
    this.#reading = true;
    try {
      const { rows, next } = await this.#page(this.#next);
      this.#next = next;
      const known = new Set(this.#state.rows.map(({ id }) => id));
      const added = rows.filter(({ id }) => !known.has(id) && !this.#hidden.has(id));
      this.#become({ rows: [...this.#state.rows, ...added], read: true, more: next !== null, error: null });
    } catch (error) {
      this.#become({ error: error as Error });
    } finally {
      this.#reading = false;
    }
  }

  /** Reads the whole anew, from the top. */
  async reload(): Promise<void> {
    try {
      const { rows, next } = await this.#page(null);
      this.#next = next;
      this.#arrived.clear();
      this.#become({ rows: this.#shownOf(rows), read: true, more: next !== null, error: null, arrived: 0 });
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
    this.#become({ rows: newestFirst([...arrived, ...others]), arrived: 0 });
  }

  patch(ids: readonly number[], change: (row: Conversation) => Conversation): void {
    this.#become({ rows: this.#state.rows.map((row) => (ids.includes(row.id) ? change(row) : row)) });
  }

  /** They leave the list at once. */
  hide(ids: readonly number[]): void {
    for (const id of ids) this.#hidden.add(id);
    this.#become({ rows: this.#shownOf(this.#state.rows) });
  }

  /** They are looked at again: what the server says stands. */
  unhide(ids: readonly number[], rows: readonly Conversation[] = []): void {
    for (const id of ids) this.#hidden.delete(id);
    const known = new Set(this.#state.rows.map(({ id }) => id));
    const back = rows.filter(({ id }) => !known.has(id));
    if (back.length > 0) this.#become({ rows: newestFirst([...this.#state.rows, ...back]) });
    for (const id of ids) this.heard(id);
  }

  /** Something happened to a conversation: it is read again, several at once after a moment. */
  heard(id: number): void {
    this.#stale.add(id);
    this.#timer ??= setTimeout(() => void this.#refresh(), moment);
  }

  async #refresh(): Promise<void> {
    this.#timer = undefined;
    const keys = [...this.#stale].slice(0, 200);
    this.#stale.clear();
    try {
      const { rows } = await this.#page(null, keys);
      this.#settle(keys, new Map(rows.map((row) => [row.id, row])));
    } catch {
      // What stands there stays; the next event or reading sets it right.
    }
  }

  #settle(keys: readonly number[], found: ReadonlyMap<number, Conversation>): void {
    const known = new Map(this.#state.rows.map((row) => [row.id, row]));
    for (const id of keys) {
      const now = found.get(id);
      const before = known.get(id);
      if (!now || this.#hidden.has(id) || !(before || this.#fits(now))) this.#arrived.delete(id);
      else if (!before || (before.lastAt !== now.lastAt && id !== this.held)) this.#arrived.set(id, now);
    }
    const stays = (row: Conversation): boolean => !keys.includes(row.id) || found.has(row.id);
    const rows = this.#state.rows.filter(stays).map((row) => found.get(row.id) ?? row);
    this.#become({ rows, arrived: this.#arrived.size });
    if (this.atTop && this.#arrived.size > 0) this.show();
  }

  #fits({ unread, starred }: Conversation): boolean {
    return (!this.#shown.unread || unread > 0) && (!this.#shown.starred || starred > 0);
  }

  /** @param keys these alone, also those that have been read or lost their star since: they keep their place. */
  async #page(after: string | null, keys?: readonly number[]): Promise<{ rows: Conversation[]; next: string | null }> {
    const { unread: _, starred: __, ...standing } = this.#shown;
    const query = {
      ...listParameters(keys ? standing : this.#shown),
      pageSize: keys ? 200 : pageSize,
      ...(after !== null && { after }),
      ...(keys && { filterByTk: keys }),
    };
    const { data, meta } = await this.#client.call<Conversation[], ListMeta>('conversations:list', { query });
    return { rows: data, next: meta.nextCursor };
  }

  #shownOf(rows: readonly Conversation[]): Conversation[] {
    return rows.filter(({ id }) => !this.#hidden.has(id));
  }

  #become(change: Partial<ListState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function newestFirst(rows: readonly Conversation[]): Conversation[] {
  return [...rows].sort((a, b) => (b.lastAt ?? '').localeCompare(a.lastAt ?? ''));
}
