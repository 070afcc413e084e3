/** What every write goes through: its turn, the guards before it, and the look at what it did. */
import { isoTime } from '../base/clock.ts';
import { bumpVersion } from '../database/catalogue.ts';
import { bind, type Row, StaleVersion, type Statement, type Transaction } from '../database/database.ts';
import type { BindEnvironment, BindParts } from '../database/sql.ts';
import { actorOf } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import type { Grant } from '../query/grant.ts';
import { isThere } from '../query/predicate.ts';
import { type Collection, columnsOf } from '../schema/registry.ts';
import { environmentFor, missing } from './read-records.ts';
import { planContext, type RecordContext, snapshotOf } from './record-context.ts';
import type { CheckedRecord } from './record-input.ts';
import { compareKeys } from './record-key.ts';
import type { Afterwards, Body, RecordRules } from './record-rules.ts';
import { resultColumns as at, planDiagnosis, planKeys, planReach, type WritePlan } from './write-plan.ts';

/** The counters of an If-Match header, `any` for `*`, or null without one. A list without counters matches no record. */
export type Match = readonly number[] | 'any' | null;

/** The counters of which a record must have one; null where its counter does not matter. */
export function countersIn(match: Match): readonly number[] | null {
  return match === 'any' ? null : match;
}

/** One write on its way: who writes what, under which grant and rules. */
export interface Target {
  readonly context: RecordContext;
  readonly collection: Collection;
  readonly request: AskedRecordRequest;
  readonly grant: Grant;
  readonly rules: RecordRules | null;
}

/** A transaction that begins under the snapshot it was planned for. @param heavy many rows: runs off the event loop. */
export function transact(
  { context }: Target,
  work: (transaction: Transaction) => Promise<Row[]>,
  heavy = false,
): Promise<Row[]> {
  if (context.inside) return work(context.inside);
  return context.database.write(work, { heavy, snapshot: snapshotOf(context) });
}

/**
 * One statement that commits by itself: nothing has to be looked at between write and commit.
 *
 * @param mayMiss that it reached nothing is no proof of a stale version: the caller then writes in a transaction, which finds out.
 */
export async function alone(
  target: Target,
  statement: Statement,
  environment: BindEnvironment,
  mayMiss = false,
): Promise<Row[]> {
  const { database } = target.context;
  const bound = bind(database.dialect, statement, environment);
  const rows = await database.writeOne(bound, [target.collection.table], {
    snapshot: snapshotOf(target.context),
  });
  if (rows.length === 0 && !mayMiss) throw new StaleVersion();
  target.context.changes.advance();
  return rows;
}

/** Reads back what RETURNING cannot say, and refuses rows that no longer pass the row filter. */
export async function lookedAt(
  target: Target,
  plan: WritePlan,
  written: readonly Row[],
  transaction: Transaction,
): Promise<Row[]> {
  let rows = [...written];
  if (plan.look && written.length > 0) {
    const keys = written.map((row) => row[at.key]);
    const found = await transaction.run(
      bind(target.context.database.dialect, plan.look, environmentOf(target, { key: keys })),
    );
    const byKey = new Map(found.map((row) => [row[at.key], row]));
    rows = keys.map((key) => byKey.get(key)!);
  }
  if (rows.some((row) => !row[at.passes])) {
    throw new ApiError(
      'NO_PERMISSION',
      `The role's row filter on ${target.collection.name} does not admit the record as it would be.`,
    );
  }
  return rows;
}

export async function guardRules(
  target: Target,
  transaction: Transaction,
  action: 'update' | 'destroy',
  environment: BindEnvironment,
  body: Body | null,
): Promise<Afterwards | null> {
  const { context, collection, rules } = target;
  if (!rules?.guard) return null;
  const statement = planKeys(target.request, collection, target.grant, planContext(context));
  const rows = await transaction.run(bind(context.database.dialect, statement, environment));
  const keys = rows.map((row) => row[0]);
  return (await rules.guard(transaction, action, keys, body, context)) ?? null;
}

/** By filter: not more than the cap. By keys: all of them exist and may be reached, or nothing happens. */
export async function checkReach(
  target: Target,
  transaction: Transaction,
  environment: BindEnvironment,
): Promise<void> {
  const { context, collection, request, grant } = target;
  const { dialect } = context.database;
  const plan = planReach(request, collection, grant, limits.exactCountMaximum, planContext(context));
  const [row] = await transaction.run(bind(dialect, plan, environment));
  const reached = Number(row![0]);
  if (reached > limits.recordsByFilter) {
    const count = reached > limits.exactCountMaximum ? `more than ${limits.exactCountMaximum}` : reached;
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The filter matches ${count} records, of which one request writes at most ${limits.recordsByFilter}; narrow it.`,
    );
  }
  if (!Array.isArray(environment.key) || reached === environment.key.length) return;
  const there = await transaction.run(
    bind(dialect, planDiagnosis(request, collection, grant, planContext(context)), environment),
  );
  const found = there.filter((each) => each[2]).length;
  if (found < there.length || there.length < environment.key.length) throw missing(collection, grant);
  if (request.filter !== null || request.within !== null)
    throw new ApiError(
      'RECORD_UNKNOWN',
      'Not every record of filterByTk matches the filter or belongs to the relation.',
    );
}

/** Why a write of one record reached none: it is filtered away, changed meanwhile, or not there. */
export async function explainNothing(
  target: Target,
  transaction: Transaction,
  environment: BindEnvironment,
  reached: number,
  counters: readonly number[] | null,
): Promise<void> {
  const { context, collection, request, grant } = target;
  if (reached > 0 || request.filterByTk === undefined) return;
  const { dialect } = context.database;
  const [row] = await transaction.run(
    bind(dialect, planDiagnosis(request, collection, grant, planContext(context)), environment),
  );
  if (!row?.[2]) throw missing(collection, grant);
  if (counters !== null && !counters.includes(Number(row[1]))) {
    throw new ApiError(
      'VERSION_STALE',
      'The record has changed since it was read; read it again. Nothing was written.',
    );
  }
  throw new ApiError('RECORD_UNKNOWN', 'The record does not match the filter.');
}

/** Written rows in the order in which their keys were named, else in that of the primary key. */
export function inOrder(rows: readonly Row[], { key }: BindEnvironment): Row[] {
  if (!Array.isArray(key)) return [...rows].sort((one, other) => compareKeys(one[at.key], other[at.key]));
  const place = new Map(key.map((each, index) => [String(each), index]));
  return [...rows].sort((one, other) => place.get(String(one[at.key]))! - place.get(String(other[at.key]))!);
}

/** What ends every write: its events, and the version where access changed. */
export async function finish(
  target: Target,
  transaction: Transaction,
  verb: string,
  rows: readonly Row[],
  named: readonly string[],
): Promise<void> {
  const { context, collection, rules } = target;
  const changed = named.filter((name) => !collection.byName.get(name)?.type.secret);
  const events = {
    name: `${collection.name}.${verb}`,
    resource: collection.name,
    tks: rows.map((row) => String(row[at.key])),
    actor: actorOf(context.caller),
    requestId: context.requestId,
    changed,
    by: collection.system && !rules?.everyday ? context.caller : null,
  };
  await context.changes.append(transaction, events, isoTime(context.clock.now()));
  if (!rules?.access) return;
  const version = await bumpVersion(transaction);
  // What follows in the same transaction finds the version that it has moved to.
  if (context.inside) context.at.version = version;
}

export function eventOf({ context }: Target, changed: readonly string[]): BindEnvironment['event'] {
  return { at: isoTime(context.clock.now()), actor: actorOf(context.caller), requestId: context.requestId, changed };
}

export function environmentOf(target: Target, parts: BindParts): BindEnvironment {
  return environmentFor(target.context, target.request, parts);
}

/** Whether a write needs no look at other rows: no rules, no restricted reference, no key of its own. */
export function isPlain({ rules, collection, context }: Target, record: CheckedRecord): boolean {
  if (
    rules ||
    context.inside ||
    context.hooks ||
    collection.options.logging ||
    record.named.includes(collection.primaryKey.name)
  )
    return false;
  return columnsOf(collection).every((field) => {
    if (!field.references || !record.named.includes(field.name)) return true;
    const grant = context.grantOf(field.references.collection, 'get');
    const target = context.registry.get(field.references.collection);
    return grant !== null && grant.rows === null && isThere(target, 'without') === null;
  });
}
