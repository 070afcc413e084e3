/**
 * The rows of a list for a grid. Only the pages that were scrolled to are read.
 *
 * A page is read with the cursor of the previous page if that is known, else by its number: scrolling uses keyset
 * pagination, and a jump with the scroll bar is still a single request. Rows keep their index until the list is read
 * again, so that the view does not jump while others write: changed rows are replaced, removed rows are marked.
 */
import type { Client, Key, ReadParameters, RecordValues } from '@tablinum/client';
import { ObservableState } from '../../ui/store.ts';
import { isSameKey } from './label.ts';

export interface Row {
  readonly key: Key;
  readonly values: RecordValues;
  /** The version of the record, for If-Match; null if it is not known. */
  readonly version: number | null;
  /** The record was deleted or no longer matches the filter. */
  readonly isRemoved: boolean;
  /** When the row was changed while it was shown, in milliseconds since the epoch; 0 if never. */
  readonly changedAt: number;
}

/** The filter, search, order and relations of a list. */
export type ListQuery = Pick<ReadParameters, 'filter' | 'search' | 'sort' | 'appends' | 'onlyDeleted'>;

interface Page {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

export interface WindowState {
  /** The number of rows; null until the first page has been read. */
  readonly count: number | null;
  readonly countIsEstimate: boolean;
  readonly error: Error | null;
  /** Incremented with every change, so that the grid renders again. */
  readonly revision: number;
  /** The number of records that others have created since the list was read. */
  readonly added: number;
}

export const pageSize = 100;
/** Maximum number of pages in memory. The pages that are farthest from the view are dropped first. */
const maxPages = 60;

export class RowWindow extends ObservableState<WindowState> {
  readonly #client: Client;
  readonly #collection: string;
  readonly #keyField: string;
  readonly #query: ListQuery;
  readonly #pages = new Map<number, Page>();
  readonly #reading = new Set<number>();
  readonly #refreshing = new Set<Key>();
  #wanted: [first: number, last: number] = [0, 0];
  #refreshTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Client, collection: string, keyField: string, query: ListQuery) {
    super({ count: null, countIsEstimate: false, error: null, revision: 0, added: 0 });
    this.#client = client;
    this.#collection = collection;
    this.#keyField = keyField;
    this.#query = query;
  }

  row(index: number): Row | undefined {
    return this.#pages.get(Math.floor(index / pageSize))?.rows[index % pageSize];
  }

  /** Reads the missing pages of a range of rows. */
  ensure(first: number, last: number): void {
    this.#wanted = [first, last];
    const from = Math.floor(Math.max(first, 0) / pageSize);
    const to = Math.floor(Math.max(last, 0) / pageSize);
    for (let page = from; page <= to; page += 1)
      if (!this.#pages.has(page) && !this.#reading.has(page)) void this.#read(page, page === 0);
    if (this.#pages.size > maxPages) this.#drop((from + to) / 2);
  }

  /** Reads the visible rows again after a failure. */
  retry(): void {
    this.#update({ error: null });
    this.ensure(...this.#wanted);
  }

  /** Updates a row with values that were just written, unless a newer version of it has already arrived. */
  replace(key: Key, values: RecordValues, version: number | null): void {
    this.#change(key, (row) =>
      version !== null && row.version !== null && row.version > version
        ? row
        : { ...row, values: { ...row.values, ...values }, version: version ?? row.version },
    );
  }

  /** The index of a record in the list; -1 if its page has not been read. */
  indexOf(key: Key): number {
    for (const [number, { rows }] of this.#pages) {
      const index = rows.findIndex((row) => isSameKey(row.key, key));
      if (index >= 0) return number * pageSize + index;
    }
    return -1;
  }

  /** Every row that has been read and is still in the list. */
  loaded(): Row[] {
    return [...this.#pages.values()].flatMap(({ rows }) => rows.filter(({ isRemoved }) => !isRemoved));
  }

  /** Reads the visible pages again and drops the others. The old rows are shown until the new ones arrive. */
  renew(): void {
    const [from, to] = this.#wanted.map((row) => Math.floor(Math.max(row, 0) / pageSize)) as [number, number];
    for (const page of [...this.#pages.keys()]) if (page < from || page > to) this.#pages.delete(page);
    this.#update({ added: 0 });
    for (let page = from; page <= to; page += 1) if (!this.#reading.has(page)) void this.#read(page, true);
  }

  /** Marks rows as removed. They keep their index until the list is read again. */
  markRemoved(keys: readonly Key[]): void {
    for (const key of keys) this.#change(key, (row) => ({ ...row, isRemoved: true }));
  }

  /**
   * Reads a row again after somebody else has changed it. Several rows are read in one request after a short delay.
   *
   * @param discard replaces the shown values even if the version is the same.
   */
  refresh(key: Key, discard = false): void {
    const row = this.byKey(key);
    if (!row) return;
    if (discard) this.#change(key, (each) => ({ ...each, version: null }));
    this.#refreshing.add(row.key);
    this.#refreshTimer ??= setTimeout(() => void this.#refreshNow(), 80);
  }

  /** A record was created or restored. A known row is read again; any other record is only counted. */
  noteAdded(key: Key): void {
    if (this.byKey(key)) this.refresh(key);
    else this.#update({ added: this.state.added + 1 });
  }

  /** The rows of a range that have been read. */
  rowsBetween(first: number, last: number): Row[] {
    const rows: Row[] = [];
    for (let index = first; index <= last; index += 1) {
      const row = this.row(index);
      if (row) rows.push(row);
    }
    return rows;
  }

  async #read(page: number, shouldCount: boolean): Promise<void> {
    this.#reading.add(page);
    try {
      // When a page is read again, the cursor of the page before it may be outdated.
      const after = this.#pages.has(page) ? null : this.#pages.get(page - 1)?.nextCursor;
      const pageParameter = after ? { after } : { page: page + 1 };
      const { data, meta } = await this.#records().list({
        ...this.#query,
        ...pageParameter,
        pageSize,
        versions: true,
        count: shouldCount ? 'exact' : 'none',
      });
      const rows = data.map((values) => this.#rowOf(values, meta.versions ?? {}));
      this.#pages.set(page, { rows, nextCursor: meta.nextCursor });
      const minCount = page * pageSize + rows.length + (meta.hasNext ? 1 : 0);
      const known = shouldCount ? (meta.count ?? 0) : (this.state.count ?? 0);
      const count = meta.hasNext ? Math.max(known, minCount) : rows.length > 0 || page === 0 ? minCount : known;
      this.#update({
        count,
        error: null,
        ...(shouldCount && { countIsEstimate: meta.countIsEstimate ?? false }),
        ...(!meta.hasNext && { countIsEstimate: false }),
      });
    } catch (error) {
      this.#update({ error: error as Error });
    } finally {
      this.#reading.delete(page);
    }
  }

  async #refreshNow(): Promise<void> {
    this.#refreshTimer = undefined;
    const keys = [...this.#refreshing].slice(0, 200);
    for (const key of keys) this.#refreshing.delete(key);
    if (this.#refreshing.size > 0) this.#refreshTimer = setTimeout(() => void this.#refreshNow(), 80);
    const { filter, search, appends, onlyDeleted } = this.#query;
    const query = { filter, search, appends, onlyDeleted };
    try {
      const { data, meta } = await this.#records().list({
        ...query,
        filterByTk: keys,
        pageSize: 200,
        count: 'none',
        versions: true,
      });
      const found = new Map(data.map((values) => [values[this.#keyField] as Key, values]));
      for (const key of keys) {
        const values = found.get(key);
        const version = meta.versions?.[String(key)] ?? null;
        const isUnchanged = version !== null && this.byKey(key)?.version === version;
        if (!values) this.#change(key, (row) => ({ ...row, isRemoved: true }));
        else if (!isUnchanged)
          this.#change(key, (row) => ({ ...row, values, version, isRemoved: false, changedAt: Date.now() }));
      }
    } catch {
      // The rows stay unchanged; the next event or read corrects them.
    }
  }

  #records(): ReturnType<Client['records']> {
    return this.#client.records(this.#collection);
  }

  #rowOf(values: RecordValues, versions: Readonly<Record<string, number>>): Row {
    const key = values[this.#keyField] as Key;
    return { key, values, version: versions[String(key)] ?? null, isRemoved: false, changedAt: 0 };
  }

  /** The row of a record, if it has been read. */
  byKey(key: Key): Row | undefined {
    for (const { rows } of this.#pages.values()) {
      const row = rows.find((each) => isSameKey(each.key, key));
      if (row) return row;
    }
    return undefined;
  }

  #change(key: Key, update: (row: Row) => Row): void {
    for (const [number, page] of this.#pages) {
      const index = page.rows.findIndex((row) => isSameKey(row.key, key));
      const row = page.rows[index];
      if (!row) continue;
      this.#pages.set(number, { ...page, rows: page.rows.with(index, update(row)) });
      this.#update({});
    }
  }

  #drop(center: number): void {
    const far = [...this.#pages.keys()].sort((a, b) => Math.abs(b - center) - Math.abs(a - center));
    for (const page of far.slice(0, this.#pages.size - maxPages)) this.#pages.delete(page);
  }

  #update(change: Partial<WindowState>): void {
    this.updateState({ ...change, revision: this.state.revision + 1 });
  }
}
