/**
 * Writes: checked bodies become one transaction that carries its own events; the reply leaves when it is durable.
 * Refused means unchanged: whatever is refused inside the transaction takes all of it back.
 */
import { bind, bindFixed, DatabaseFault, type Row } from '../../database/database.ts';
import type { HookedAction } from '../../extensions/extension.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { toExactValue } from '../../schema/field-type.ts';
import type { Collection } from '../../schema/registry.ts';
import { requireGrant } from '../read/read-records.ts';
import { getCachedPlan, inTransaction, type RecordContext, readStamp, toPlanContext } from '../record-context.ts';
import { parseKey } from '../record-key.ts';
import type { Body, PreparedBody, RecordRules } from '../record-rules.ts';
import { hasCascades, inBoundedTransaction, prepareCascade } from './cascade.ts';
import { deferDeleteAll } from './deferred-delete.ts';
import { readStatesBefore, resultKeys, writeHistory } from './history.ts';
import { insertAll } from './insert-records.ts';
import { type CheckedRecord, checkCreate, checkEach, checkUpdate } from './record-input.ts';
import { checkReferences, explainReferenceFault } from './reference-check.ts';
import { explainRestrictFault } from './restrict-fault.ts';
import { applyHashedSecrets } from './secrets.ts';
import { requireTrash, restoreAll, softDeleteAll } from './trash.ts';
import { keysExhausted, toWriteError } from './write-fault.ts';
import { resultColumns as COLUMN, planDestroy, planUpdate } from './write-plan.ts';
import {
  autocommit,
  buildWriteEnvironment,
  buildWriteEvent,
  canAutocommit,
  checkReach,
  explainNoMatch,
  finishWrite,
  guardRules,
  type IfMatch,
  readBackRows,
  requiredCounters,
  sortByKeyOrder,
  type WriteOperation,
  writeInTransaction,
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
  request: RecordRequest,
  body: unknown,
  rules: RecordRules | null,
): Promise<WriteResult> {
  if (hasBeforeHooks(context, collection))
    return inTransaction(context, (tx) => createRecords(tx, collection, request, body, rules));
  const operation: WriteOperation = {
    context,
    collection,
    request,
    rules,
    grant: requireGrant(context, collection, 'create'),
  };
  const bodies = Array.isArray(body) ? body : [body];
  if (bodies.length > limits.bulkRecords) {
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `One create takes at most ${limits.bulkRecords} records, not ${bodies.length}.`,
    );
  }
  const preparedBodies = await Promise.all(bodies.map((each) => prepareBody(operation, 'create', each, null)));
  const stamp = readStamp(context);
  const check = (input: unknown): CheckedRecord => checkCreate(input, collection, operation.grant, stamp);
  const checked = Array.isArray(body)
    ? checkEach(
        preparedBodies.map((each) => each.body),
        check,
      )
    : [check(preparedBodies[0]!.body)];
  const hashed = await applyHashedSecrets(checked, collection, context);
  const records = rules ? hashed.map((each, index) => withServerValues(each, preparedBodies[index]!)) : hashed;
  const rows = await translateFaults(operation, records, () => insertAll(operation, records, preparedBodies));
  if (rules?.changesAccess) await context.refresh();
  const texts = rows.map((row) => presentRow(row, collection));
  return Array.isArray(body)
    ? { data: `[${texts.join(',')}]`, counter: null, keys: resultKeys(rows) }
    : { data: texts[0]!, counter: Number(rows[0]![COLUMN.counter]), keys: resultKeys(rows) };
}

export async function updateRecords(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  body: unknown,
  match: IfMatch,
  rules: RecordRules | null,
): Promise<WriteResult> {
  if (hasBeforeHooks(context, collection))
    return inTransaction(context, (tx) => updateRecords(tx, collection, request, body, match, rules));
  const operation: WriteOperation = {
    context,
    collection,
    request,
    rules,
    grant: requireGrant(context, collection, 'update'),
  };
  const key = requireWriteKey(operation, 'update', match);
  const preparedBody = await prepareBody(operation, 'update', withoutKey(body, key, collection), key);
  const checked = checkUpdate(preparedBody.body, collection, operation.grant, readStamp(context));
  const records = await applyHashedSecrets([checked], collection, context);
  const rows = await translateFaults(operation, records, () =>
    updateAll(operation, key, records[0]!, preparedBody, match),
  );
  if (rules?.changesAccess) await context.refresh();
  return buildWriteResult(rows, key, collection);
}

/** One key: its record. Several, or a filter: the records, or beyond what a reply holds their number. */
function buildWriteResult(rows: readonly Row[], key: unknown, collection: Collection): WriteResult {
  if (key !== undefined && !Array.isArray(key))
    return {
      data: presentRow(rows[0]!, collection),
      counter: Number(rows[0]![COLUMN.counter]),
      keys: resultKeys(rows),
    };
  if (rows.length > limits.recordsInReply) return { data: String(rows.length), counter: null, keys: resultKeys(rows) };
  return {
    data: `[${rows.map((row) => presentRow(row, collection)).join(',')}]`,
    counter: null,
    keys: resultKeys(rows),
  };
}

export async function destroyRecords(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  match: IfMatch,
  rules: RecordRules | null,
): Promise<WriteResult> {
  if (hasBeforeHooks(context, collection))
    return inTransaction(context, (tx) => destroyRecords(tx, collection, request, match, rules));
  // Force reaches what is in the trash; where none is kept it reaches nothing more.
  const effectiveRequest = collection.trash ? request : { ...request, trash: 'without' as const };
  const grant = requireGrant(context, collection, 'destroy');
  const operation: WriteOperation = { context, collection, request: effectiveRequest, rules, grant };
  const key = requireWriteKey(operation, 'destroy', match);
  await applyBeforeHook(operation, 'destroy', key, {});
  const softDelete = collection.trash && !request.force ? softDeleteAll : null;
  const destroy = softDelete ?? (rules?.deferredDelete ? deferDeleteAll : destroyAll);
  const rows = await translateFaults(
    operation,
    [],
    () => destroy(operation, key, match),
    (fault) => explainRestrictFault(operation, key, fault),
  );
  if (rules?.changesAccess) await context.refresh();
  return { data: String(rows.length), counter: null, keys: resultKeys(rows) };
}

/** Takes records out of the trash, with what went there along with them. */
export async function restoreRecords(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  match: IfMatch,
): Promise<WriteResult> {
  if (hasBeforeHooks(context, collection))
    return inTransaction(context, (tx) => restoreRecords(tx, collection, request, match));
  const operation: WriteOperation = {
    context,
    collection,
    request,
    rules: null,
    grant: requireGrant(context, collection, 'destroy'),
  };
  requireTrash(collection);
  const key = requireWriteKey(operation, 'restore', match);
  await applyBeforeHook(operation, 'restore', key, {});
  const rows = await translateFaults(operation, [], () => restoreAll(operation, key, match));
  return buildWriteResult(rows, key, collection);
}

/** A body as extensions would have it, then as the rules of its collection do. */
async function prepareBody(
  operation: WriteOperation,
  action: 'create' | 'update',
  body: unknown,
  key: unknown,
): Promise<PreparedBody> {
  const hookedBody = isObject(body) ? await applyBeforeHook(operation, action, key, body) : body;
  return operation.rules?.prepare?.(hookedBody, key, operation.context) ?? { body: hookedBody as Body };
}

/** A record with the values that its rules give it. */
function withServerValues(record: CheckedRecord, { serverValues }: PreparedBody): CheckedRecord {
  return serverValues ? { ...record, values: { ...record.values, ...serverValues } } : record;
}

/** Whether extensions are asked before the change: then all of it is one transaction, and this its beginning. */
function hasBeforeHooks({ hooks, tx }: RecordContext, { name, system }: Collection): boolean {
  return hooks !== null && tx === null && hooks.hasBeforeHook(name, system);
}

async function applyBeforeHook(
  { context, collection }: WriteOperation,
  action: HookedAction,
  key: unknown,
  values: Body,
): Promise<Body> {
  const { hooks, caller, requestId } = context;
  if (!hooks?.hasBeforeHook(collection.name, collection.system)) return values;
  const one = Array.isArray(key) ? null : (key ?? null);
  const change = { collection: collection.name, action, key: one, values, caller, requestId };
  return hooks.before(change, collection.system);
}

/** The key that update may carry in its body is passed over when it is the record's own. */
function withoutKey(body: unknown, key: unknown, collection: Collection): unknown {
  const { name } = collection.primaryKey;
  if (!isObject(body) || !(name in body)) return body;
  const { [name]: given, ...rest } = body;
  if (toExactValue(collection.primaryKey.type, given) === key) return rest;
  throw new ApiError('BODY_INVALID', `"${name}" is the key of the record and cannot be changed.`);
}

/** @throws ApiError `TARGET_MISSING` with neither a key nor a condition: `{}` never means everything. */
function requireWriteKey({ collection, request }: WriteOperation, action: string, match: IfMatch): unknown {
  const key = parseKey(request.filterByTk, collection);
  if (key === undefined && request.filter === null)
    throw new ApiError('TARGET_MISSING', `${action} needs filterByTk or a filter with a condition.`);
  if (match !== null && (key === undefined || Array.isArray(key)))
    throw new ApiError('HEADER_INVALID', 'If-Match goes with one filterByTk.');
  return key;
}

/** Tells what the database refused in terms of the request. @param explainRestrict names what a destroy was refused for. */
async function translateFaults(
  operation: WriteOperation,
  records: readonly CheckedRecord[],
  work: () => Promise<Row[]>,
  explainRestrict?: (fault: DatabaseFault) => Promise<void>,
): Promise<Row[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DatabaseFault && error.kind === 'foreignKey') {
      if (records.length > 0) await explainReferenceFault(operation.context, operation.collection, records, error);
      else await explainRestrict?.(error);
    }
    if (await isOutOfKeys(operation, records, error)) throw keysExhausted(operation.collection);
    // A shared transaction runs again as a whole: its collision is told to whoever began it.
    if (operation.context.tx && error instanceof DatabaseFault && error.kind === 'collision') throw error;
    throw toWriteError(error, operation.collection, records.length > 0);
  }
}

/** Whether what looks like a full disk is a table without a key left. */
async function isOutOfKeys(
  { context, collection }: WriteOperation,
  records: readonly CheckedRecord[],
  error: unknown,
): Promise<boolean> {
  const { database } = context;
  const { primaryKey, table } = collection;
  const isDisk = error instanceof DatabaseFault && error.kind === 'disk';
  if (!isDisk || records.length === 0 || !primaryKey.autoIncrement) return false;
  const statement = database.dialect.keysExhausted(table, primaryKey.column!);
  const [rows] = statement === null ? [] : await database.read([bindFixed(database.dialect, statement)]);
  return Boolean(rows?.[0]?.[0]);
}

async function updateAll(
  operation: WriteOperation,
  key: unknown,
  record: CheckedRecord,
  preparedBody: PreparedBody,
  match: IfMatch,
): Promise<Row[]> {
  const { context, collection } = operation;
  const counters = requiredCounters(match);
  const names = Object.keys(record.values);
  const plan = getCachedPlan(
    context,
    operation.grant,
    `${collection.name}:update ${operation.request.shape} ${counters !== null} ${names.join()}`,
    () => planUpdate(operation.request, collection, operation.grant, names, counters !== null, toPlanContext(context)),
  );
  const environment = buildWriteEnvironment(operation, {
    key,
    record: record.values,
    counters: counters ?? [],
    event: buildWriteEvent(operation, record.named),
  });
  const isSingle = key !== undefined && !Array.isArray(key);
  if (plan.autocommit && isSingle && canAutocommit(operation, record)) {
    const rows = await autocommit(operation, plan.autocommit, environment, true);
    if (rows.length > 0) return rows;
    // Nothing was reached: the careful way says why.
  }
  return writeInTransaction(
    operation,
    async (transaction) => {
      transaction.touch(collection.table);
      const afterWrite = await guardRules(operation, transaction, 'update', environment, preparedBody.body);
      if (!isSingle) await checkReach(operation, transaction, environment);
      await checkReferences(context, collection, [record], (statement) => transaction.run(statement));
      const before = await readStatesBefore(operation, transaction, environment);
      const written = await transaction.run(bind(context.database.dialect, plan.statement, environment));
      await explainNoMatch(operation, transaction, environment, written.length, counters);
      const rows = sortByKeyOrder(await readBackRows(operation, plan, written, transaction), environment);
      for (const row of rows) await preparedBody.afterWrite?.(transaction, row[COLUMN.key]);
      await finishWrite(operation, transaction, 'updated', rows, record.named);
      await writeHistory(operation, transaction, 'updated', resultKeys(rows), before);
      await afterWrite?.();
      return rows;
    },
    !isSingle || operation.rules?.heavy === true,
  );
}

async function destroyAll(operation: WriteOperation, key: unknown, match: IfMatch): Promise<Row[]> {
  const { context, collection, request, grant } = operation;
  const counters = requiredCounters(match);
  const plan = getCachedPlan(context, grant, `${collection.name}:destroy ${request.shape} ${counters !== null}`, () =>
    planDestroy(request, collection, grant, counters !== null, toPlanContext(context)),
  );
  const environment = buildWriteEnvironment(operation, {
    key,
    counters: counters ?? [],
    event: buildWriteEvent(operation, []),
  });
  const isSingle = key !== undefined && !Array.isArray(key);
  const isAutocommit = !operation.rules && !context.tx && !context.hooks && !collection.options.logging;
  if (plan.autocommit && isSingle && isAutocommit && !hasCascades(collection, context.registry)) {
    const rows = await autocommit(operation, plan.autocommit, environment, true);
    if (rows.length > 0) return rows;
  }
  return inBoundedTransaction(operation, !isSingle || operation.rules?.heavy === true, async (transaction, max) => {
    transaction.touch('*'); // records of other tables may fall or lose their link with it
    const afterWrite = await guardRules(operation, transaction, 'destroy', environment, null);
    if (!isSingle) await checkReach(operation, transaction, environment);
    const before = await readStatesBefore(operation, transaction, environment);
    const emitCascade = await prepareCascade(operation, transaction, environment, max);
    const rows = sortByKeyOrder(
      await transaction.run(bind(context.database.dialect, plan.statement, environment)),
      environment,
    );
    await explainNoMatch(operation, transaction, environment, rows.length, counters);
    await finishWrite(operation, transaction, 'destroyed', rows, []);
    await writeHistory(operation, transaction, 'destroyed', resultKeys(rows), before);
    await emitCascade();
    await afterWrite?.();
    return rows;
  });
}

function presentRow(row: Row, collection: Collection): string {
  return row[COLUMN.visible]
    ? (row[COLUMN.object] as string)
    : JSON.stringify({ [collection.primaryKey.name]: row[COLUMN.key] });
}
