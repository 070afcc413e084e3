import {
  type DefinitionList,
  getDefinition,
  listDefinitions,
  listedCollections,
  listedFields,
} from '../collections/definition-lists.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { denied } from '../query/read-access.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection, Registry } from '../schema/registry.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { lineType, wantsLines } from './streamed-list.ts';

type Read = (call: Call, context: RecordContext) => Promise<Answer>;

/** The reads of `collections:` and `fields:`: the parameters and replies of lists of records. */
export const definitionReads: Readonly<Record<string, SystemAction>> = {
  'collections:list': { reads: true, run: granted(listCollections) },
  'collections:get': { reads: true, run: granted(getCollection) },
  'fields:list': { reads: true, run: granted(listFields) },
  'collections/fields:list': { reads: true, run: granted(listFields) },
  'collections/fields:get': { reads: true, run: granted(getField) },
};

/** @throws ApiError 404. */
export function existing(registry: Registry, name: string): Collection {
  const collection = registry.find(name);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
  return collection;
}

function granted(read: Read): SystemAction['run'] {
  return async (call): Promise<Answer> => {
    const { application, caller, requestId, zone, route } = call;
    const context = application.recordContext(caller, requestId, zone);
    if (!context.grantOf(route.resource, route.action)) throw denied(route.resource, route.action);
    return read(call, context);
  };
}

async function listCollections(call: Call, context: RecordContext): Promise<Answer> {
  return listed(call, context, listedCollections(context.registry), call.request());
}

async function getCollection(call: Call, context: RecordContext): Promise<Answer> {
  const found = await getDefinition(context, listedCollections(context.registry), call.request());
  if (found) return { data: JSON.stringify(found.shown), counter: found.counter };
  const { filterByTk } = call.parameters();
  const name = typeof filterByTk === 'string' ? ` "${filterByTk.slice(0, 60)}"` : ' that matches';
  throw new ApiError('COLLECTION_UNKNOWN', `There is no collection${name}.`);
}

async function listFields(call: Call, context: RecordContext): Promise<Answer> {
  const { collectionName, ...parameters } = call.parameters();
  const collection = existing(context.registry, collectionOf(call, collectionName));
  const request = collectionName === undefined ? call.request() : normalised(call, parameters);
  return listed(call, context, listedFields(collection), request);
}

async function getField(call: Call, context: RecordContext): Promise<Answer> {
  const collection = existing(context.registry, call.route.of!.tk);
  const found = await getDefinition(context, listedFields(collection), call.request());
  if (found) return { data: JSON.stringify(found.shown), counter: found.counter };
  throw new ApiError('RECORD_UNKNOWN', `${collection.name} has no field of this name.`);
}

/** The collection before `fields:list` in the path, or in the parameter `collectionName`. */
function collectionOf({ route }: Call, collectionName: unknown): string {
  const name = collectionName ?? route.of?.tk;
  if (typeof name !== 'string' || name === '')
    throw new ApiError('PARAMETER_INVALID', '"collectionName" must name the collection whose fields are listed.');
  if (route.of && route.of.tk !== name)
    throw new ApiError('PARAMETER_INVALID', '"collectionName" and the path name different collections.');
  return name;
}

function normalised(call: Call, parameters: Readonly<Record<string, unknown>>): AskedRecordRequest {
  return normaliseRequest('list', parameters, call.method !== 'POST');
}

async function listed(
  call: Call,
  context: RecordContext,
  list: DefinitionList,
  request: AskedRecordRequest,
): Promise<Answer> {
  const { data, meta } = await listDefinitions(context, list, request);
  if (meta !== null) return { data: JSON.stringify(data), meta, counter: 0 };
  if (!wantsLines(call)) return { data: JSON.stringify(data), counter: 0 };
  return { stream: lines(data), contentType: lineType };
}

async function* lines(data: readonly unknown[]): AsyncGenerator<string> {
  for (const each of data) yield `${JSON.stringify(each)}\n`;
}
