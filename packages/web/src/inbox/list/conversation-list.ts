/**
 * The conversations of a list, newest first, read page by page with the cursor of the server as the user scrolls.
 *
 * Changes are shown optimistically: they cover events that arrive during the request and are reverted if the server
 * refuses them (`patch`, `hide`, `settle`). New conversations are only inserted while the top of the list is visible;
 * otherwise they are counted, so that the list does not jump.
 */
import { type Client, Failure, type ListMeta } from '@tablinum/client';
import { ObservableState } from '../../ui/store.ts';
import { buildListParameters, type InboxView } from '../inbox-search.ts';
import type { Conversation } from '../mail-types.ts';
import { pageSize, readFirstPage } from './first-page.ts';
import { OptimisticUpdates, type RowChange } from './optimistic-updates.ts';

export interface ListState {
  readonly rows: readonly Conversation[];
  /** False until the first page has been read. */
  readonly isLoaded: boolean;
  readonly hasMore: boolean;
  readonly error: Error | null;
  /** The number of new or updated conversations that are not at the top of the list yet. */
  readonly arrived: number;
}

/** Rows that are read again in one request, and in total. A longer list is cut at the total. */
const largePage = 200;
const maxReloaded = 1000;
const refreshDelay = 60;
/** Milliseconds from a failed read to the next one. */
const retryDelay = 3000;

export class ConversationList extends ObservableState<ListState> {
  readonly #client: Client;
  readonly #view: InboxView;
  readonly #readsState: boolean;
  readonly #role: string | null;
  /** The ids of rows that must be read again. */
  readonly #stale = new Set<number>();
  readonly #arrived = new Map<number, Conversation>();
  readonly #optimisticUpdates = new OptimisticUpdates();
  #nextCursor: string | null = null;
  #reading = false;
  #loading: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the top of the list is visible. New conversations are then shown at once. */
  isAtTop = true;
  /**
   * The conversation of the message that is being written. It keeps its position although saving a draft makes it the
   * latest one.
   */
  pinnedConversation: number | null = null;

  /** @param readsState whether the role may read the state of conversations. */
  constructor(client: Client, view: InboxView, readsState = true, role: string | null = null) {
    super({ rows: [], isLoaded: false, hasMore: false, error: null, arrived: 0 });
    this.#client = client;
    this.#view = view;
    this.#readsState = readsState;
    this.#role = role;
  }

  /** Reads the first or the next page. Does nothing while a page is being read. */
  async loadMore(): Promise<void> {
    if (this.#reading || (this.state.isLoaded && !this.state.hasMore)) return;
    this.#reading = true;
    this.#loading = this.#readNext();
    await this.#loading;
  }

  async #readNext(): Promise<void> {
    const began = this.#optimisticUpdates.version;
    try {
      const { rows, next } = await this.#readPage(this.#nextCursor);
      this.#nextCursor = next;
      const known = new Set(this.state.rows.map(({ id }) => id));
      const unknown = rows.filter(({ id }) => !known.has(id) && !this.#optimisticUpdates.isOutdated(id, began));
      const added = this.#optimisticUpdates.apply(unknown);
      this.updateState({ rows: [...this.state.rows, ...added], isLoaded: true, hasMore: next !== null, error: null });
    } catch (error) {
      this.updateState({ error: error as Error });
    } finally {
      this.#reading = false;
    }
  }

  /** Reads the list again, after a running read has finished. */
  async reloadIfLoaded(): Promise<void> {
    await this.#loading;
    if (this.state.isLoaded) await this.reload();
  }

  /** Reads all loaded rows again, from the top. */
  async reload(): Promise<void> {
    const wanted = Math.min(this.state.rows.length, maxReloaded);
    const began = this.#optimisticUpdates.version;
    try {
      const rows: Conversation[] = [];
      let next: string | null = null;
      do {
        const page = await this.#page(next, null, wanted > pageSize ? largePage : pageSize);
        rows.push(...page.rows);
        next = page.next;
      } while (next !== null && rows.length < wanted);
      this.#nextCursor = next;
      this.#arrived.clear();
      const known = new Set(this.state.rows.map(({ id }) => id));
      const current = rows.filter(({ id }) => known.has(id) || !this.#optimisticUpdates.isOutdated(id, began));
      this.updateState({
        rows: this.#optimisticUpdates.apply(current),
        isLoaded: true,
        hasMore: next !== null,
        error: null,
        arrived: 0,
      });
    } catch (error) {
      this.updateState({ error: error as Error });
    }
  }

  /** Moves the new conversations to their position. */
  showArrived(): void {
    const arrived = [...this.#arrived.values()];
    this.#arrived.clear();
    const ids = new Set(arrived.map(({ id }) => id));
    const remaining = this.state.rows.filter(({ id }) => !ids.has(id));
    this.updateState({ rows: sortNewestFirst([...this.#optimisticUpdates.apply(arrived), ...remaining]), arrived: 0 });
  }

  /**
   * Shows a change optimistically. @returns a function to call after the server has answered, which ends the override.
   */
  patch(ids: readonly number[], change: RowChange): () => void {
    const end = this.#optimisticUpdates.change(ids, change);
    const changed = new Set(ids);
    this.updateState({ rows: this.state.rows.map((row) => (changed.has(row.id) ? change(row) : row)) });
    return end;
  }

  /** Removes conversations from the list optimistically. */
  hide(ids: readonly number[]): void {
    this.#optimisticUpdates.hide(ids);
    this.updateState({ rows: this.state.rows.filter(({ id }) => !this.#optimisticUpdates.isHidden(id)) });
  }

  /** Ends `hide` and reads the conversations again. @param rows the conversations to insert again after a failure. */
  settle(ids: readonly number[], rows: readonly Conversation[] = []): void {
    this.#optimisticUpdates.unhide(ids);
    const known = new Set(this.state.rows.map(({ id }) => id));
    const back = rows.filter(({ id }) => !known.has(id));
    if (back.length > 0) this.updateState({ rows: sortNewestFirst([...this.state.rows, ...back]) });
    for (const id of ids) this.markStale(id);
  }

  /**
   * Keeps conversations in the list although the server does not list them there yet. @returns a function that ends it.
   */
  retain(ids: readonly number[]): () => void {
    const end = this.#optimisticUpdates.retain(ids);
    return () => {
      end();
      for (const id of ids) this.markStale(id);
    };
  }

  /** Reads a changed conversation again. Several are read in one request after a short delay. */
  markStale(id: number): void {
    this.#stale.add(id);
    this.#timer ??= setTimeout(() => void this.#refresh(), refreshDelay);
  }

  async #refresh(): Promise<void> {
    const keys = [...this.#stale].slice(0, largePage);
    for (const key of keys) this.#stale.delete(key);
    const began = this.#optimisticUpdates.version;
    let next = refreshDelay;
    try {
      const { rows } = await this.#page(null, keys, largePage);
      // Rows that were shown again during the read have been marked for another one.
      const isCurrent = (id: number): boolean => !this.#optimisticUpdates.isOutdated(id, began);
      this.#settleRows(keys.filter(isCurrent), new Map(rows.map((row) => [row.id, row])));
    } catch (error) {
      // The rows may be outdated, so a transient failure is retried while the list is shown.
      const isTransient = error instanceof Failure && (error.outcomeUnknown || error.retryAfter !== null);
      if (isTransient && this.hasSubscribers) for (const key of keys) this.#stale.add(key);
      next = retryDelay;
    }
    this.#timer = this.#stale.size > 0 ? setTimeout(() => void this.#refresh(), next) : undefined;
  }

  #settleRows(keys: readonly number[], found: ReadonlyMap<number, Conversation>): void {
    const known = new Map(this.state.rows.map((row) => [row.id, row]));
    const requested = new Set(keys);
    for (const id of keys) {
      const now = found.get(id);
      const before = known.get(id);
      if (!now || this.#optimisticUpdates.isHidden(id) || !(before || this.#matchesView(now))) this.#arrived.delete(id);
      else if (!before || (before.lastAt !== now.lastAt && id !== this.pinnedConversation)) this.#arrived.set(id, now);
    }
    const isRetained = ({ id }: Conversation): boolean =>
      !requested.has(id) || found.has(id) || this.#optimisticUpdates.isRetained(id);
    const rows = this.state.rows
      .filter(isRetained)
      .map((row) => (requested.has(row.id) ? (found.get(row.id) ?? row) : row));
    this.updateState({ rows: this.#optimisticUpdates.apply(rows), arrived: this.#arrived.size });
    if (this.isAtTop && this.#arrived.size > 0) this.showArrived();
  }

  #matchesView({ unread, starred }: Conversation): boolean {
    return (!this.#view.unread || unread > 0) && (!this.#view.starred || starred > 0);
  }

  async #readPage(after: string | null): Promise<{ rows: Conversation[]; next: string | null }> {
    if (after !== null) return this.#page(after);
    const { data, meta } = await readFirstPage(
      { client: this.#client, role: this.#role, view: this.#view },
      this.#readsState,
    );
    return { rows: data, next: meta.nextCursor };
  }

  /** @param keys reads only these, also if they no longer match the unread or starred filter. */
  async #page(
    after: string | null,
    keys: readonly number[] | null = null,
    size = pageSize,
  ): Promise<{ rows: Conversation[]; next: string | null }> {
    const { unread: _, starred: __, ...baseView } = this.#view;
    const query = {
      ...buildListParameters(keys ? baseView : this.#view, this.#readsState),
      pageSize: size,
      ...(after !== null && { after }),
      ...(keys && { filterByTk: keys }),
    };
    const { data, meta } = await this.#client.call<Conversation[], ListMeta>('conversations:list', { query });
    return { rows: data, next: meta.nextCursor };
  }
}

function sortNewestFirst(rows: readonly Conversation[]): Conversation[] {
  return [...rows].sort((a, b) => (b.lastAt ?? '').localeCompare(a.lastAt ?? ''));
}
