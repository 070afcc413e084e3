/** The steps of a write, one function each. Their order is in {@link runWrite}. */
import { isoTime } from '../../base/clock.ts';
import { recordEvent } from '../../changes/record-event.ts';
import { bumpVersion } from '../../database/catalogue.ts';
import { bind, type Row, type Statement, type Transaction } from '../../database/database.ts';
import type { BindEnvironment, BindParts } from '../../database/sql.ts';
import { formatActor } from '../../identity/caller.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import type { Grant } from '../../query/grant.ts';
import { presentCondition } from '../../query/predicate.ts';
import { type Collection, listColumnFields } from '../../schema/registry.ts';
import { buildRequestEnvironment, recordNotFound } from '../read/read-records.ts';
import { recordRead } from '../read/record-run.ts';
import { getCachedPlan, getWriteSnapshot, type RecordContext } from '../record-context.ts';
import { compareKeys } from '../record-key.ts';
import type { AfterWrite, Body, PreparedBody, RecordRules } from '../record-rules.ts';
import type { WriteEvent, WriteVerb } from '../sent-write.ts';
import type { CheckedRecord } from './record-input.ts';
import {
  resultColumns as COLUMN,
  diagnosisColumns as DIAGNOSIS,
  type PlannedWrite,
  planDiagnosis,
  planKeys,
  planReach,
  planReadBack,
  planWriteNeed,
  type WritePlan,
} from './write-plan.ts';
import { writeWithEvent } from './write-with-event.ts';

/** The counters of an If-Match header, `any` for `*`, or null without one. A list without counters matches no record. */
export type IfMatch = readonly number[] | 'any' | null;

/** The counters of which a record must have one; null if its counter does not matter. */
export function requiredCounters(match: IfMatch): readonly number[] | null {
  return match === 'any' ? null : match;
}

/** One write: who writes what, under which grant and rules. */
export interface WriteOperation {
  readonly context: RecordContext;
  readonly collection: Collection;
  readonly request: RecordRequest;
  readonly grant: Grant;
  readonly rules: RecordRules | null;
  /** Canonical key of `filterByTk`, or a list of keys. Undefined: the filter of the request selects the records. */
  readonly key: unknown;
  readonly match: IfMatch;
}

/** A write whose transaction is open. */
export interface OpenWrite extends WriteOperation {
  readonly transaction: Transaction;
}

/** An open write with its values. */
export interface BoundWrite extends OpenWrite {
  /** The environment that the statements of the write are bound to. */
  readonly environment: BindEnvironment;
  /** How many records a cascade may reach in this transaction. */
  readonly maxCascade: number;
}

/** Whether a write names exactly one record by its key. */
export function isSingleKey(key: unknown): boolean {
  return key !== undefined && !Array.isArray(key);
}

/** How many records a write changes. `heavy`: so many that the transaction runs off the event loop. */
export type WriteSize = 'one' | 'several' | 'heavy';

/** Opens a transaction under the snapshot that the write was planned with; an open one is joined. */
export function writeInTransaction(
  { context, rules }: WriteOperation,
  work: (transaction: Transaction) => Promise<Row[]>,
  size: WriteSize,
): Promise<Row[]> {
  if (context.tx) return work(context.tx);
  const heavy = size === 'heavy';
  // The rules of a system collection may wait for something else than statements.
  const sharesCommit = size === 'one' && rules === null;
  return context.database.write(work, { heavy, sharesCommit, snapshot: getWriteSnapshot(context) });
}

/** The statement of a write that needs no other step than its event. */
export interface LoneStatement {
  readonly statement: Statement;
  /** Whether it also writes the event, and commits by itself. */
  readonly includesEvent: boolean;
  /** Whether the row that it returns must be checked. */
  readonly checksRow: boolean;
}

/** Null if the write needs other steps in its transaction. */
export function findLoneStatement(
  { context }: WriteOperation,
  { statement, readBack, checksRow, autocommit }: WritePlan,
): LoneStatement | null {
  if (autocommit && !context.sendWrite) return { statement: autocommit, includesEvent: true, checksRow };
  return readBack ? null : { statement, includesEvent: false, checksRow };
}

/** A write of one record that only consists of its statement and its event. */
export interface LoneWrite extends LoneStatement {
  readonly verb: WriteVerb;
  readonly event: WriteEvent;
}

/**
 * Runs a write that only consists of its statement and its event: in one statement, in a transaction of two, or in another thread.
 *
 * @param environment of the statement, with the event.
 * @returns the rows of the statement; none if it has reached no record.
 * @throws ApiError as {@link readBackRows}.
 */
export function commitAlone(
  { context, collection }: WriteOperation,
  { statement, includesEvent, checksRow, verb, event }: LoneWrite,
  environment: BindEnvironment,
): Promise<Row[]> {
  const { database, changes, clock, sendWrite } = context;
  const bound = bind(database.dialect, statement, environment);
  const { name: resource, table } = collection;
  if (sendWrite) {
    const stamps = statement.params.flatMap(({ isStamp }, index) => (isStamp ? [index] : []));
    return sendWrite({ resource, table, verb, statement: bound, stamps, event });
  }
  const snapshot = getWriteSnapshot(context);
  if (includesEvent)
    return database.writeOne(bound, [table], { snapshot }).then((rows) => {
      if (rows.length > 0) changes.advance();
      return rows;
    });
  const checkRow = checksRow ? (row: Row) => requirePassingRows([row], collection) : null;
  return writeWithEvent(
    { resource, table, verb, statement: bound, event },
    { database, changes, clock, snapshot, checkRow },
  );
}

/**
 * Reads the result columns that RETURNING cannot return.
 *
 * @throws ApiError `NO_PERMISSION` if the row filter of the grant does not match a record any more.
 */
export async function readBackRows(write: OpenWrite, plan: WritePlan, written: readonly Row[]): Promise<Row[]> {
  const rows = plan.readBack ? await readWrittenRows(write, plan.readBack, written) : [...written];
  requirePassingRows(rows, write.collection);
  return rows;
}

function requirePassingRows(rows: readonly Row[], { name }: Collection): void {
  if (rows.every((row) => row[COLUMN.passes])) return;
  throw new ApiError('NO_PERMISSION', `The new values would violate the role's row filter on ${name}.`);
}

/**
 * Runs what the rules of a collection do after records are written.
 *
 * @param preparedBodies one for each row.
 * @returns the rows as they are afterwards, and the fields that the rules have changed.
 */
export async function applyAfterWrite(
  write: OpenWrite,
  rows: Row[],
  preparedBodies: readonly (PreparedBody | null | undefined)[],
): Promise<{ readonly rows: Row[]; readonly changed: readonly string[] }> {
  if (!preparedBodies.some((each) => each?.afterWrite)) return { rows, changed: [] };
  const changed = new Set<string>();
  for (const [index, row] of rows.entries()) {
    const names = await preparedBodies[index]?.afterWrite?.(write.transaction, row[COLUMN.key]);
    for (const name of names ?? []) changed.add(name);
  }
  if (changed.size === 0) return { rows, changed: [] };
  const { context, collection, grant, request } = write;
  const planKey = `${collection.name}:readBack ${request.shape}`;
  const statement = getCachedPlan(context, grant, planKey, () => planReadBack(write));
  return { rows: await readWrittenRows(write, statement, rows), changed: [...changed] };
}

/** Written records as they are now, in the order of the rows. */
async function readWrittenRows(write: OpenWrite, readBack: Statement, written: readonly Row[]): Promise<Row[]> {
  if (written.length === 0) return [];
  const keys = resultKeys(written);
  const environment = buildWriteEnvironment(write, { key: keys });
  const found = await write.transaction.run(bind(write.context.database.dialect, readBack, environment));
  const byKey = new Map(found.map((row) => [row[COLUMN.key], row]));
  return keys.map((key) => requireWrittenRow(byKey.get(key), write.collection));
}

function requireWrittenRow(row: Row | undefined, { name }: Collection): Row {
  if (!row) throw new Error(`internal error: a record of ${name} is missing right after it was written`);
  return row;
}

/** The keys of a write's result. */
export function resultKeys(rows: readonly Row[]): unknown[] {
  return rows.map((row) => row[COLUMN.key]);
}

/**
 * Runs the guard of the collection's rules on the records that the write would reach.
 *
 * @param body of an update; null for a destroy.
 * @returns what the rules do after the records are written.
 */
export async function guardRules(
  write: BoundWrite,
  action: 'update' | 'destroy',
  body: Body | null,
): Promise<AfterWrite | null> {
  const { context, rules, transaction } = write;
  if (!rules?.guard) return null;
  const keys = await readReachedKeys(write);
  return (await rules.guard({ transaction, action, keys, body, context })) ?? null;
}

/** The keys of the records that the write would reach. */
export async function readReachedKeys(
  write: PlannedWrite & Pick<BoundWrite, 'transaction' | 'environment'>,
): Promise<unknown[]> {
  const statement = bind(write.context.database.dialect, planKeys(write), write.environment);
  return resultKeys(await write.transaction.run(statement));
}

/**
 * Checks a write of several records. By filter it reaches at most {@link limits.recordsByFilter} records. By keys it
 * reaches every one of them, or nothing is written.
 *
 * @throws ApiError `LIMIT_EXCEEDED`, or the error of {@link recordNotFound}.
 */
export async function checkReach(write: BoundWrite): Promise<void> {
  const { context, collection, request, grant, transaction, environment } = write;
  const { dialect } = context.database;
  const statement = bind(dialect, planReach(write, limits.maxExactCount), environment);
  const shape = context.shapes.open(planWriteNeed(write));
  const started = shape ? shape.begin() : -1;
  const rows = await transaction.run(statement);
  const reached = Number(rows[0]?.[0]);
  if (started >= 0) recordRead(shape, { statement, started, rows, returned: reached, hasMore: false });
  if (reached > limits.recordsByFilter) {
    const count = reached > limits.maxExactCount ? `more than ${limits.maxExactCount}` : reached;
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The filter matches ${count} records. One request writes at most ${limits.recordsByFilter}; narrow the filter.`,
    );
  }
  if (!Array.isArray(environment.key) || reached === environment.key.length) return;
  const existing = await transaction.run(bind(dialect, planDiagnosis(write), environment));
  const found = existing.filter((each) => each[DIAGNOSIS.isReached]).length;
  if (found < existing.length || existing.length < environment.key.length) throw recordNotFound(collection, grant);
  if (request.filter !== null || request.within !== null)
    throw new ApiError(
      'RECORD_UNKNOWN',
      'Not every record of "filterByTk" matches the filter or belongs to the relation.',
    );
}

/**
 * Explains why a write of one record reached none.
 *
 * @throws ApiError 404 or 403 for a record that does not exist or that the grant does not reach, `VERSION_STALE` if its
 *   counter does not match.
 */
export async function explainNoMatch(write: BoundWrite, reached: number): Promise<void> {
  const { context, collection, request, grant, transaction, environment } = write;
  if (reached > 0 || request.filterByTk === undefined) return;
  const [row] = await transaction.run(bind(context.database.dialect, planDiagnosis(write), environment));
  if (!row?.[DIAGNOSIS.isReached]) throw recordNotFound(collection, grant);
  const counters = requiredCounters(write.match);
  if (counters !== null && !counters.includes(Number(row[DIAGNOSIS.counter])))
    throw new ApiError(
      'VERSION_STALE',
      'The record has changed since it was read; read it again. Nothing was written.',
    );
  throw new ApiError('RECORD_UNKNOWN', 'The record does not match the filter.');
}

/** Written rows in the order in which the request names their keys, else in the order of the primary key. */
export function sortByKeyOrder(rows: readonly Row[], { key }: BindEnvironment): Row[] {
  if (!Array.isArray(key)) return [...rows].sort((one, other) => compareKeys(one[COLUMN.key], other[COLUMN.key]));
  const indexByKey = new Map(key.map((each, index) => [String(each), index]));
  const indexOf = (row: Row): number => indexByKey.get(String(row[COLUMN.key])) ?? -1;
  return [...rows].sort((one, other) => indexOf(one) - indexOf(other));
}

/**
 * Ends every write: appends its event, and increments the version of definitions and access if the rules require it.
 *
 * @param named fields that the client has named; the event lists those that are no secrets.
 */
export async function finishWrite(
  write: OpenWrite,
  verb: WriteVerb,
  rows: readonly Row[],
  named: readonly string[],
): Promise<void> {
  const { context, collection, rules, transaction } = write;
  const changed = withoutSecrets(named, collection);
  const keys = rows.map((row) => row[COLUMN.key]);
  const isAudited = collection.system && !rules?.isUnaudited;
  const { caller, requestId } = context;
  const events = recordEvent(collection.name, verb, keys, { changed, caller, requestId, isAudited });
  await context.changes.append(transaction, events, isoTime(context.clock.now()));
  if (!rules?.changesAccess) return;
  const version = await bumpVersion(transaction);
  // Later operations in the same transaction continue from the new version.
  if (context.tx) context.snapshotVersion.version = version;
}

/** The event of a write, without its time. @param named fields that the client has named. */
export function buildWriteEvent({ context, collection }: WriteOperation, named: readonly string[]): WriteEvent {
  return {
    actor: formatActor(context.caller),
    requestId: context.requestId,
    changed: withoutSecrets(named, collection),
  };
}

/** The event of a write as its statement is bound to it. */
export function toEventValues({ context }: WriteOperation, event: WriteEvent): BindEnvironment['event'] {
  return { at: isoTime(context.clock.now()), ...event };
}

function withoutSecrets(names: readonly string[], { byName }: Collection): readonly string[] {
  return names.filter((name) => !byName.get(name)?.type.secret);
}

/** The environment that the statements of a write are bound to. */
export function buildWriteEnvironment(operation: WriteOperation, parts: BindParts): BindEnvironment {
  return buildRequestEnvironment(operation.context, operation.request, parts);
}

/**
 * Whether a write needs nothing before or after its statement and its event: no rules, hooks, history, open transaction, or entry in
 * the audit journal.
 */
export function isPlainWrite({ rules, collection, context }: WriteOperation): boolean {
  const isAudited = collection.system || context.caller.origin?.tool !== undefined;
  return !rules && !context.tx && !context.hooks && !collection.options.logging && !isAudited;
}

/** Whether a write of this record only needs its statement and its event: no key of its own, and no reference to be checked. */
export function isLoneWrite(operation: WriteOperation, record: CheckedRecord): boolean {
  const { collection, context } = operation;
  if (!isPlainWrite(operation) || record.named.includes(collection.primaryKey.name)) return false;
  return listColumnFields(collection).every((field) => {
    // The files of a record are attached in its transaction.
    if (field.type.name === 'file' && record.named.includes(field.name)) return record.values[field.name] === null;
    if (!field.references || !record.named.includes(field.name)) return true;
    const grant = context.findGrant(field.references.collection, 'get');
    const targetCollection = context.registry.get(field.references.collection);
    return grant !== null && grant.rows === null && presentCondition(targetCollection, 'without') === null;
  });
}
