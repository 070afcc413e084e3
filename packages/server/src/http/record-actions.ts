import { isSearchable, parseMailListRequest } from '../mail/search/mail-list-request.ts';
import {
  isReadAction,
  isRecordAction,
  listRequiredGrants,
  type ReadAction,
  type WriteAction,
} from '../protocol/actions.ts';
import { ApiError } from '../protocol/api-error.ts';
import { normaliseQuery } from '../protocol/query-request.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { permissionDenied } from '../query/read-access.ts';
import { queryRecords } from '../records/read/query-records.ts';
import { readHistory } from '../records/read/read-history.ts';
import { getRecord, listRecords, requireGrant } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { findOrCreate, findOrCreateLockKey } from '../records/relations/find-or-create.ts';
import { findNestedLocks } from '../records/relations/nested-locks.ts';
import { createWithNested, updateWithNested } from '../records/relations/nested-values.ts';
import { getRules } from '../records/system/system-rules.ts';
import { moveRecord } from '../records/write/move-record.ts';
import { revertRecord } from '../records/write/revert-record.ts';
import { hashBodySecrets } from '../records/write/secrets.ts';
import { destroyRecords, findWriteLocks, restoreRecords } from '../records/write/write-records.ts';
import type { Collection } from '../schema/registry.ts';
import { mediaTypeUnsupported } from './error-reply.ts';
import { parseIfMatch, refuseIfMatch } from './if-match.ts';
import { importRecords, previewImport } from './import-actions.ts';
import { isDryRun } from './known-parameters.ts';
import { performWrite } from './perform-write.ts';
import { insertRecordForm, receiveRecordForm } from './record-uploads.ts';
import { type ActionResult, getRecordContext, hasTextParameters, type RequestContext } from './request-context.ts';
import { unknownRoute } from './route.ts';
import { streamList } from './streamed-list.ts';
import { withWholeList } from './whole-lists.ts';

/** Runs a record action of a collection. */
export function runRecordAction(request: RequestContext): Promise<ActionResult> {
  const { action } = request.route;
  if (!isRecordAction(action)) throw unknownRoute();
  const context = getRecordContext(request);
  const grants = listRequiredGrants(action);
  const collection = requireVisibleCollection(context, request.route.resource, grants[0]!);
  for (const needed of grants) requireGrant(context, collection, needed); // before parsing parameters: 401 and 403 have priority over 400
  return isReadAction(action)
    ? runRead(action, request, context, collection)
    : write(action, request, context, collection);
}

/**
 * Finds a collection. A role without any permission on the name gets the same reply whether or not the collection exists.
 *
 * @param action the first permission that is needed.
 */
export function requireVisibleCollection(context: RecordContext, name: string, action: string): Collection {
  const collection = context.registry.find(name);
  if (collection) return collection;
  const canSeeNames =
    context.caller.role === 'admin' ||
    context.access.roles.get(context.caller.role)?.permissions.some((row) => row.resource === '*');
  if (!canSeeNames) throw permissionDenied(name.slice(0, 60), action);
  throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
}

/** Runs a read. The permissions have been checked. */
export async function runRead(
  action: ReadAction,
  request: RequestContext,
  context: RecordContext,
  collection: Collection,
): Promise<ActionResult> {
  if (action === 'query')
    return { data: await queryRecords(context, collection, normaliseQuery(request.parameters())), counter: 0 };
  if (action === 'export') return (await import('./record-export.ts')).exportRecords(request, context, collection);
  if (action === 'history') return { ...(await readHistory(context, collection, request.parameters())), counter: 0 };
  const isFullTextSearch = action === 'list' && isSearchable(collection.name);
  const recordRequest = isFullTextSearch
    ? parseMailListRequest(collection.name, request.parameters(), hasTextParameters(request), context)
    : request.recordRequest();
  if (action === 'get') {
    const { data, counter } = await getRecord(context, collection, recordRequest);
    return { data, counter };
  }
  if (!recordRequest.paginate) return streamList(request, collection, recordRequest);
  const { data, meta } = await listRecords(context, collection, withWholeList(collection.name, recordRequest));
  return { data, meta, counter: 0 };
}

/** The writes that support If-Match. */
const conditionalWrites: ReadonlySet<WriteAction> = new Set<WriteAction>(['update', 'destroy', 'restore', 'revert']);

async function write(
  action: WriteAction,
  request: RequestContext,
  context: RecordContext,
  collection: Collection,
): Promise<ActionResult> {
  if (!conditionalWrites.has(action)) refuseIfMatch(request);
  if (action === 'import') return importRecords(request, context, collection);
  if (action === 'importPreview') return previewImport(request, context, collection);
  if (action === 'storeExport') return (await import('./store-export.ts')).storeExport(request, context, collection);
  if (action === 'move') return move(request, context, collection);
  if (action === 'revert') return revert(request, context, collection);
  const recordRequest = request.recordRequest();
  if (request.upload) return writeForm(action, request, context, { collection, recordRequest });
  const hashing = hashBodySecrets(context, collection, request.body);
  const ready = hashing instanceof Promise ? await hashing : hashing;
  const isFindOrCreate = action === 'firstOrCreate' || action === 'updateOrCreate';
  const options = {
    dryRun: recordRequest.dryRun,
    heavy: isFindOrCreate || recordRequest.filter !== null || Array.isArray(recordRequest.filterByTk),
    lockKey: [
      ...(isFindOrCreate ? [findOrCreateLockKey(collection, recordRequest, request.body)] : []),
      // Without an Idempotency-Key, the operation itself begins the transaction.
      ...(request.idempotencyKey ? await findAllLocks(ready, { collection, recordRequest }, request.body) : []),
    ],
  };
  return await performWrite(request, ready, options, (tx) =>
    runWrite(action, request, tx, { collection, recordRequest }),
  );
}

/** The locks of the rules of all records that a write may change. */
async function findAllLocks(
  context: RecordContext,
  { collection, recordRequest }: WriteTarget,
  body: unknown,
): Promise<readonly string[]> {
  return [
    ...(await findWriteLocks(context, getRules(collection), recordRequest)),
    ...(await findNestedLocks(context, collection, recordRequest, body)),
  ];
}

/** A create or update with files. */
async function writeForm(
  action: WriteAction,
  request: RequestContext,
  context: RecordContext,
  target: WriteTarget,
): Promise<ActionResult> {
  const { upload } = request;
  if (!upload || (action !== 'create' && action !== 'update')) throw mediaTypeUnsupported();
  const { collection, recordRequest } = target;
  const form = await receiveRecordForm(request, upload, context, collection);
  const ready = await hashBodySecrets(form.context, collection, form.values);
  const lockKey = await findAllLocks(ready, target, form.values);
  const options = { dryRun: recordRequest.dryRun, joined: true, lockKey };
  return performWrite(request, ready, options, async (tx) =>
    runWrite(action, { ...request, body: await insertRecordForm(tx, form) }, tx, target),
  );
}

async function move(request: RequestContext, context: RecordContext, collection: Collection): Promise<ActionResult> {
  const { dryRun, ...parameters } = request.parameters();
  return performWrite(request, context, { dryRun: isDryRun({ dryRun }) }, async (tx) =>
    toActionResult(await moveRecord(tx, collection, parameters)),
  );
}

async function revert(request: RequestContext, context: RecordContext, collection: Collection): Promise<ActionResult> {
  const { dryRun, ...parameters } = request.parameters();
  const match = parseIfMatch(request.ifMatch);
  return performWrite(request, context, { dryRun: isDryRun({ dryRun }), heavy: true }, async (tx) =>
    toActionResult(await revertRecord(tx, collection, parameters, match)),
  );
}

interface WriteTarget {
  readonly collection: Collection;
  readonly recordRequest: RecordRequest;
}

async function runWrite(
  action: Exclude<WriteAction, 'move' | 'revert' | 'import' | 'importPreview' | 'storeExport'>,
  request: RequestContext,
  context: RecordContext,
  { collection, recordRequest }: WriteTarget,
): Promise<ActionResult> {
  const rules = getRules(collection);
  const match = parseIfMatch(request.ifMatch);
  if (action === 'create')
    return toActionResult(await createWithNested(context, collection, recordRequest, request.body));
  if (action === 'update')
    return toActionResult(await updateWithNested(context, collection, recordRequest, { body: request.body, match }));
  if (action === 'firstOrCreate' || action === 'updateOrCreate')
    return toActionResult(
      await findOrCreate(context, collection, recordRequest, {
        body: request.body,
        updates: action === 'updateOrCreate',
      }),
    );
  if (action === 'restore') return toActionResult(await restoreRecords(context, collection, recordRequest, match));
  return toActionResult(await destroyRecords(context, collection, recordRequest, { match, rules }));
}

function toActionResult({ data, counter }: { data: string; counter: number | null }): ActionResult {
  return counter === null ? { data } : { data, counter };
}
