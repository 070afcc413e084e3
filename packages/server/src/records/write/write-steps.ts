/** What every write goes through: its turn, the guards before it, and the look at what it did. */
import { isoTime } from '../../base/clock.ts';
import { bumpVersion } from '../../database/catalogue.ts';
import { bind, type Row, StaleVersion, type Statement, type Transaction } from '../../database/database.ts';
import type { BindEnvironment, BindParts } from '../../database/sql.ts';
import { formatActor } from '../../identity/caller.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import type { Grant } from '../../query/grant.ts';
import { presentCondition } from '../../query/predicate.ts';
import { type Collection, listColumnFields } from '../../schema/registry.ts';
import { buildRequestEnvironment, recordNotFound } from '../read/read-records.ts';
import { getWriteSnapshot, type RecordContext, toPlanContext } from '../record-context.ts';
import { compareKeys } from '../record-key.ts';
import type { AfterWrite, Body, RecordRules } from '../record-rules.ts';
import type { CheckedRecord } from './record-input.ts';
import { resultColumns as COLUMN, planDiagnosis, planKeys, planReach, type WritePlan } from './write-plan.ts';

/** The counters of an If-Match header, `any` for `*`, or null without one. A list without counters matches no record. */
export type IfMatch = readonly number[] | 'any' | null;

/** The counters of which a record must have one; null where its counter does not matter. */
export function requiredCounters(match: IfMatch): readonly number[] | null {
  return match === 'any' ? null : match;
}

/** One write on its way: who writes what, under which grant and rules. */
export interface WriteOperation {
  readonly context: RecordContext;
  readonly collection: Collection;
  readonly request: RecordRequest;
  readonly grant: Grant;
  readonly rules: RecordRules | null;
}

/** A transaction that begins under the snapshot it was planned for. @param heavy many rows: runs off the event loop. */
export function writeInTransaction(
  { context }: WriteOperation,
  work: (transaction: Transaction) => Promise<Row[]>,
  heavy = false,
): Promise<Row[]> {
  if (context.tx) return work(context.tx);
  return context.database.write(work, { heavy, snapshot: getWriteSnapshot(context) });
}

/**
 * One statement that commits by itself: nothing has to be looked at between write and commit.
 *
 * @param mayMiss that it reached nothing is no proof of a stale version: the caller then writes in a transaction, which finds out.
 */
export async function autocommit(
  operation: WriteOperation,
  statement: Statement,
  environment: BindEnvironment,
  mayMiss = false,
): Promise<Row[]> {
  const { database } = operation.context;
  const bound = bind(database.dialect, statement, environment);
  const rows = await database.writeOne(bound, [operation.collection.table], {
    snapshot: getWriteSnapshot(operation.context),
  });
  if (rows.length === 0 && !mayMiss) throw new StaleVersion();
  operation.context.changes.advance();
  return rows;
}

/** Reads back what RETURNING cannot say, and refuses rows that no longer pass the row filter. */
export async function readBackRows(
  operation: WriteOperation,
  plan: WritePlan,
  written: readonly Row[],
  transaction: Transaction,
): Promise<Row[]> {
  let rows = [...written];
  if (plan.readBack && written.length > 0) {
    const keys = written.map((row) => row[COLUMN.key]);
    const found = await transaction.run(
      bind(operation.context.database.dialect, plan.readBack, buildWriteEnvironment(operation, { key: keys })),
    );
    const byKey = new Map(found.map((row) => [row[COLUMN.key], row]));
    rows = keys.map((key) => byKey.get(key)!);
  }
  if (rows.some((row) => !row[COLUMN.passes])) {
    throw new ApiError(
      'NO_PERMISSION',
      `The role's row filter on ${operation.collection.name} does not admit the record as it would be.`,
    );
  }
  return rows;
}

export async function guardRules(
  operation: WriteOperation,
  transaction: Transaction,
  action: 'update' | 'destroy',
  environment: BindEnvironment,
  body: Body | null,
): Promise<AfterWrite | null> {
  const { context, collection, rules } = operation;
  if (!rules?.guard) return null;
  const statement = planKeys(operation.request, collection, operation.grant, toPlanContext(context));
  const rows = await transaction.run(bind(context.database.dialect, statement, environment));
  const keys = rows.map((row) => row[0]);
  return (await rules.guard(transaction, action, keys, body, context)) ?? null;
}

/** By filter: not more than the cap. By keys: all of them exist and may be reached, or nothing happens. */
export async function checkReach(
  operation: WriteOperation,
  transaction: Transaction,
  environment: BindEnvironment,
): Promise<void> {
  const { context, collection, request, grant } = operation;
  const { dialect } = context.database;
  const plan = planReach(request, collection, grant, limits.maxExactCount, toPlanContext(context));
  const [row] = await transaction.run(bind(dialect, plan, environment));
  const reached = Number(row![0]);
  if (reached > limits.recordsByFilter) {
    const count = reached > limits.maxExactCount ? `more than ${limits.maxExactCount}` : reached;
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The filter matches ${count} records, of which one request writes at most ${limits.recordsByFilter}; narrow it.`,
    );
  }
  if (!Array.isArray(environment.key) || reached === environment.key.length) return;
  const existing = await transaction.run(
    bind(dialect, planDiagnosis(request, collection, grant, toPlanContext(context)), environment),
  );
  const found = existing.filter((each) => each[2]).length;
  if (found < existing.length || existing.length < environment.key.length) throw recordNotFound(collection, grant);
  if (request.filter !== null || request.within !== null)
    throw new ApiError(
      'RECORD_UNKNOWN',
      'Not every record of filterByTk matches the filter or belongs to the relation.',
    );
}

/** Why a write of one record reached none: it is filtered away, changed meanwhile, or not there. */
export async function explainNoMatch(
  operation: WriteOperation,
  transaction: Transaction,
  environment: BindEnvironment,
  reached: number,
  counters: readonly number[] | null,
): Promise<void> {
  const { context, collection, request, grant } = operation;
  if (reached > 0 || request.filterByTk === undefined) return;
  const { dialect } = context.database;
  const [row] = await transaction.run(
    bind(dialect, planDiagnosis(request, collection, grant, toPlanContext(context)), environment),
  );
  if (!row?.[2]) throw recordNotFound(collection, grant);
  if (counters !== null && !counters.includes(Number(row[1]))) {
    throw new ApiError(
      'VERSION_STALE',
      'The record has changed since it was read; read it again. Nothing was written.',
    );
  }
  throw new ApiError('RECORD_UNKNOWN', 'The record does not match the filter.');
}

/** Written rows in the order in which their keys were named, else in that of the primary key. */
export function sortByKeyOrder(rows: readonly Row[], { key }: BindEnvironment): Row[] {
  if (!Array.isArray(key)) return [...rows].sort((one, other) => compareKeys(one[COLUMN.key], other[COLUMN.key]));
  const indexByKey = new Map(key.map((each, index) => [String(each), index]));
  return [...rows].sort(
    (one, other) => indexByKey.get(String(one[COLUMN.key]))! - indexByKey.get(String(other[COLUMN.key]))!,
  );
}

/** What ends every write: its events, and the version where access changed. */
export async function finishWrite(
  operation: WriteOperation,
  transaction: Transaction,
  verb: string,
  rows: readonly Row[],
  named: readonly string[],
): Promise<void> {
  const { context, collection, rules } = operation;
  const changed = named.filter((name) => !collection.byName.get(name)?.type.secret);
  const events = {
    name: `${collection.name}.${verb}`,
    resource: collection.name,
    keys: rows.map((row) => String(row[COLUMN.key])),
    actor: formatActor(context.caller),
    requestId: context.requestId,
    changed,
    by: collection.system && !rules?.isUnaudited ? context.caller : null,
  };
  await context.changes.append(transaction, events, isoTime(context.clock.now()));
  if (!rules?.changesAccess) return;
  const version = await bumpVersion(transaction);
  // What follows in the same transaction finds the version that it has moved to.
  if (context.tx) context.snapshotVersion.version = version;
}

export function buildWriteEvent({ context }: WriteOperation, changed: readonly string[]): BindEnvironment['event'] {
  return {
    at: isoTime(context.clock.now()),
    actor: formatActor(context.caller),
    requestId: context.requestId,
    changed,
  };
}

export function buildWriteEnvironment(operation: WriteOperation, parts: BindParts): BindEnvironment {
  return buildRequestEnvironment(operation.context, operation.request, parts);
}

/** Whether a write needs no look at other rows: no rules, no restricted reference, no key of its own. */
export function canAutocommit({ rules, collection, context }: WriteOperation, record: CheckedRecord): boolean {
  if (
    rules ||
    context.tx ||
    context.hooks ||
    collection.options.logging ||
    record.named.includes(collection.primaryKey.name)
  )
    return false;
  return listColumnFields(collection).every((field) => {
    if (!field.references || !record.named.includes(field.name)) return true;
    const grant = context.findGrant(field.references.collection, 'get');
    const targetCollection = context.registry.get(field.references.collection);
    return grant !== null && grant.rows === null && presentCondition(targetCollection, 'without') === null;
  });
}
