/** Records by way of a relation: `posts/1/comments:create` creates a comment and links it to post 1 in one transaction. */
import { ApiError } from '../../protocol/api-error.ts';
import { isSameKey } from '../../protocol/exact-json.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { requireGrant } from '../read/read-records.ts';
import type { RecordContext, TransactionContext } from '../record-context.ts';
import { getRules } from '../system/system-rules.ts';
import { destroyRecords, type WriteResult } from '../write/write-records.ts';
import type { IfMatch } from '../write/write-steps.ts';
import { changeLinks, type Link, readLinkedKeys } from './links.ts';
import { createWithNested, type NestedUpdate, updateWithNested } from './nested-values.ts';
import { type RecordRelation, readSourceValue, requireLinkable } from './related-parent.ts';

/** @throws ApiError 404 or 403 if the caller cannot get the record whose relation it is. */
export async function requireVisibleParent(context: RecordContext, related: RecordRelation): Promise<void> {
  await readSourceValue(context, related, requireGrant(context, related.source, 'get'));
}

/**
 * Creates records and links them. In hasMany and hasOne relations the new record names the parent; in all others the link
 * is written after the record.
 *
 * @param body one record, or a list of them.
 * @throws ApiError 400 for several records in a to-one relation, and for a foreign key that names another parent.
 */
export async function createLinked(
  tx: TransactionContext,
  related: RecordRelation,
  request: RecordRequest,
  body: unknown,
): Promise<WriteResult> {
  const { relation, target, source } = related;
  const isForeign = relation.kind === 'hasMany' || relation.kind === 'hasOne';
  const value = await readSourceValue(tx, related, requireGrant(tx, source, isForeign ? 'get' : 'update'));
  if (isForeign) {
    const ready = withForeignKey(body, relation.targetField, requireLinkable(value, related.field));
    return createWithNested(tx, target, request, ready);
  }
  const bodies = Array.isArray(body) ? body : [body];
  const created = await createWithNested(tx, target, request, bodies);
  const links = created.keys.map((key): Link => ({ key, join: null }));
  if (relation.kind === 'belongsTo' && links.length > 1)
    throw new ApiError('BODY_INVALID', `"${related.field.name}" can only refer to one record.`);
  await changeLinks(tx, related, { action: 'add', links });
  return Array.isArray(body) ? created : { ...created, data: created.data.slice(1, -1) };
}

/** Adds the foreign key that names the parent. A body that already names another parent is refused. */
function withForeignKey(body: unknown, name: string, value: unknown): unknown {
  if (Array.isArray(body)) return body.map((each) => withForeignKey(each, name, value));
  if (!isObject(body)) return body;
  if (body[name] !== undefined && !isSameKey(body[name], value))
    throw new ApiError('BODY_INVALID', `"${name}" refers to another record than the path.`);
  return { ...body, [name]: value };
}

/**
 * Updates records of a relation. A to-one relation needs no key; an empty hasOne gets a new record.
 *
 * @param request of the relation, see {@link RecordRequest.within}.
 */
export async function updateLinked(
  tx: TransactionContext,
  related: RecordRelation,
  request: RecordRequest,
  update: NestedUpdate,
): Promise<WriteResult> {
  const { target, relation, field } = related;
  const wanted = await resolveTarget(tx, related, request);
  if (wanted) return updateWithNested(tx, target, wanted, update);
  if (update.match !== null)
    throw new ApiError('VERSION_STALE', `"${field.name}" is empty, so no record matches "If-Match".`);
  if (relation.kind === 'belongsTo') throw new ApiError('RECORD_UNKNOWN', `"${field.name}" refers to no record.`);
  return createLinked(tx, related, normaliseRequest('create', {}, false), update.body);
}

/** Destroys records of a relation. A to-one relation needs no key. */
export async function destroyLinked(
  tx: TransactionContext,
  related: RecordRelation,
  request: RecordRequest,
  match: IfMatch,
): Promise<WriteResult> {
  const wanted = await resolveTarget(tx, related, request);
  if (!wanted) throw new ApiError('RECORD_UNKNOWN', `"${related.field.name}" refers to no record.`);
  return destroyRecords(tx, related.target, wanted, { match, rules: getRules(related.target) });
}

/** The request with the key of a to-one relation filled in. Null if the relation is empty. */
async function resolveTarget(
  tx: TransactionContext,
  related: RecordRelation,
  request: RecordRequest,
): Promise<RecordRequest | null> {
  await requireVisibleParent(tx, related);
  if (related.relation.many || request.filterByTk !== undefined || request.filter !== null) return request;
  const [only] = await readLinkedKeys(tx, related);
  return only === undefined ? null : { ...request, filterByTk: only, shape: `${request.shape} its own` };
}
