/**
 * Writes: checked bodies become one transaction that carries its own events; the reply leaves when it is durable.
 * Refused means unchanged: whatever is refused inside the transaction takes all of it back.
 */
import { bind, DatabaseFault, fixed, type Row } from '../database/database.ts';
import type { HookedAction } from '../extensions/extension.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { exactValue } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';
import { hasDependants, takeDependants, transactBounded } from './dependants.ts';
import { keysOf, statesBefore, writeHistory } from './history.ts';
import { insertAll } from './insert-records.ts';
import { putAwayAll } from './put-away.ts';
import { requireGrant } from './read-records.ts';
import { keptPlan, planContext, type RecordContext, stampOf, together } from './record-context.ts';
import { type CheckedRecord, checkChange, checkEach, checkNew } from './record-input.ts';
import { keyOf } from './record-key.ts';
import type { Body, RecordRules, RuledBody } from './record-rules.ts';
import { checkReferences, tellReference } from './reference-check.ts';
import { tellRestricting } from './restricting.ts';
import { withHashedSecrets } from './secrets.ts';
import { requireTrash, restoreAll, trashAll } from './trash.ts';
import { keysExhausted, writeFault } from './write-fault.ts';
import { resultColumns as at, planDestroy, planUpdate } from './write-plan.ts';
import {
  alone,
  checkReach,
  countersIn,
  environmentOf,
  eventOf,
  explainNothing,
  finish,
  guardRules,
  inOrder,
  isPlain,
  lookedAt,
  type Match,
  type Target,
  transact,
} from './write-steps.ts';

/** What a write answers: JSON text of `data`, and the counter where one record was written. */
export interface WriteResult {
  readonly data: string;
  readonly counter: number | null;
  /** Keys of the records written, in the order of the reply; those destroyed are gone. */
  readonly keys: readonly unknown[];
}

export async function createRecords(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  body: unknown,
  rules: RecordRules | null,
): Promise<WriteResult> {
  if (isAsked(context, collection))
    return together(context, (inside) => createRecords(inside, collection, request, body, rules));
  const target: Target = { context, collection, request, rules, grant: requireGrant(context, collection, 'create') };
  const bodies = Array.isArray(body) ? body : [body];
  if (bodies.length > limits.bulkRecords) {
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `One create takes at most ${limits.bulkRecords} records, not ${bodies.length}.`,
    );
  }
  const ruled = await Promise.all(bodies.map((each) => prepared(target, 'create', each, null)));
  const stamp = stampOf(context);
  const check = (input: unknown): CheckedRecord => checkNew(input, collection, target.grant, stamp);
  const checked = Array.isArray(body)
    ? checkEach(
        ruled.map((each) => each.body),
        check,
      )
    : [check(ruled[0]!.body)];
  const hashed = await withHashedSecrets(checked, collection, context);
  const records = rules ? hashed.map((each, index) => withOwn(each, ruled[index]!)) : hashed;
  const rows = await writing(target, records, () => insertAll(target, records, ruled));
  if (rules?.access) await context.refresh();
  const texts = rows.map((row) => shown(row, collection));
  return Array.isArray(body)
    ? { data: `[${texts.join(',')}]`, counter: null, keys: keysOf(rows) }
    : { data: texts[0]!, counter: Number(rows[0]![at.counter]), keys: keysOf(rows) };
}

export async function updateRecords(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  body: unknown,
  match: Match,
  rules: RecordRules | null,
): Promise<WriteResult> {
  if (isAsked(context, collection))
    return together(context, (inside) => updateRecords(inside, collection, request, body, match, rules));
  const target: Target = { context, collection, request, rules, grant: requireGrant(context, collection, 'update') };
  const key = requireTarget(target, 'update', match);
  const ruled = await prepared(target, 'update', withoutKey(body, key, collection), key);
  const checked = checkChange(ruled.body, collection, target.grant, stampOf(context));
  const records = await withHashedSecrets([checked], collection, context);
  const rows = await writing(target, records, () => updateAll(target, key, records[0]!, ruled, match));
  if (rules?.access) await context.refresh();
  return changedRecords(rows, key, collection);
}

/** One key: its record. Several, or a filter: the records, or beyond what a reply holds their number. */
function changedRecords(rows: readonly Row[], key: unknown, collection: Collection): WriteResult {
  if (key !== undefined && !Array.isArray(key))
    return { data: shown(rows[0]!, collection), counter: Number(rows[0]![at.counter]), keys: keysOf(rows) };
  if (rows.length > limits.recordsInReply) return { data: String(rows.length), counter: null, keys: keysOf(rows) };
  return { data: `[${rows.map((row) => shown(row, collection)).join(',')}]`, counter: null, keys: keysOf(rows) };
}

export async function destroyRecords(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  match: Match,
  rules: RecordRules | null,
): Promise<WriteResult> {
  if (isAsked(context, collection))
    return together(context, (inside) => destroyRecords(inside, collection, request, match, rules));
  // Force reaches what is in the trash; where none is kept it reaches nothing more.
  const asked = collection.trash ? request : { ...request, trash: 'without' as const };
  const grant = requireGrant(context, collection, 'destroy');
  const target: Target = { context, collection, request: asked, rules, grant };
  const key = requireTarget(target, 'destroy', match);
  await hooked(target, 'destroy', key, {});
  const kept = collection.trash && !request.force ? trashAll : null;
  const destroy = kept ?? (rules?.putAway ? putAwayAll : destroyAll);
  const rows = await writing(
    target,
    [],
    () => destroy(target, key, match),
    (fault) => tellRestricting(target, key, fault),
  );
  if (rules?.access) await context.refresh();
  return { data: String(rows.length), counter: null, keys: keysOf(rows) };
}

/** Takes records out of the trash, with what went there along with them. */
export async function restoreRecords(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  match: Match,
): Promise<WriteResult> {
  if (isAsked(context, collection))
    return together(context, (inside) => restoreRecords(inside, collection, request, match));
  const target: Target = {
    context,
    collection,
    request,
    rules: null,
    grant: requireGrant(context, collection, 'destroy'),
  };
  requireTrash(collection);
  const key = requireTarget(target, 'restore', match);
  await hooked(target, 'restore', key, {});
  const rows = await writing(target, [], () => restoreAll(target, key, match));
  return changedRecords(rows, key, collection);
}

/** A body as extensions would have it, then as the rules of its collection do. */
async function prepared(target: Target, action: 'create' | 'update', body: unknown, key: unknown): Promise<RuledBody> {
  const asked = isObject(body) ? await hooked(target, action, key, body) : body;
  return target.rules?.prepare?.(asked, key, target.context) ?? { body: asked as Body };
}

/** A record with the values that its rules give it. */
function withOwn(record: CheckedRecord, { own }: RuledBody): CheckedRecord {
  return own ? { ...record, values: { ...record.values, ...own } } : record;
}

/** Whether extensions are asked before the change: then all of it is one transaction, and this its beginning. */
function isAsked({ hooks, inside }: RecordContext, { name, system }: Collection): boolean {
  return hooks !== null && inside === null && hooks.asks(name, system);
}

async function hooked(
  { context, collection }: Target,
  action: HookedAction,
  key: unknown,
  values: Body,
): Promise<Body> {
  const { hooks, caller, requestId } = context;
  if (!hooks?.asks(collection.name, collection.system)) return values;
  const one = Array.isArray(key) ? null : (key ?? null);
  const asked = { collection: collection.name, action, key: one, values, caller, requestId };
  return hooks.before(asked, collection.system);
}

/** The key that update may carry in its body is passed over when it is the record's own. */
function withoutKey(body: unknown, key: unknown, collection: Collection): unknown {
  const { name } = collection.primaryKey;
  if (!isObject(body) || !(name in body)) return body;
  const { [name]: given, ...rest } = body;
  if (exactValue(collection.primaryKey.type, given) === key) return rest;
  throw new ApiError('BODY_INVALID', `"${name}" is the key of the record and cannot be changed.`);
}

/** @throws ApiError `TARGET_MISSING` with neither a key nor a condition: `{}` never means everything. */
function requireTarget({ collection, request }: Target, action: string, match: Match): unknown {
  const key = keyOf(request.filterByTk, collection);
  if (key === undefined && request.filter === null)
    throw new ApiError('TARGET_MISSING', `${action} needs filterByTk or a filter with a condition.`);
  if (match !== null && (key === undefined || Array.isArray(key)))
    throw new ApiError('HEADER_INVALID', 'If-Match goes with one filterByTk.');
  return key;
}

/** Tells what the database refused in terms of the request. @param tellDependants names what a destroy was refused for. */
async function writing(
  target: Target,
  records: readonly CheckedRecord[],
  work: () => Promise<Row[]>,
  tellDependants?: (fault: DatabaseFault) => Promise<void>,
): Promise<Row[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DatabaseFault && error.kind === 'foreignKey') {
      if (records.length > 0) await tellReference(target.context, target.collection, records, error);
      else await tellDependants?.(error);
    }
    if (await isOutOfKeys(target, records, error)) throw keysExhausted(target.collection);
    // A shared transaction runs again as a whole: its collision is told to whoever began it.
    if (target.context.inside && error instanceof DatabaseFault && error.kind === 'collision') throw error;
    throw writeFault(error, target.collection, records.length > 0);
  }
}

/** Whether what looks like a full disk is a table without a key left. */
async function isOutOfKeys(
  { context, collection }: Target,
  records: readonly CheckedRecord[],
  error: unknown,
): Promise<boolean> {
  const { database } = context;
  const { primaryKey, table } = collection;
  const isDisk = error instanceof DatabaseFault && error.kind === 'disk';
  if (!isDisk || records.length === 0 || !primaryKey.autoIncrement) return false;
  const look = database.dialect.keysExhausted(table, primaryKey.column!);
  const [rows] = look === null ? [] : await database.read([fixed(database.dialect, look)]);
  return Boolean(rows?.[0]?.[0]);
}

async function updateAll(
  target: Target,
  key: unknown,
  record: CheckedRecord,
  ruled: RuledBody,
  match: Match,
): Promise<Row[]> {
  const { context, collection } = target;
  const counters = countersIn(match);
  const names = Object.keys(record.values);
  const plan = keptPlan(
    context,
    target.grant,
    `${collection.name}:update ${target.request.shape} ${counters !== null} ${names.join()}`,
    () => planUpdate(target.request, collection, target.grant, names, counters !== null, planContext(context)),
  );
  const environment = environmentOf(target, {
    key,
    record: record.values,
    counters: counters ?? [],
    event: eventOf(target, record.named),
  });
  const single = key !== undefined && !Array.isArray(key);
  if (plan.alone && single && isPlain(target, record)) {
    const rows = await alone(target, plan.alone, environment, true);
    if (rows.length > 0) return rows;
    // Nothing was reached: the careful way says why.
  }
  return transact(
    target,
    async (transaction) => {
      transaction.touch(collection.table);
      const afterwards = await guardRules(target, transaction, 'update', environment, ruled.body);
      if (!single) await checkReach(target, transaction, environment);
      await checkReferences(context, collection, [record], (statement) => transaction.run(statement));
      const before = await statesBefore(target, transaction, environment);
      const written = await transaction.run(bind(context.database.dialect, plan.statement, environment));
      await explainNothing(target, transaction, environment, written.length, counters);
      const rows = inOrder(await lookedAt(target, plan, written, transaction), environment);
      for (const row of rows) await ruled.beside?.(transaction, row[at.key]);
      await finish(target, transaction, 'updated', rows, record.named);
      await writeHistory(target, transaction, 'updated', keysOf(rows), before);
      await afterwards?.();
      return rows;
    },
    !single || target.rules?.heavy === true,
  );
}

async function destroyAll(target: Target, key: unknown, match: Match): Promise<Row[]> {
  const { context, collection, request, grant } = target;
  const counters = countersIn(match);
  const plan = keptPlan(context, grant, `${collection.name}:destroy ${request.shape} ${counters !== null}`, () =>
    planDestroy(request, collection, grant, counters !== null, planContext(context)),
  );
  const environment = environmentOf(target, { key, counters: counters ?? [], event: eventOf(target, []) });
  const single = key !== undefined && !Array.isArray(key);
  const plain = !target.rules && !context.inside && !context.hooks && !collection.options.logging;
  if (plan.alone && single && plain && !hasDependants(collection, context.registry)) {
    const rows = await alone(target, plan.alone, environment, true);
    if (rows.length > 0) return rows;
  }
  return transactBounded(target, !single || target.rules?.heavy === true, async (transaction, most) => {
    transaction.touch('*'); // records of other tables may fall or lose their link with it
    const afterwards = await guardRules(target, transaction, 'destroy', environment, null);
    if (!single) await checkReach(target, transaction, environment);
    const before = await statesBefore(target, transaction, environment);
    const tellOfOthers = await takeDependants(target, transaction, environment, most);
    const rows = inOrder(
      await transaction.run(bind(context.database.dialect, plan.statement, environment)),
      environment,
    );
    await explainNothing(target, transaction, environment, rows.length, counters);
    await finish(target, transaction, 'destroyed', rows, []);
    await writeHistory(target, transaction, 'destroyed', keysOf(rows), before);
    await tellOfOthers();
    await afterwards?.();
    return rows;
  });
}

function shown(row: Row, collection: Collection): string {
  return row[at.seen] ? (row[at.object] as string) : JSON.stringify({ [collection.primaryKey.name]: row[at.key] });
}
