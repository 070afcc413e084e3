/** The tables of an application that a move copies, with the columns that have the same meaning on every engine. */
import type { Storage } from '../../schema/field-type.ts';
import { auditTables } from '../audit-tables.ts';
import type { ColumnDefinition } from '../dialect.ts';

/** A column. `position`: it contains a position in the event log, which each engine writes differently. */
export interface MovedColumn {
  readonly name: string;
  readonly storage: Storage;
  readonly position?: boolean;
}

export interface MovedTable {
  readonly table: string;
  readonly columns: readonly MovedColumn[];
  /** The columns that identify a row, and its order. Values of several columns are compared one after the other. */
  readonly key: readonly MovedColumn[];
  /** The column whose values the engine generates; null without one. */
  readonly generated: string | null;
  /** Whether it belongs to the audit journal, which is a store of its own on some engines. */
  readonly isJournal: boolean;
}

/** A row: the text of each value in the order of the columns, or null. Equal values have equal texts on every engine. */
export type MovedRow = readonly (string | null)[];

/** The write counter that each table of a collection, and of the audit journal, has next to its columns. */
const writeCounter: MovedColumn = { name: '_v', storage: 'bigint' };

type CatalogueColumns = Readonly<Record<string, Storage>>;

/** The first column is the key. */
const catalogueTables: Readonly<Record<string, CatalogueColumns>> = {
  _migrations: { number: 'integer', title: 'text', at: 'text' },
  _collections: {
    id: 'integer',
    name: 'text',
    title: 'text',
    description: 'text',
    options: 'json',
    table_name: 'text',
    system: 'boolean',
    internal: 'boolean',
    changed: 'bigint',
  },
  _fields: { id: 'integer', collection_id: 'integer', name: 'text', definition: 'json', facts: 'json' },
  _events: {
    id: 'bigint',
    at: 'datetime',
    name: 'text',
    resource: 'text',
    tk: 'text',
    actor: 'text',
    request_id: 'text',
    changed: 'json',
  },
  _outbox: { id: 'integer', position: 'text' },
  _acts: { id: 'bigint', act: 'json' },
  _audit_witness: { chain: 'text', place: 'bigint', hash: 'text' },
  _history: {
    id: 'bigint',
    collection_id: 'integer',
    tk: 'text',
    at: 'datetime',
    action: 'text',
    actor: 'text',
    request_id: 'text',
    changes: 'json',
  },
  _replies: {
    id: 'bigint',
    credential: 'text',
    key: 'text',
    request: 'text',
    power: 'text',
    at: 'datetime',
    ended: 'boolean',
    reply: 'text',
  },
  _schema_ids: { kind: 'text', item: 'text', id: 'text' },
  _schema_revisions: {
    number: 'integer',
    at: 'text',
    actor: 'text',
    summary: 'text',
    steps: 'text',
    document_before: 'text',
    document_after: 'text',
  },
};
/** Tables whose key is more than the first column. */
const keyLengths: Readonly<Record<string, number>> = { _schema_ids: 2 };
const generatedIds = new Set(['_collections', '_fields', '_acts', '_history', '_replies', '_events']);

/**
 * Tables of the catalogue that are not copied row by row: `_meta` is written when the rest is complete, bytes are copied by their names,
 * indexes can be derived from the copied rows, settings and backups are those of the server, and the data that is kept of destroyed
 * fields and collections stays in the source.
 */
export const tablesNotCopied: ReadonlySet<string> = new Set([
  '_meta',
  '_blobs',
  '_thumbnails',
  '_search_indexes',
  '_mail_index',
  '_mail_text',
  '_settings',
  '_backups',
  '_schema_tombstones',
]);

/** The tables that every application has, in both stores. */
export function listFixedTables(): MovedTable[] {
  const catalogue = Object.entries(catalogueTables).map(([table, columns]): MovedTable => {
    const list = Object.entries(columns).map(
      ([name, storage]): MovedColumn => (name === 'position' ? { name, storage, position: true } : { name, storage }),
    );
    return {
      table,
      columns: list,
      key: list.slice(0, keyLengths[table] ?? 1),
      generated: generatedIds.has(table) ? 'id' : null,
      isJournal: false,
    };
  });
  return [
    ...catalogue,
    ...Object.entries(auditTables).map(([table, columns]) => ({ ...toMovedTable(table, columns), isJournal: true })),
  ];
}

/** A table that the server creates from column definitions. Without a primary key, all of its columns identify a row. */
export function toMovedTable(table: string, definitions: readonly ColumnDefinition[]): MovedTable {
  const columns = definitions.map(
    ({ name, storage }): MovedColumn =>
      table === 'webhooks' && name === 'startsAfter' ? { name, storage, position: true } : { name, storage },
  );
  const all = [...columns, writeCounter];
  const primary = definitions.find(({ primaryKey }) => primaryKey);
  return {
    table,
    columns: all,
    key: primary ? columns.filter(({ name }) => name === primary.name) : all,
    generated: definitions.find(({ autoIncrement }) => autoIncrement)?.name ?? null,
    isJournal: false,
  };
}

/** Consecutive rows of a table. The bounds are values of {@link MovedTable.key}; null: there is none. */
export interface KeyRange {
  /** The last key before the range. */
  readonly after: MovedRow | null;
  /** The last key of the range. */
  readonly until: MovedRow | null;
}

export const wholeTable: KeyRange = { after: null, until: null };

/** The values of the key of a row. */
export function readRowKey(table: MovedTable, row: MovedRow): MovedRow {
  return table.key.map((column) => row[table.columns.indexOf(column)] ?? null);
}

export function isInRange(table: MovedTable, row: MovedRow, { after, until }: KeyRange): boolean {
  const key = readRowKey(table, row);
  return (
    (after === null || compareKeys(table, key, after) > 0) && (until === null || compareKeys(table, key, until) <= 0)
  );
}

/** Compares the keys of two rows as both engines order them: numbers by value, texts by code point. */
export function compareRowKeys(table: MovedTable, one: MovedRow, other: MovedRow): number {
  return compareKeys(table, readRowKey(table, one), readRowKey(table, other));
}

function compareKeys({ key }: MovedTable, one: MovedRow, other: MovedRow): number {
  for (const [index, { storage }] of key.entries()) {
    const order = compareValues(storage, one[index] ?? null, other[index] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

function compareValues(storage: Storage, one: string | null, other: string | null): number {
  if (one === other) return 0;
  if (one === null) return 1;
  if (other === null) return -1;
  if (storage === 'integer' || storage === 'bigint') return BigInt(one) < BigInt(other) ? -1 : 1;
  if (storage === 'double') return Number(one) < Number(other) ? -1 : 1;
  if (storage.startsWith('decimal')) return compareDecimals(one, other);
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** Both have the same number of digits after the point. */
function compareDecimals(one: string, other: string): number {
  return BigInt(one.replace('.', '')) < BigInt(other.replace('.', '')) ? -1 : 1;
}

/** The only column of the key if changes of the table can be found by it. Positions in the event log change without a write to their row. */
export function findPlainKey({ key, columns }: MovedTable): MovedColumn | null {
  const [only, ...others] = key;
  const isPlain = others.length === 0 && !columns.some(({ position }) => position);
  return only && isPlain && ['integer', 'bigint', 'text'].includes(only.storage) ? only : null;
}

/** Removed rows in one piece of changes. */
const removedInPiece = 1000;

/**
 * The changes of a table in pieces, from the keys of the rows that differ. First all removals: an added row may have a unique value that
 * another one had.
 *
 * @param removedKeys of rows that no longer exist, or are no longer as they were.
 * @param readRows reads the rows with these keys, of which some may have been removed.
 */
export async function* readChanges(
  table: MovedTable,
  { removedKeys, writtenKeys }: { readonly removedKeys: Iterable<string>; readonly writtenKeys: readonly string[] },
  readRows: (keys: readonly string[]) => Promise<readonly MovedRow[]> | readonly MovedRow[],
): AsyncGenerator<{ readonly removed: readonly MovedRow[]; readonly added: readonly MovedRow[] }> {
  const [key] = table.key;
  const keyIndex = key ? table.columns.indexOf(key) : -1;
  const removed = [...new Set(removedKeys)];
  for (let from = 0; from < removed.length; from += removedInPiece)
    yield {
      removed: removed
        .slice(from, from + removedInPiece)
        .map((each) => table.columns.map((_, index) => (index === keyIndex ? each : null))),
      added: [],
    };
  for (let [from, limit] = [0, 100]; from < writtenKeys.length; ) {
    const added = await readRows(writtenKeys.slice(from, from + limit));
    from += limit;
    if (added.length === 0) continue;
    yield { removed: [], added };
    limit = chooseBatchSize(added);
  }
}

/** A double as text: the shortest one that means the same number. */
export function toDoubleText(value: string | number): string {
  const number = Number(value);
  return Object.is(number, -0) ? '-0' : String(number);
}

/** A batch of rows is about this long. */
const batchCharacters = 2 * 1024 * 1024;
const [minBatch, maxBatch] = [4, 2000];

/** How many rows to read next, so that a batch has about {@link batchCharacters}. @param rows those that were read before, at least one. */
export function chooseBatchSize(rows: readonly MovedRow[]): number {
  let characters = 0;
  for (const row of rows) for (const each of row) characters += each?.length ?? 4;
  const average = Math.max(1, characters / rows.length);
  return Math.round(Math.min(maxBatch, Math.max(minBatch, batchCharacters / average)));
}
