import { askedMail, isSearched } from '../mail/search/asked-mail.ts';
import {
  grantsOfAction,
  isReadAction,
  isRecordAction,
  type ReadAction,
  type WriteAction,
} from '../protocol/actions.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { normaliseQuery } from '../protocol/query-request.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { denied } from '../query/read-access.ts';
import { findOrCreate, turnOf } from '../records/find-or-create.ts';
import { moveRecord } from '../records/move-record.ts';
import { createWithNested, updateWithNested } from '../records/nested-values.ts';
import { queryRecords } from '../records/query-records.ts';
import { readHistory } from '../records/read-history.ts';
import { getRecord, listRecords, requireGrant } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { revertRecord } from '../records/revert-record.ts';
import { withSecretsOf } from '../records/secrets.ts';
import { rulesOf } from '../records/system/rules-of.ts';
import { destroyRecords, restoreRecords } from '../records/write-records.ts';
import type { Collection } from '../schema/registry.ts';
import { type Answer, type Call, contextOf } from './call.ts';
import { matchOf, refuseMatch } from './if-match.ts';
import { isTrial } from './known-parameters.ts';
import { performWrite } from './perform-write.ts';
import { unknownRoute } from './route.ts';
import { streamedList } from './streamed-list.ts';

/** Lists of administration come whole unless a page is asked for. */
const wholeLists = new Set(['roles', 'permissions', 'apiKeys', 'applications', 'users', 'webhooks']);

/** The generated actions of a collection. */
export async function runRecordAction(call: Call): Promise<Answer> {
  const { action } = call.route;
  if (!isRecordAction(action)) throw unknownRoute();
  const context = contextOf(call);
  const grants = grantsOfAction(action);
  const collection = namedCollection(context, call.route.resource, grants[0]!);
  for (const needed of grants) requireGrant(context, collection, needed); // before the parameters: 401 and 403 come before 400
  return isReadAction(action) ? runRead(action, call, context, collection) : write(action, call, context, collection);
}

/**
 * A role without any grant on a name gets the same answer whether the collection exists or not.
 *
 * @param action the first grant that is asked for where it exists.
 */
export function namedCollection(context: RecordContext, name: string, action: string): Collection {
  const collection = context.registry.find(name);
  if (collection) return collection;
  const seesNames =
    context.caller.role === 'admin' ||
    context.access.roles.get(context.caller.role)?.permissions.some((row) => row.resource === '*');
  if (!seesNames) throw denied(name.slice(0, 60), action);
  throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
}

/** A read that its caller is granted. */
export async function runRead(
  action: ReadAction,
  call: Call,
  context: RecordContext,
  collection: Collection,
): Promise<Answer> {
  if (action === 'query')
    return { data: await queryRecords(context, collection, normaliseQuery(call.parameters())), counter: 0 };
  if (action === 'history') return { ...(await readHistory(context, collection, call.parameters())), counter: 0 };
  const words = action === 'list' && isSearched(collection.name);
  const request = words
    ? askedMail(collection.name, call.parameters(), call.method !== 'POST', context)
    : call.request();
  if (action === 'get') {
    const { data, counter } = await getRecord(context, collection, request);
    return { data, counter };
  }
  if (!request.paginate) return streamedList(call, collection, request);
  const whole =
    wholeLists.has(collection.name) && request.pageSize === null && request.page === 1 && request.after === null;
  const { data, meta } = await listRecords(
    context,
    collection,
    whole ? { ...request, pageSize: limits.wholeList } : request,
  );
  return { data, meta, counter: 0 };
}

/** The writes that take If-Match. */
const conditional: ReadonlySet<WriteAction> = new Set<WriteAction>(['update', 'destroy', 'restore', 'revert']);

async function write(action: WriteAction, call: Call, context: RecordContext, collection: Collection): Promise<Answer> {
  if (!conditional.has(action)) refuseMatch(call);
  if (action === 'move') return move(call, context, collection);
  if (action === 'revert') return revert(call, context, collection);
  const request = call.request();
  const ready = await withSecretsOf(context, collection, call.body);
  const finds = action === 'firstOrCreate' || action === 'updateOrCreate';
  const manner = {
    dryRun: request.dryRun,
    heavy: finds || request.filter !== null || Array.isArray(request.filterByTk),
    ...(finds && { turn: turnOf(collection, request, call.body) }),
  };
  return performWrite(call, ready, manner, (inside) => written(action, call, inside, collection, request));
}

async function move(call: Call, context: RecordContext, collection: Collection): Promise<Answer> {
  const { dryRun, ...parameters } = call.parameters();
  return performWrite(call, context, { dryRun: isTrial({ dryRun }) }, async (inside) =>
    answer(await moveRecord(inside, collection, parameters)),
  );
}

async function revert(call: Call, context: RecordContext, collection: Collection): Promise<Answer> {
  const { dryRun, ...parameters } = call.parameters();
  const match = matchOf(call.ifMatch);
  return performWrite(call, context, { dryRun: isTrial({ dryRun }), heavy: true }, async (inside) =>
    answer(await revertRecord(inside, collection, parameters, match)),
  );
}

async function written(
  action: Exclude<WriteAction, 'move' | 'revert'>,
  call: Call,
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
): Promise<Answer> {
  const rule = rulesOf(collection);
  const match = matchOf(call.ifMatch);
  if (action === 'create') return answer(await createWithNested(context, collection, request, call.body));
  if (action === 'update') return answer(await updateWithNested(context, collection, request, call.body, match));
  if (action === 'firstOrCreate' || action === 'updateOrCreate')
    return answer(await findOrCreate(context, collection, request, call.body, action === 'updateOrCreate'));
  if (action === 'restore') return answer(await restoreRecords(context, collection, request, match));
  return answer(await destroyRecords(context, collection, request, match, rule));
}

function answer({ data, counter }: { data: string; counter: number | null }): Answer {
  return counter === null ? { data } : { data, counter };
}
