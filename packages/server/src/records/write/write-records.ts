/**
 * The write operations on records: create, update, destroy and restore. Each is one transaction that contains its own
 * events. It returns when the transaction is durable. If anything in it is refused, nothing is changed.
 */
import { type Row, StaleVersion } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { toExactValue } from '../../schema/field-type.ts';
import type { Collection } from '../../schema/registry.ts';
import { requireGrant } from '../read/read-records.ts';
import { inTransaction, isInTransaction, type RecordContext, readStamp } from '../record-context.ts';
import { parseKey } from '../record-key.ts';
import type { PreparedBody, RecordRules } from '../record-rules.ts';
import { needsHookTransaction, prepareBody } from './before-hooks.ts';
import { completeRecords } from './complete-records.ts';
import { insertAll } from './insert-records.ts';
import { type CheckedRecord, checkCreate, checkEach } from './record-input.ts';
import { runWrite, type WriteDescription } from './run-write.ts';
import { requireTrash } from './soft-delete.ts';
import {
  describeDeferredDelete,
  describeDestroy,
  describeRestore,
  describeSoftDelete,
  describeUpdate,
} from './write-descriptions.ts';
import { translateFaults } from './write-fault.ts';
import { resultColumns as COLUMN } from './write-plan.ts';
import { type IfMatch, isSingleKey, resultKeys, type WriteOperation } from './write-steps.ts';

/** The result of a write. */
export interface WriteResult {
  /** JSON text of the reply's `data`. */
  readonly data: string;
  /** The write counter of the record, if the request names one record. */
  readonly counter: number | null;
  /** Keys of the records written, in the order of the reply. */
  readonly keys: readonly unknown[];
}

/** How a write runs. */
export interface WriteOptions {
  /** The rules of a system collection, see {@link RecordRules}; null: none. */
  readonly rules: RecordRules | null;
  /** The If-Match header; it needs a request with one key. Default: null. */
  readonly match?: IfMatch;
}

/** A write with a body. */
export interface BodyWriteOptions extends WriteOptions {
  /** As the client sent it: nothing of it is checked yet. */
  readonly body: unknown;
}

/** At most this many records are written on the event loop, which takes some milliseconds. */
const maxKeysOnEventLoop = 20;

const mayBeMany = (keys: unknown): boolean =>
  keys === null || keys === undefined || (Array.isArray(keys) && keys.length > maxKeysOnEventLoop);

/** One write operation on the records of a collection, under the caller's grants. */
export type WriteRecords<Options> = (
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  options: Options,
) => Promise<WriteResult>;

/**
 * The operation in a transaction that also contains the work of the extensions' hooks, if there are any, and that takes the locks of the
 * rules.
 */
function inHookTransaction<Options>(write: WriteRecords<Options>, takesLocks = false): WriteRecords<Options> {
  const writeInTransaction: WriteRecords<Options> = async (context, collection, request, options) => {
    const lockKey = takesLocks ? await findWriteLocks(context, (options as WriteOptions).rules, request) : [];
    return lockKey.length > 0 || needsHookTransaction(context, collection)
      ? inTransaction(context, (tx) => writeInTransaction(tx, collection, request, options), {
          lockKey,
          heavy: lockKey.length > 0 && mayBeMany(request.filterByTk),
        })
      : write(context, collection, request, options);
  };
  // Most writes have neither rules nor hooks, so there is nothing to wait for.
  return (context, collection, request, options) => {
    const mayLock = takesLocks && (options as WriteOptions).rules !== null;
    return mayLock || context.hooks
      ? writeInTransaction(context, collection, request, options)
      : write(context, collection, request, options);
  };
}

/**
 * The locks that a write of existing records needs before its transaction begins. A transaction of several operations must
 * begin with the locks of all of them.
 *
 * @param request what the write reaches: keys, or any records.
 */
export async function findWriteLocks(
  context: RecordContext,
  rules: RecordRules | null,
  { filterByTk }: Partial<Pick<RecordRequest, 'filterByTk'>>,
): Promise<readonly string[]> {
  if (!rules?.findLockKeys || isInTransaction(context)) return [];
  return rules.findLockKeys(context, filterByTk === null || filterByTk === undefined ? null : [filterByTk].flat());
}

/**
 * Creates one record, or a list of them.
 *
 *     await createRecords(context, posts, request, { body: { title: 'Hello' }, rules: null });
 *     // { data: '{"id":1,"title":"Hello"}', counter: 1, keys: [1] }
 *     // INSERT INTO "t_posts" ("title","createdAt") VALUES (?,?) RETURNING "id",_v,…,json_object('id',…,'title',…)
 *
 * Records that name the same fields share a statement. A list of bodies has a list as its reply.
 *
 * @throws ApiError 403 without a create grant; 400, 403 or 422 for a body that the fields or the grant refuse; 409 for
 *   values that are taken; `LIMIT_EXCEEDED` past {@link limits.bulkRecords} records.
 */
export const createRecords = inHookTransaction<BodyWriteOptions>(async (context, collection, request, options) => {
  const { body, rules } = options;
  const grant = requireGrant(context, collection, 'create');
  const operation: WriteOperation = { context, collection, request, rules, grant, key: undefined, match: null };
  const isList = Array.isArray(body);
  const bodies: readonly unknown[] = isList ? body : [body];
  requireBulkLimit(bodies);
  const preparing = bodies.map((each) => prepareBody(operation, 'create', each)); // hooks, prepare
  const preparedBodies = preparing.every(isPrepared) ? preparing : await Promise.all(preparing);
  const checking = checkBodies(operation, preparedBodies, isList); // check
  const records = checking instanceof Promise ? await checking : checking;
  const rows = await translateFaults(operation, records, () => insertAll(operation, { records, preparedBodies }));
  if (rows.length < records.length) throw new StaleVersion();
  if (rules?.changesAccess) await context.refresh();
  return isList ? buildListResult(rows, collection) : buildRecordResult(rows, collection);
});

/**
 * Updates the fields that the body names: of one record by its key, or of several by keys or filter.
 *
 *     await updateRecords(context, posts, requestByKeys('update', 1), { body: { title: 'Hello' }, rules: null });
 *     // { data: '{"id":1,"title":"Hello"}', counter: 2, keys: [1] }
 *     // UPDATE "t_posts" SET "title"=?,"updatedAt"=?,_v=_v+1 WHERE "id"=? AND <row filter> RETURNING "id",_v,…
 *
 * Several records have a list as their reply, or past {@link limits.recordsInReply} only their number.
 *
 * @throws ApiError 403 without an update grant; `TARGET_MISSING` without key and filter; 404, or 403 under a row filter,
 *   for a record that the grant does not reach; `VERSION_STALE` if `match` does not fit; and as {@link createRecords}.
 */
export const updateRecords = inHookTransaction<BodyWriteOptions>(async (context, collection, request, options) => {
  const operation = beginWrite(context, collection, { action: 'update', request }, options);
  const rows = await runWrite(operation, describeUpdate(operation, withoutKey(options.body, operation)));
  return buildWriteResult(rows, operation);
}, true);

/**
 * Destroys one record by its key, or several by keys or filter. In a collection with a trash they are soft-deleted unless
 * the request says `force`.
 *
 *     await destroyRecords(context, posts, requestByKeys('destroy', [1, 2]), { rules: null });
 *     // { data: '2', counter: null, keys: [1, 2] }
 *     // DELETE FROM "t_posts" WHERE "id" IN (<keys>) AND <row filter> RETURNING "id"
 *
 * @returns the number of records as `data`.
 * @throws ApiError 403 without a destroy grant; `DEPENDANTS_EXIST` if a foreign key by `restrict` refers to a record; and
 *   as {@link updateRecords}.
 */
export const destroyRecords = inHookTransaction<WriteOptions>(async (context, collection, request, options) => {
  // `force` also reaches records in the trash; without a trash there are none.
  const effectiveRequest = collection.trash ? request : { ...request, trash: 'without' as const };
  const operation = beginWrite(context, collection, { action: 'destroy', request: effectiveRequest }, options);
  const rows = await runWrite(operation, chooseDestroy(operation));
  return { data: String(rows.length), counter: null, keys: resultKeys(rows) };
}, true);

function chooseDestroy(operation: WriteOperation): WriteDescription {
  const { collection, request, rules } = operation;
  if (collection.trash && !request.force) return describeSoftDelete(operation);
  return rules?.deferredDelete ? describeDeferredDelete(rules.deferredDelete) : describeDestroy(operation);
}

/**
 * Takes records out of the trash, with the children that went there with them. It needs a destroy grant.
 *
 * @throws ApiError `ROUTE_UNKNOWN` for a collection without a trash; and as {@link updateRecords}.
 */
export const restoreRecords = inHookTransaction<IfMatch>(async (context, collection, request, match) => {
  requireGrant(context, collection, 'destroy');
  requireTrash(collection);
  const operation = beginWrite(context, collection, { action: 'restore', request }, { rules: null, match });
  const rows = await runWrite(operation, describeRestore());
  return buildWriteResult(rows, operation);
});

/** The request of a write to existing records. */
interface TargetedRequest {
  readonly action: 'update' | 'destroy' | 'restore';
  readonly request: RecordRequest;
}

/** @throws ApiError 403 without the grant, `TARGET_MISSING` without key and filter: `{}` never means all records. */
function beginWrite(
  context: RecordContext,
  collection: Collection,
  { action, request }: TargetedRequest,
  { rules, match = null }: WriteOptions,
): WriteOperation {
  const grant = requireGrant(context, collection, action === 'restore' ? 'destroy' : action);
  const key = parseKey(request.filterByTk, collection);
  if (key === undefined && request.filter === null)
    throw new ApiError('TARGET_MISSING', `${action} needs "filterByTk" or a filter with a condition.`);
  if (match !== null && !isSingleKey(key))
    throw new ApiError('HEADER_INVALID', 'The header "If-Match" needs a "filterByTk" with one key.');
  return { context, collection, request, rules, grant, key, match };
}

/** @throws ApiError `LIMIT_EXCEEDED` past {@link limits.bulkRecords} bodies. */
export function requireBulkLimit(bodies: readonly unknown[]): void {
  if (bodies.length <= limits.bulkRecords) return;
  throw new ApiError('LIMIT_EXCEEDED', `One create takes at most ${limits.bulkRecords} records, not ${bodies.length}.`);
}

/** Checks all bodies of a create, so that their problems are reported together, and hashes their passwords. */
function checkBodies(
  { context, collection, grant, rules }: WriteOperation,
  preparedBodies: readonly PreparedBody[],
  isList: boolean,
): readonly CheckedRecord[] | Promise<readonly CheckedRecord[]> {
  const stamp = readStamp(context);
  const check = (input: unknown): CheckedRecord => checkCreate(input, collection, grant, stamp);
  const bodies = preparedBodies.map((each) => each.body);
  if (!isList && !rules) return completeRecords(bodies.map(check), collection, context);
  const checkAll = async (): Promise<readonly CheckedRecord[]> => {
    const checked = isList ? await checkEach(bodies, check) : bodies.map(check);
    const completed = await completeRecords(checked, collection, context, isList);
    return rules ? completed.map((each, index) => withServerValues(each, preparedBodies[index])) : completed;
  };
  return checkAll();
}

function isPrepared(body: PreparedBody | Promise<PreparedBody>): body is PreparedBody {
  return !(body instanceof Promise);
}

/** A record with the values that its rules give it. */
function withServerValues(record: CheckedRecord, prepared: PreparedBody | undefined): CheckedRecord {
  return prepared?.serverValues ? { ...record, values: { ...record.values, ...prepared.serverValues } } : record;
}

/** An update may repeat the key of its record in the body; another key is refused. */
function withoutKey(body: unknown, { collection: { primaryKey }, key }: WriteOperation): unknown {
  const { name, type } = primaryKey;
  if (!isObject(body) || !(name in body)) return body;
  const { [name]: given, ...rest } = body;
  if (toExactValue(type, given) === key) return rest;
  throw new ApiError('BODY_INVALID', `"${name}" is the key of the record and cannot be changed.`);
}

/** By one key: its record. By several or a filter: the list, or past {@link limits.recordsInReply} only the number. */
function buildWriteResult(rows: readonly Row[], { collection, key }: WriteOperation): WriteResult {
  if (isSingleKey(key)) return buildRecordResult(rows, collection);
  if (rows.length > limits.recordsInReply) return { data: String(rows.length), counter: null, keys: resultKeys(rows) };
  return buildListResult(rows, collection);
}

function buildRecordResult(rows: readonly Row[], collection: Collection): WriteResult {
  const [row] = rows;
  if (!row) throw new Error(`internal error: a write of one record of ${collection.name} has returned none`);
  return { data: presentRow(row, collection), counter: Number(row[COLUMN.counter]), keys: resultKeys(rows) };
}

function buildListResult(rows: readonly Row[], collection: Collection): WriteResult {
  const texts = rows.map((row) => presentRow(row, collection));
  return { data: `[${texts.join(',')}]`, counter: null, keys: resultKeys(rows) };
}

/** The record as the caller's get grant shows it, else only its key. */
function presentRow(row: Row, collection: Collection): string {
  return row[COLUMN.visible]
    ? (row[COLUMN.object] as string)
    : JSON.stringify({ [collection.primaryKey.name]: row[COLUMN.key] });
}
