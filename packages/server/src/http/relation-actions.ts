import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { requireKnownNames } from '../protocol/known-names.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import { getRecord, listRecords, requireGrant } from '../records/read/read-records.ts';
import type { RecordContext, TransactionContext } from '../records/record-context.ts';
import { applyFieldLists } from '../records/relations/field-lists.ts';
import {
  createLinked,
  destroyLinked,
  requireVisibleParent,
  updateLinked,
} from '../records/relations/linked-records.ts';
import { changeLinks, type LinkAction, parseLinks, requireLinkRights } from '../records/relations/links.ts';
import { findLinkLocks, findNestedLocks } from '../records/relations/nested-locks.ts';
import { type RecordRelation, resolveRelation } from '../records/relations/related-parent.ts';
import { getRules } from '../records/system/system-rules.ts';
import { hashBodySecrets } from '../records/write/secrets.ts';
import { findWriteLocks, type WriteResult } from '../records/write/write-records.ts';
import type { Collection } from '../schema/registry.ts';
import { parseIfMatch, refuseIfMatch } from './if-match.ts';
import { isDryRun } from './known-parameters.ts';
import { performInTransaction } from './perform-write.ts';
import { requireVisibleCollection } from './record-actions.ts';
import { type ActionResult, getRecordContext, type RequestContext } from './request-context.ts';
import { unknownRoute } from './route.ts';
import { streamList } from './streamed-list.ts';

/** The actions of a relation, `/api/<collection>/<key>/<relation>:<action>`. */
export async function runRelationAction(request: RequestContext): Promise<ActionResult> {
  const { route } = request;
  const context = getRecordContext(request);
  const source = requireVisibleCollection(context, route.of!.collection, 'get');
  requireGrant(context, source, 'get');
  const related = resolveRelation(context, source, route.resource, route.of!.key);
  const action = Object.hasOwn(actions, route.action) ? actions[route.action] : undefined;
  if (!action) throw unknownRoute();
  return action(request, context, related);
}

export const relationReads: ReadonlySet<string> = new Set(['list', 'get']);
export const relationWrites: ReadonlySet<string> = new Set([
  'create',
  'update',
  'destroy',
  'set',
  'add',
  'remove',
  'toggle',
]);

type RelationAction = (
  request: RequestContext,
  context: RecordContext,
  related: RecordRelation,
) => Promise<ActionResult>;

const actions: Readonly<Record<string, RelationAction>> = {
  list,
  get,
  create,
  update,
  destroy,
  set: createLinkAction('set'),
  add: createLinkAction('add'),
  remove: createLinkAction('remove'),
  toggle: createLinkAction('toggle'),
};

/** The request with the record whose relation is requested. */
function toRelationRequest({ recordRequest }: RequestContext, { source, field, key }: RecordRelation): RecordRequest {
  const plain = recordRequest();
  const within = { collection: source.name, relation: field.name, key: key };
  return { ...plain, within, shape: `${plain.shape} ${source.name}.${field.name}` };
}

async function list(request: RequestContext, context: RecordContext, related: RecordRelation): Promise<ActionResult> {
  if (!related.relation.many)
    throw new ApiError(
      'ROUTE_UNKNOWN',
      `"${related.field.name}" is a to-one relation, which cannot be listed. Use get.`,
    );
  const recordRequest = toRelationRequest(request, related);
  if (!recordRequest.paginate) {
    await requireVisibleParent(context, related);
    return streamList(request, related.target, recordRequest);
  }
  const { data, meta } = await listRecords(context, related.target, recordRequest);
  if (data === '[]') await requireVisibleParent(context, related);
  return { data, meta, counter: 0 };
}

async function get(request: RequestContext, context: RecordContext, related: RecordRelation): Promise<ActionResult> {
  const recordRequest = toRelationRequest(request, related);
  const { relation, target } = related;
  if (relation.many && recordRequest.filterByTk === undefined && recordRequest.filter === null)
    throw new ApiError('TARGET_MISSING', 'get needs "filterByTk" or "filter".');
  try {
    return await getRecord(context, target, recordRequest);
  } catch (error) {
    if (!(error instanceof ApiError) || (error.code !== 'RECORD_UNKNOWN' && error.code !== 'NO_PERMISSION'))
      throw error;
    await requireVisibleParent(context, related);
    if (!relation.many && recordRequest.filterByTk === undefined && recordRequest.filter === null)
      return { data: 'null' };
    throw error;
  }
}

/** Creates records that the relation names. */
async function create(request: RequestContext, context: RecordContext, related: RecordRelation): Promise<ActionResult> {
  const recordRequest = request.recordRequest();
  const body = applyFieldLists({ context, collection: related.target, action: 'create' }, request.body, recordRequest);
  refuseIfMatch(request);
  // What the relation itself sets is never dropped.
  const unrestricted = { ...recordRequest, whitelist: null, blacklist: [] };
  const ready = await hashBodySecrets(context, related.target, body);
  const lockKey = await findNestedLocks(ready, related.target, recordRequest, body);
  return performRelationWrite(request, ready, { recordRequest, lockKey }, (tx) =>
    createLinked(tx, related, unrestricted, body),
  );
}

async function update(request: RequestContext, context: RecordContext, related: RecordRelation): Promise<ActionResult> {
  const recordRequest = toRelationRequest(request, related);
  const match = parseIfMatch(request.ifMatch);
  const ready = await hashBodySecrets(context, related.target, request.body);
  const lockKey = [
    ...(await findWriteLocks(ready, getRules(related.target), recordRequest)),
    ...(await findNestedLocks(ready, related.target, recordRequest, request.body)),
  ];
  return performRelationWrite(request, ready, { recordRequest, lockKey }, (tx) =>
    updateLinked(tx, related, recordRequest, { body: request.body, match }),
  );
}

async function destroy(
  request: RequestContext,
  context: RecordContext,
  related: RecordRelation,
): Promise<ActionResult> {
  const recordRequest = toRelationRequest(request, related);
  const match = parseIfMatch(request.ifMatch);
  const lockKey = await findWriteLocks(context, getRules(related.target), recordRequest);
  return performRelationWrite(request, context, { recordRequest, lockKey }, (tx) =>
    destroyLinked(tx, related, recordRequest, match),
  );
}

interface RelationWrite {
  readonly recordRequest: Pick<RecordRequest, 'dryRun' | 'filter'>;
  readonly lockKey: readonly string[];
}

/** Runs the write in one transaction, which a dry run rolls back. */
function performRelationWrite(
  request: RequestContext,
  context: RecordContext,
  { recordRequest: { dryRun, filter }, lockKey }: RelationWrite,
  work: (tx: TransactionContext) => Promise<WriteResult>,
): Promise<ActionResult> {
  const options = { dryRun, lockKey, heavy: filter !== null };
  return performInTransaction(request, context, options, async (tx) => toActionResult(await work(tx)));
}

/** `{values: […]}`, a bare list or key, or filterByTk. */
function createLinkAction(action: LinkAction): RelationAction {
  return async (request, context, related) => {
    requireLinkRights(context, related);
    refuseIfMatch(request);
    const links = parseLinks(readLinkTargets(request, action, related), related);
    const lockKey = [buildLinksLockKey(related.source, related.key), ...(await findLinkLocks(context, related))];
    const options = { dryRun: isDryRun(request.parameters()), lockKey, heavy: true };
    return performInTransaction(request, context, options, async (tx) => ({
      data: JSON.stringify(await changeLinks(tx, related, { action, links })),
    }));
  };
}

/** The lock that serialises changes to the links of one record. */
export function buildLinksLockKey(source: Collection, key: unknown): string {
  return `links ${source.id} ${String(key)}`;
}

const linkParameters = new Set(['filterByTk', 'values', 'dryRun']);

function readLinkTargets(request: RequestContext, action: LinkAction, { relation }: RecordRelation): unknown {
  const { body } = request;
  const parameters = request.parameters();
  requireKnownNames(action, parameters, linkParameters);
  const keyParameter = parameters['filterByTk'] ?? parameters['values'];
  if (
    keyParameter !== undefined &&
    body !== undefined &&
    body !== null &&
    !(isObject(body) && Object.keys(body).length === 0)
  )
    throw new ApiError('BODY_INVALID', 'Give the records in "filterByTk" or in the body, not in both.');
  const named =
    request.route.key ??
    (keyParameter === undefined ? readBodyTargets(body) : requestByKeys('destroy', keyParameter).filterByTk);
  // Without a target, `remove` on a to-one relation removes the present link.
  if (action === 'remove' && !relation.many && named === undefined) return null;
  if (named === undefined || (action !== 'set' && action !== 'remove' && named === null))
    throw new ApiError('TARGET_MISSING', `${action} needs records: {"values": [keys]}, a list of keys, or filterByTk.`);
  return named;
}

/** An object is `{values}`, `{filterByTk}` or one record by its key. */
function readBodyTargets(body: unknown): unknown {
  if (!isObject(body)) return body;
  for (const name of ['values', 'filterByTk']) if (name in body) return body[name];
  return Object.keys(body).length === 0 ? undefined : body;
}

function toActionResult({ data, counter }: WriteResult): ActionResult {
  return counter === null ? { data } : { data, counter };
}
