/**
 * Writes the rows of an import in an open transaction, by the same path as any create or update of the caller. Rows that are
 * refused leave no trace; the others are written.
 */
import { setImmediate } from 'node:timers/promises';
import { TimeSlices } from '../../base/time-slices.ts';
import type { RefusedRow } from '../../database/import-rows.ts';
import { withSavepoint } from '../../database/savepoint.ts';
import type { ApiError } from '../../protocol/api-error.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import type { TransactionContext } from '../../records/record-context.ts';
import { parseKey } from '../../records/record-key.ts';
import type { Body } from '../../records/record-rules.ts';
import { getRules } from '../../records/system/system-rules.ts';
import { withServerGrant } from '../../records/with-grants.ts';
import { applyBeforeHook } from '../../records/write/before-hooks.ts';
import { createRecords, updateRecords } from '../../records/write/write-records.ts';
import { requireColumnField } from '../../schema/registry.ts';
import { findKeys, type SearchedValues, toSearchKey } from './found-records.ts';
import type { ImportColumn, ImportPlan } from './import-plan.ts';
import {
  type AcceptedRow,
  type FileMemory,
  findRefusals,
  type ImportRow,
  isRecordError,
  type RowRefusal,
  toRefusal,
  toRefusedRow,
} from './import-row.ts';

/** What has become of some rows. */
export interface RowOutcome {
  readonly created: number;
  readonly updated: number;
  readonly refused: readonly RefusedRow[];
  /** The rows that were written; empty without a {@link FileMemory}. */
  readonly accepted: readonly AcceptedRow[];
}

/** Rows that are checked and written at once: more would hold the event loop for too long. */
const minChunkRows = 50;
/** While refused rows are looked for, other requests are processed before each part of at least this many rows. */
const yieldRows = 10;

const createRequest = normaliseRequest('create', { fields: [] }, false);
const updateRequest = normaliseRequest('update', { filterByTk: 0, fields: [] }, false);

/** Writes rows in their order. Between chunks, other requests are processed. */
export async function writeRows(
  tx: TransactionContext,
  plan: ImportPlan,
  rows: readonly ImportRow[],
  memory: FileMemory | null = null,
): Promise<RowOutcome> {
  const writer = new RowWriter(tx, plan, memory);
  const chunkRows = Math.max(minChunkRows, tx.database.dialect.rowsPerInsert);
  for (let start = 0; start < rows.length; start += chunkRows) {
    if (start > 0) await setImmediate();
    await writer.write(rows.slice(start, start + chunkRows));
  }
  return writer.outcome;
}

/** A row whose lookups are resolved. `key` names the record that it updates; undefined: it creates one. */
interface ReadyRow {
  readonly row: ImportRow;
  readonly body: Body;
  readonly key: unknown;
  readonly matchKey: string | null;
}

interface RefusedImportRow {
  readonly row: ImportRow;
  readonly refusal: RowRefusal;
}

/** A row with the keys of the records that its cells name. */
type LookedUpRow = Pick<ReadyRow, 'row' | 'body'>;
type Resolution = ReadyRow | RefusedImportRow;

class RowWriter {
  readonly #tx: TransactionContext;
  readonly #plan: ImportPlan;
  readonly #memory: FileMemory | null;
  readonly #refused: RefusedRow[] = [];
  readonly #accepted: AcceptedRow[] = [];
  /** Consecutive updates that are not written yet. */
  #updates: ReadyRow[] = [];
  #created = 0;
  #updated = 0;

  constructor(tx: TransactionContext, plan: ImportPlan, memory: FileMemory | null) {
    this.#tx = tx;
    this.#plan = plan;
    this.#memory = memory;
  }

  get outcome(): RowOutcome {
    const refused = this.#refused.sort((one, other) => one.line - other.line);
    return { created: this.#created, updated: this.#updated, refused, accepted: this.#accepted };
  }

  async write(rows: readonly ImportRow[]): Promise<void> {
    let remaining = rows;
    while (remaining.length > 0) {
      const resolved = await this.#resolve(remaining);
      await this.#writeResolved(await this.#applyHooks(resolved));
      remaining = remaining.slice(resolved.length);
      await this.#writeUpdates();
    }
  }

  /** The rows up to the first one that depends on an earlier one of them, at least one. */
  async #resolve(rows: readonly ImportRow[]): Promise<readonly Resolution[]> {
    const lookups = await this.#findLookups(rows);
    const looked = rows.map((row) => this.#lookUp(row, lookups));
    const matches = await this.#findMatches(looked);
    const resolved: Resolution[] = [];
    const matchKeys = new Set<string>();
    for (const each of looked) {
      const resolution = 'refusal' in each ? each : this.#match(each, matches);
      const matchKey = 'matchKey' in resolution ? resolution.matchKey : null;
      const isRepeated = matchKey !== null && matchKeys.has(matchKey);
      const mayNameOwn = 'refusal' in each && each.row.lookups.some(({ column }) => this.#isOwn(column));
      if (resolved.length > 0 && (isRepeated || mayNameOwn)) return resolved;
      resolved.push(resolution);
      if (matchKey !== null) matchKeys.add(matchKey);
    }
    return resolved;
  }

  /** Whether a column names records of the collection itself, which an earlier row may create. */
  #isOwn({ lookup }: ImportColumn): boolean {
    return lookup?.collection === this.#plan.collection;
  }

  /** The body of a row, with the keys of the records that its cells name. */
  #lookUp(row: ImportRow, lookups: FoundLookups): LookedUpRow | RefusedImportRow {
    if (row.refusal) return { row, refusal: row.refusal };
    const body: Record<string, unknown> = { ...row.values };
    for (const { column, value } of row.lookups) {
      const { lookup, field } = column;
      if (!lookup) continue;
      const [key] = value === null ? [null] : (lookups.get(column)?.get(toSearchKey([lookup.field], [value])) ?? []);
      if (key === undefined)
        return refuse(row, field.name, `No record of ${lookup.collection.name} has this "${lookup.field.name}".`);
      body[field.name] = key;
    }
    return { row, body };
  }

  /** Finds the record that a row updates. */
  #match({ row, body }: LookedUpRow, matches: FoundKeys): Resolution {
    const { collection, mode, match } = this.#plan;
    if (mode === 'create') return { row, body, key: undefined, matchKey: null };
    const fields = match.map(({ field }) => field);
    const names = fields.map(({ name }) => `"${name}"`).join(' and ');
    const values = this.#readMatchValues(body);
    if (values === null) {
      const empty = fields.find(({ name }) => (body[name] ?? null) === null)?.name ?? null;
      return mode === 'upsert'
        ? { row, body, key: undefined, matchKey: null }
        : refuse(row, empty, `${names} must not be empty, because the record is found by it.`);
    }
    const matchKey = toSearchKey(fields, values);
    const keys = matches.get(matchKey) ?? [];
    const [first] = fields;
    if (keys.length > 1) return refuse(row, first?.name ?? null, `Several records have the same ${names}.`);
    if (keys.length === 0 && mode === 'update')
      return refuse(row, first?.name ?? null, `No record of ${collection.name} has this value of ${names}.`);
    return { row, body, key: keys[0], matchKey };
  }

  /** Null in the mode `create`, and if a value is empty. */
  #readMatchValues(body: Body): SearchedValues | null {
    const values = this.#plan.match.map(({ field }) => body[field.name]);
    return values.length === 0 || values.some((each) => each === null || each === undefined) ? null : values;
  }

  async #findLookups(rows: readonly ImportRow[]): Promise<FoundLookups> {
    const found = new Map<ImportColumn, FoundKeys>();
    for (const column of this.#plan.columns) {
      const { lookup } = column;
      if (!lookup) continue;
      const values = rows
        .flatMap((row) => row.lookups.filter((each) => each.column === column).map(({ value }) => [value]))
        .filter(([value]) => value !== null);
      const search = { collection: lookup.collection, fields: [lookup.field], key: lookup.key };
      found.set(column, await findKeys(this.#tx, search, values));
    }
    return found;
  }

  async #findMatches(rows: readonly (LookedUpRow | RefusedImportRow)[]): Promise<FoundKeys> {
    const { collection, match } = this.#plan;
    const values = rows
      .map((each) => ('body' in each ? this.#readMatchValues(each.body) : null))
      .filter((each) => each !== null);
    if (values.length === 0) return new Map();
    const fields = match.map(({ field }) => field);
    return findKeys(this.#tx, { collection, fields, key: collection.primaryKey }, values);
  }

  /** Whether before hooks see the rows of this import. */
  get #hasHooks(): boolean {
    const { name, system } = this.#plan.collection;
    return this.#tx.hooks?.hasBeforeHook(name, system) ?? false;
  }

  /**
   * The rows as the before hooks leave them. The hooks run here instead of in the writes, because a write is repeated without the rows
   * that it refuses. The rules of system collections may write other records, whose hooks must run, so these rows are written one by one.
   */
  async #applyHooks(resolved: readonly Resolution[]): Promise<readonly Resolution[]> {
    if (!this.#hasHooks || this.#plan.collection.system) return resolved;
    return Promise.all(resolved.map((each) => ('refusal' in each ? each : this.#applyHook(each))));
  }

  async #applyHook(ready: ReadyRow): Promise<Resolution> {
    const { row, body, key } = ready;
    const { collection } = this.#plan;
    const isUpdate = this.#isUpdate(ready);
    const operation = { context: this.#tx, collection, key: parseKey(key, collection) };
    const isFixed = (name: string): boolean =>
      isUpdate && (name === collection.primaryKey.name || this.#plan.match.some(({ field }) => field.name === name));
    const fixed = Object.entries(body).filter(([name]) => isFixed(name));
    const changes = Object.entries(body).filter(([name]) => !isFixed(name));
    try {
      const hooked = await applyBeforeHook(operation, isUpdate ? 'update' : 'create', Object.fromEntries(changes));
      return { ...ready, body: { ...hooked, ...Object.fromEntries(fixed) } };
    } catch (error) {
      if (!isRecordError(error)) throw error;
      return { row, refusal: toRefusal(error) };
    }
  }

  /** Whether a row changes a record. In a dry run, it may be of an earlier row: only its match fields are known. */
  #isUpdate({ key, matchKey }: ReadyRow): boolean {
    return key !== undefined || (matchKey !== null && this.#memory?.hasWritten(matchKey) === true);
  }

  /** Writes consecutive creates together. */
  async #writeResolved(resolved: readonly Resolution[]): Promise<void> {
    let creates: ReadyRow[] = [];
    for (const each of resolved) {
      if ('refusal' in each) {
        this.#refuse(each.row, each.refusal);
        continue;
      }
      const conflict = this.#memory?.findConflict(each.body, each.matchKey) ?? null;
      if (conflict) {
        this.#refuse(each.row, conflict);
        continue;
      }
      const isUpdate = this.#isUpdate(each);
      if (!isUpdate) creates.push(each);
      if (!isUpdate && !(this.#hasHooks && this.#plan.collection.system)) continue;
      await this.#create(creates);
      creates = [];
      if (isUpdate) await this.#update(each);
    }
    await this.#create(creates);
  }

  /** Creates records. If one of them is refused, the others are created without it. */
  async #create(rows: readonly ReadyRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.#writeUpdates();
    const bodies = rows.map(({ body }) => this.#memory?.toWritable(body) ?? body);
    const { collection } = this.#plan;
    try {
      await this.#attempt((tx) =>
        createRecords(tx, collection, createRequest, { body: bodies, rules: getRules(collection) }),
      );
    } catch (error) {
      if (!isRecordError(error)) throw error;
      const named = findRefusals(error);
      const refusals = named.size === 0 && rows.length > 1 ? await this.#findTaken(rows, error) : named;
      await this.#createOthers(rows, refusals, toRefusal(error));
      return;
    }
    this.#created += rows.length;
    this.#accept(rows);
  }

  async #createOthers(
    rows: readonly ReadyRow[],
    refusals: ReadonlyMap<number, RowRefusal>,
    refusal: RowRefusal,
  ): Promise<void> {
    const [first] = rows;
    if (refusals.size > 0) {
      for (const [index, each] of refusals) if (rows[index]) this.#refuse(rows[index].row, each);
      await this.#create(rows.filter((_, index) => !refusals.has(index)));
    } else if (rows.length === 1 && first) this.#refuse(first.row, refusal);
    else {
      if (rows.length >= yieldRows) await setImmediate();
      const half = Math.ceil(rows.length / 2);
      await this.#create(rows.slice(0, half));
      await this.#create(rows.slice(half));
    }
  }

  /**
   * The rows whose value of a unique field another record already has, if that was the error. Without this, each of
   * them would need several attempts: importing a file twice would take seconds. Unknown if rules of system collections
   * can change values.
   */
  async #findTaken(rows: readonly ReadyRow[], error: ApiError): Promise<ReadonlyMap<number, RowRefusal>> {
    const { collection } = this.#plan;
    const [name, ...others] = Object.keys(error.details ?? {});
    const field = name === undefined ? undefined : collection.byName.get(name);
    const isKnown = error.code === 'UNIQUE_CONFLICT' && others.length === 0 && !collection.system;
    if (!isKnown || !field?.definition.unique) return new Map();
    const unique = requireColumnField(field);
    const values = rows.map(({ body }) => body[unique.name] ?? null);
    const server = withServerGrant(this.#tx, { identity: 'unique values', rows: null, may: () => true });
    const search = { collection, fields: [unique], key: collection.primaryKey };
    const wanted = values.filter((each) => each !== null).map((each) => [each]);
    const taken = await findKeys(server, search, wanted);
    const refusal = toRefusal(error);
    return new Map(
      values.flatMap((each, index) =>
        each !== null && taken.has(toSearchKey([unique], [each])) ? [[index, refusal] as const] : [],
      ),
    );
  }

  async #update(ready: ReadyRow): Promise<void> {
    this.#updates.push(ready);
    // A write with hooks must not be repeated because of another row.
    if (this.#tx.hooks) await this.#writeUpdates();
  }

  /** Writes the collected updates, in their order. */
  async #writeUpdates(): Promise<void> {
    const rows = this.#updates;
    this.#updates = [];
    await this.#updateAll(rows);
  }

  /**
   * Updates records in one savepoint: one for each of them would take two more round trips. If one of them is refused, the others are
   * updated without it.
   */
  async #updateAll(rows: readonly ReadyRow[]): Promise<void> {
    if (rows.length === 0) return;
    const slices = new TimeSlices();
    let index = 0;
    try {
      await this.#attempt(async (tx) => {
        for (index = 0; index < rows.length; index += 1) {
          if (slices.isOver) await slices.next();
          await this.#updateRecord(tx, rows[index]!);
        }
      });
    } catch (error) {
      if (!isRecordError(error)) throw error;
      await this.#updateAll(rows.slice(0, index));
      this.#refuse(rows[index]!.row, toRefusal(error));
      await this.#updateAll(rows.slice(index + 1));
      return;
    }
    this.#updated += rows.length;
    this.#accept(rows);
  }

  async #updateRecord(tx: TransactionContext, { body, key }: ReadyRow): Promise<void> {
    // Without a key, the record was created by an earlier row of a dry run, and was rolled back.
    if (key === undefined) return;
    const { collection, match } = this.#plan;
    const matched = new Set(match.map(({ field }) => field.name));
    const changes = Object.fromEntries(Object.entries(body).filter(([name]) => !matched.has(name)));
    const request: RecordRequest = { ...updateRequest, filterByTk: key };
    const options = { body: this.#memory?.toWritable(changes) ?? changes, rules: getRules(collection) };
    await updateRecords(tx, collection, request, options);
  }

  /** Runs a write that leaves no changes if it fails. */
  async #attempt(write: (tx: TransactionContext) => Promise<unknown>): Promise<void> {
    const { snapshotVersion } = this.#tx;
    const { version } = snapshotVersion;
    const hooks = this.#plan.collection.system ? this.#tx.hooks : null; // see #applyHooks
    try {
      await withSavepoint(this.#tx.tx, (part) => write({ ...this.#tx, hooks, tx: part }));
    } catch (error) {
      snapshotVersion.version = version;
      throw error;
    }
  }

  #accept(rows: readonly ReadyRow[]): void {
    if (this.#memory) this.#accepted.push(...rows.map(({ body, matchKey }) => ({ body, matchKey })));
  }

  #refuse({ source }: ImportRow, refusal: RowRefusal): void {
    this.#refused.push(toRefusedRow(this.#plan, source, refusal));
  }
}

type FoundKeys = ReadonlyMap<string, readonly unknown[]>;
type FoundLookups = ReadonlyMap<ImportColumn, FoundKeys>;

function refuse(row: ImportRow, field: string | null, reason: string): RefusedImportRow {
  return { row, refusal: { field, reason } };
}
