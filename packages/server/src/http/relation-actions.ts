import { ApiError } from '../protocol/api-error.ts';
import { isSameKey } from '../protocol/exact-json.ts';
import { isObject } from '../protocol/json-text.ts';
import { parameterUnknown } from '../protocol/known-names.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { normaliseRequest, requestByKeys } from '../protocol/request-normaliser.ts';
import { changeLinks, type Link, type LinkAction, linkedKeys, linksOf, requireLinkRights } from '../records/links.ts';
import { allowed, createWithNested, updateWithNested } from '../records/nested-values.ts';
import { getRecord, listRecords, requireGrant } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { linkable, type Related, relatedOf, sourceValue } from '../records/related-parent.ts';
import { withSecretsOf } from '../records/secrets.ts';
import { rulesOf } from '../records/system/rules-of.ts';
import { destroyRecords, type WriteResult } from '../records/write-records.ts';
import type { Collection } from '../schema/registry.ts';
import { type Answer, type Call, contextOf } from './call.ts';
import { matchOf, refuseMatch } from './if-match.ts';
import { isTrial } from './known-parameters.ts';
import { performWrite } from './perform-write.ts';
import { namedCollection } from './record-actions.ts';
import { unknownRoute } from './route.ts';
import { streamedList } from './streamed-list.ts';

/** The actions of a relation, `/api/<collection>/<key>/<relation>:<action>`. */
export async function runRelationAction(call: Call): Promise<Answer> {
  const { route } = call;
  const context = contextOf(call);
  const source = namedCollection(context, route.of!.collection, 'get');
  requireGrant(context, source, 'get');
  const related = relatedOf(context, source, route.resource, route.of!.tk);
  const action = Object.hasOwn(actions, route.action) ? actions[route.action] : undefined;
  if (!action) throw unknownRoute();
  return action(call, context, related);
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

type RelationAction = (call: Call, context: RecordContext, related: Related) => Promise<Answer>;

const actions: Readonly<Record<string, RelationAction>> = {
  list,
  get,
  create,
  update,
  destroy,
  set: linking('set'),
  add: linking('add'),
  remove: linking('remove'),
  toggle: linking('toggle'),
};

/** The request with the record whose relation is asked for. */
function asked({ request }: Call, { source, field, key }: Related): AskedRecordRequest {
  const plain = request();
  const within = { collection: source.name, relation: field.name, tk: key };
  return { ...plain, within, shape: `${plain.shape} ${source.name}.${field.name}` };
}

/** @throws ApiError 404 or 403 when the record whose relation it is cannot be had. */
async function requireParent(context: RecordContext, related: Related): Promise<void> {
  await sourceValue(context, related, requireGrant(context, related.source, 'get'));
}

async function list(call: Call, context: RecordContext, related: Related): Promise<Answer> {
  if (!related.relation.many) throw new ApiError('ROUTE_UNKNOWN', `"${related.field.name}" names one record; use get.`);
  const request = asked(call, related);
  if (!request.paginate) {
    await requireParent(context, related);
    return streamedList(call, related.target, request);
  }
  const { data, meta } = await listRecords(context, related.target, request);
  if (data === '[]') await requireParent(context, related);
  return { data, meta, counter: 0 };
}

async function get(call: Call, context: RecordContext, related: Related): Promise<Answer> {
  const request = asked(call, related);
  const { relation, target } = related;
  if (relation.many && request.filterByTk === undefined && request.filter === null)
    throw new ApiError('TARGET_MISSING', 'get needs filterByTk or a filter.');
  try {
    return await getRecord(context, target, request);
  } catch (error) {
    if (!(error instanceof ApiError) || (error.code !== 'RECORD_UNKNOWN' && error.code !== 'NO_PERMISSION'))
      throw error;
    await requireParent(context, related);
    if (!relation.many && request.filterByTk === undefined && request.filter === null) return { data: 'null' };
    throw error;
  }
}

/** Creates records that the relation names. */
async function create(call: Call, context: RecordContext, related: Related): Promise<Answer> {
  const request = call.request();
  const body = allowed(context, related.target, 'create', call.body, request);
  refuseMatch(call);
  // What the relation itself sets is never dropped.
  const whole = { ...request, whitelist: null, blacklist: [] };
  const ready = await withSecretsOf(context, related.target, body);
  return writing(call, ready, request, (inside) => createLinked(inside, related, whole, body));
}

async function createLinked(
  inside: RecordContext,
  related: Related,
  request: AskedRecordRequest,
  body: unknown,
): Promise<WriteResult> {
  const { relation, target, source } = related;
  const foreign = relation.kind === 'hasMany' || relation.kind === 'hasOne';
  const value = await sourceValue(inside, related, requireGrant(inside, source, foreign ? 'get' : 'update'));
  if (foreign) {
    const ready = withForeignKey(body, relation.targetField, linkable(value, related.field));
    return createWithNested(inside, target, request, ready);
  }
  const bodies = Array.isArray(body) ? body : [body];
  const made = await createWithNested(inside, target, request, bodies);
  const keys = made.keys.map((key): Link => ({ key, join: null }));
  if (relation.kind === 'belongsTo' && keys.length > 1)
    throw new ApiError('BODY_INVALID', `"${related.field.name}" names one record.`);
  await changeLinks(inside, related, 'add', keys);
  return Array.isArray(body) ? made : { ...made, data: made.data.slice(1, -1) };
}

/** Records of the relation name the parent; a body that names another one is a contradiction. */
function withForeignKey(body: unknown, name: string, value: unknown): unknown {
  if (Array.isArray(body)) return body.map((each) => withForeignKey(each, name, value));
  if (!isObject(body)) return body;
  if (body[name] !== undefined && !isSameKey(body[name], value))
    throw new ApiError('BODY_INVALID', `"${name}" names another record than the path.`);
  return { ...body, [name]: value };
}

async function update(call: Call, context: RecordContext, related: Related): Promise<Answer> {
  const { target, relation, field } = related;
  const request = asked(call, related);
  const match = matchOf(call.ifMatch);
  const ready = await withSecretsOf(context, target, call.body);
  return writing(call, ready, request, async (inside) => {
    const wanted = await namedIn(inside, related, request);
    if (wanted) return updateWithNested(inside, target, wanted, call.body, match);
    if (match !== null) throw new ApiError('VERSION_STALE', `"${field.name}" names no record that could match.`);
    if (relation.kind === 'belongsTo') throw new ApiError('RECORD_UNKNOWN', `"${field.name}" names no record.`);
    return createLinked(inside, related, normaliseRequest('create', {}, false), call.body);
  });
}

async function destroy(call: Call, context: RecordContext, related: Related): Promise<Answer> {
  const { target, field } = related;
  const request = asked(call, related);
  const match = matchOf(call.ifMatch);
  return writing(call, context, request, async (inside) => {
    const wanted = await namedIn(inside, related, request);
    if (!wanted) throw new ApiError('RECORD_UNKNOWN', `"${field.name}" names no record.`);
    return destroyRecords(inside, target, wanted, match, rulesOf(target));
  });
}

/** The request with its target: a to-one relation needs none named. Null where it names no record. */
async function namedIn(
  inside: RecordContext,
  related: Related,
  request: AskedRecordRequest,
): Promise<AskedRecordRequest | null> {
  await requireParent(inside, related);
  if (related.relation.many || request.filterByTk !== undefined || request.filter !== null) return request;
  const [only] = await linkedKeys(inside, related);
  return only === undefined ? null : { ...request, filterByTk: only, shape: `${request.shape} its own` };
}

/** One transaction for all of it, taken back where it is only tried. */
function writing(
  call: Call,
  context: RecordContext,
  { dryRun, filter }: Pick<AskedRecordRequest, 'dryRun' | 'filter'>,
  work: (inside: RecordContext) => Promise<WriteResult>,
): Promise<Answer> {
  const manner = { dryRun, heavy: filter !== null, joined: true };
  return performWrite(call, context, manner, async (inside) => answer(await work(inside)));
}

/** `{values: […]}`, a bare list or key, or filterByTk. */
function linking(action: LinkAction): RelationAction {
  return async (call, context, related) => {
    requireLinkRights(context, related);
    refuseMatch(call);
    const links = linksOf(namedTargets(call, action, related), related);
    const turn = turnOfLinks(related.source, related.key);
    const manner = { dryRun: isTrial(call.parameters()), turn, heavy: true, joined: true };
    return performWrite(call, context, manner, async (inside) => ({
      data: JSON.stringify(await changeLinks(inside, related, action, links)),
    }));
  };
}

/** Who changes the links of one record waits for others that do. */
export function turnOfLinks(source: Collection, key: unknown): string {
  return `links ${source.id} ${String(key)}`;
}

const linkParameters = new Set(['filterByTk', 'values', 'dryRun']);

function namedTargets(call: Call, action: LinkAction, { relation }: Related): unknown {
  const { body } = call;
  const parameters = call.parameters();
  const unknown = Object.keys(parameters).find((name) => !linkParameters.has(name));
  if (unknown !== undefined) throw parameterUnknown(action, unknown, linkParameters);
  const byKey = parameters['filterByTk'] ?? parameters['values'];
  if (byKey !== undefined && body !== undefined && body !== null && !(isObject(body) && Object.keys(body).length === 0))
    throw new ApiError('BODY_INVALID', 'Name the records by filterByTk or in the body, not both.');
  const named = call.route.tk ?? (byKey === undefined ? bodyTargets(body) : requestByKeys('destroy', byKey).filterByTk);
  // Without a target a to-one relation lets go of the one that it names.
  if (action === 'remove' && !relation.many && named === undefined) return null;
  if (named === undefined || (action !== 'set' && action !== 'remove' && named === null))
    throw new ApiError('TARGET_MISSING', `${action} needs records: {"values": [keys]}, a list of keys, or filterByTk.`);
  return named;
}

/** An object is `{values}`, `{filterByTk}` or one record by its key. */
function bodyTargets(body: unknown): unknown {
  if (!isObject(body)) return body;
  for (const name of ['values', 'filterByTk']) if (name in body) return body[name];
  return Object.keys(body).length === 0 ? undefined : body;
}

function answer({ data, counter }: WriteResult): Answer {
  return counter === null ? { data } : { data, counter };
}
