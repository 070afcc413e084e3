import {
  buildCollectionList,
  buildFieldList,
  type DefinitionList,
  getDefinition,
  listDefinitions,
} from '../collections/definition-lists.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { permissionDenied } from '../query/read-access.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection, Registry } from '../schema/registry.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';
import { acceptsNdjson, ndjsonType } from './streamed-list.ts';

type DefinitionRead = (request: RequestContext, context: RecordContext) => Promise<ActionResult>;

/** The reads of `collections` and `fields`, with the parameters and replies of lists of records. */
export const definitionReads: Readonly<Record<string, SystemAction>> = {
  'collections:list': { reads: true, run: guardRead(listCollections) },
  'collections:get': { reads: true, run: guardRead(getCollection) },
  'fields:list': { reads: true, run: guardRead(listFields) },
  'collections/fields:list': { reads: true, run: guardRead(listFields) },
  'collections/fields:get': { reads: true, run: guardRead(getField) },
};

/** @throws ApiError 404. */
export function requireCollection(registry: Registry, name: string): Collection {
  const collection = registry.find(name);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
  return collection;
}

function guardRead(read: DefinitionRead): SystemAction['run'] {
  return async (request): Promise<ActionResult> => {
    const { application, caller, requestId, zone, route } = request;
    const context = application.recordContext(caller, requestId, zone);
    if (!context.findGrant(route.resource, route.action)) throw permissionDenied(route.resource, route.action);
    return read(request, context);
  };
}

async function listCollections(request: RequestContext, context: RecordContext): Promise<ActionResult> {
  return runDefinitionList(request, context, await buildCollectionList(context), request.recordRequest());
}

async function getCollection(request: RequestContext, context: RecordContext): Promise<ActionResult> {
  const found = await getDefinition(context, await buildCollectionList(context), request.recordRequest());
  if (found) return { data: JSON.stringify(found.definition), counter: found.counter };
  const { filterByTk } = request.parameters();
  const name = typeof filterByTk === 'string' ? ` "${filterByTk.slice(0, 60)}"` : ' that matches';
  throw new ApiError('COLLECTION_UNKNOWN', `There is no collection${name}.`);
}

async function listFields(request: RequestContext, context: RecordContext): Promise<ActionResult> {
  const { collectionName, ...parameters } = request.parameters();
  const collection = requireCollection(context.registry, readCollectionName(request, collectionName));
  const recordRequest =
    collectionName === undefined ? request.recordRequest() : normaliseListRequest(request, parameters);
  return runDefinitionList(request, context, buildFieldList(collection), recordRequest);
}

async function getField(request: RequestContext, context: RecordContext): Promise<ActionResult> {
  const collection = requireCollection(context.registry, request.route.of!.key);
  const found = await getDefinition(context, buildFieldList(collection), request.recordRequest());
  if (found) return { data: JSON.stringify(found.definition), counter: found.counter };
  throw new ApiError('RECORD_UNKNOWN', `${collection.name} has no field of this name.`);
}

/** The collection in the path before `fields:list`, or in the parameter `collectionName`. */
function readCollectionName({ route }: RequestContext, collectionName: unknown): string {
  const name = collectionName ?? route.of?.key;
  if (typeof name !== 'string' || name === '')
    throw new ApiError(
      'PARAMETER_INVALID',
      'The parameter "collectionName" must be the collection whose fields are listed.',
    );
  if (route.of && route.of.key !== name)
    throw new ApiError('PARAMETER_INVALID', '"collectionName" and the path name different collections.');
  return name;
}

function normaliseListRequest(request: RequestContext, parameters: Readonly<Record<string, unknown>>): RecordRequest {
  return normaliseRequest('list', parameters, request.method !== 'POST');
}

async function runDefinitionList(
  request: RequestContext,
  context: RecordContext,
  list: DefinitionList,
  recordRequest: RecordRequest,
): Promise<ActionResult> {
  const { data, meta } = await listDefinitions(context, list, recordRequest);
  if (meta !== null) return { data: JSON.stringify(data), meta, counter: 0 };
  if (!acceptsNdjson(request)) return { data: JSON.stringify(data), counter: 0 };
  return { stream: toJsonLines(data), contentType: ndjsonType };
}

async function* toJsonLines(data: readonly unknown[]): AsyncGenerator<string> {
  for (const each of data) yield `${JSON.stringify(each)}\n`;
}
