import { addField, defineCollection } from '../collections/define-collection.ts';
import type { DefinitionContext } from '../collections/definition-context.ts';
import { dropCollection } from '../collections/drop-collection.ts';
import { showCollection, showField } from '../collections/show-definition.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import { denied } from '../query/read-access.ts';
import { checkCollection, checkField } from '../schema/definition-check.ts';
import type { Collection } from '../schema/registry.ts';
import type { Answer, Call, SystemAction } from './call.ts';

type Definitions = (call: Call, context: DefinitionContext) => Promise<unknown>;

/** `collections:` and `fields:`, open to roles that may configure or are granted them by name. */
export const definitionActions: Readonly<Record<string, SystemAction>> = {
  'collections:list': { reads: true, run: guarded(listCollections) },
  'collections:get': { reads: true, run: guarded(getCollection) },
  'collections:create': { reads: false, run: guarded(createCollection) },
  'collections:destroy': { reads: false, run: guarded(destroyCollection) },
  'fields:create': { reads: false, run: guarded(createField) },
};

function guarded(work: Definitions): SystemAction['run'] {
  return async (call): Promise<Answer> => {
    const { resource, action } = call.route;
    const grant = call.application.recordContext(call.caller, call.requestId).grantOf(resource, action);
    if (!grant) throw denied(resource, action);
    const data = await work(call, call.application.definitionContext(call.caller, call.requestId));
    return { data: JSON.stringify(data), ...(action === 'list' || action === 'get' ? { counter: 0 } : {}) };
  };
}

async function listCollections(call: Call, { registry }: DefinitionContext): Promise<unknown> {
  allow(call, []);
  return registry
    .all()
    .filter((collection) => !collection.internal)
    .map((collection) => showCollection(collection, true));
}

async function getCollection(call: Call, context: DefinitionContext): Promise<unknown> {
  const { appends } = allow(call, ['filterByTk', 'appends']);
  const withFields = appends !== undefined && JSON.stringify(appends).includes('fields');
  return showCollection(existing(context, tkOf(call)), withFields);
}

async function createCollection(call: Call, context: DefinitionContext): Promise<unknown> {
  allow(call, []);
  const definition = checkCollection(call.body, context.maximumFields);
  await defineCollection(context, definition);
  return showCollection(call.application.registry.get(definition.name), true);
}

async function destroyCollection(call: Call, context: DefinitionContext): Promise<unknown> {
  const { cascade } = allow(call, ['filterByTk', 'cascade']);
  if (cascade !== undefined && cascade !== 'true' && cascade !== 'false')
    throw new ApiError('PARAMETER_INVALID', 'cascade must be true or false.');
  await dropCollection(context, tkOf(call), cascade === 'true');
  return 1;
}

async function createField(call: Call, context: DefinitionContext): Promise<unknown> {
  allow(call, []);
  const body = call.body;
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw invalidDefinition({ body: 'Give a field: {"collectionName", "name", "type", …}.' });
  const { collectionName, ...input } = body as Record<string, unknown>;
  if (typeof collectionName !== 'string' || collectionName === '')
    throw invalidDefinition({ collectionName: 'Name the collection that gets the field.' });
  existing(context, collectionName);
  const definition = checkField(input);
  await addField(context, collectionName, definition);
  return showField(call.application.registry.get(collectionName).byName.get(definition.name)!);
}

function existing({ registry }: DefinitionContext, name: string): Collection {
  const collection = registry.find(name);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
  return collection;
}

function tkOf(call: Call): string {
  const tk = call.parameters()['filterByTk'];
  if (typeof tk !== 'string' || tk === '')
    throw new ApiError('PARAMETER_INVALID', 'filterByTk must name one collection.');
  return tk;
}

/** The parameters of an action that knows only these. */
function allow(call: Call, names: readonly string[]): Readonly<Record<string, unknown>> {
  const parameters = call.parameters();
  const unknown = Object.keys(parameters).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new ApiError(
      'PARAMETER_UNKNOWN',
      `${call.route.resource}:${call.route.action} knows no parameter "${unknown.slice(0, 60)}".`,
    );
  return parameters;
}
