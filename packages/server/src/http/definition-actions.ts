import { applyDefinitions } from '../collections/apply-definitions.ts';
import { changeCollection } from '../collections/change-collection.ts';
import { changeField } from '../collections/change-field.ts';
import { addField, defineCollection } from '../collections/define-collection.ts';
import { type DefinitionContext, TrialEnd } from '../collections/definition-context.ts';
import { dropCollection } from '../collections/drop-collection.ts';
import { dropField } from '../collections/drop-field.ts';
import { definitionCounter, showCollection, showField } from '../collections/show-definition.ts';
import { ApiError, invalidDefinition, notTruth } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { denied } from '../query/read-access.ts';
import { checkCollection, checkCollectionChange, checkCollections } from '../schema/definition-check.ts';
import { checkField } from '../schema/field-definition-check.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { definitionReads, existing } from './definition-reads.ts';
import { matchOf, requireMatch } from './if-match.ts';
import { isTrial, knownParameters } from './known-parameters.ts';

type Definitions = (call: Call, context: DefinitionContext) => Promise<unknown>;

/** `collections:` and `fields:`, open to roles that may configure or are granted them by name. */
export const definitionActions: Readonly<Record<string, SystemAction>> = {
  ...definitionReads,
  'collections:create': { reads: false, run: guarded(createCollection) },
  'collections:update': { reads: false, run: guarded(updateCollection) },
  'collections:apply': { reads: false, run: guarded(applyCollections) },
  'collections:destroy': { reads: false, run: guarded(destroyCollection) },
  'fields:create': { reads: false, run: guarded(createField) },
  'fields:update': { reads: false, run: guarded(updateField) },
  'fields:destroy': { reads: false, run: guarded(destroyField) },
  'collections/fields:create': { reads: false, run: guarded(createField) },
  'collections/fields:update': { reads: false, run: guarded(updateField) },
  'collections/fields:destroy': { reads: false, run: guarded(destroyField) },
};

/** Actions that do what several grants are for. */
const neededFor: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'collections:apply': [
    ['collections', 'create'],
    ['collections', 'update'],
    ['fields', 'create'],
    ['fields', 'update'],
  ],
};

/** A result that says more than its data. */
class WithMeta {
  readonly data: unknown;
  readonly meta: object;

  constructor(data: unknown, meta: object) {
    this.data = data;
    this.meta = meta;
  }
}

function guarded(work: Definitions): SystemAction['run'] {
  return async (call): Promise<Answer> => {
    const { resource, action } = call.route;
    const { grantOf } = call.application.recordContext(call.caller, call.requestId);
    for (const [on, needed] of neededFor[`${resource}:${action}`] ?? [[resource, action]])
      if (!grantOf(on, needed)) throw denied(on, needed);
    const trial = isTrial(call.parameters()) ? { changes: [], records: {} } : null;
    const result = await work(call, call.application.definitionContext(call.caller, call.requestId, trial)).catch(
      reportTrial,
    );
    if (result instanceof WithMeta) return { data: JSON.stringify(result.data), meta: result.meta };
    return { data: JSON.stringify(result) };
  };
}

function reportTrial(error: unknown): unknown {
  if (error instanceof TrialEnd) return { dryRun: true, ...error.trial };
  throw error;
}

async function createCollection(call: Call, context: DefinitionContext): Promise<unknown> {
  knownParameters(call, []);
  const definition = checkCollection(call.body, context.maximumFields);
  await defineCollection(context, definition);
  return showCollection(call.application.registry.get(definition.name), true);
}

/** The collections in the order of the set; `meta.changes`: what was done, nothing when all was there. */
async function applyCollections(call: Call, context: DefinitionContext): Promise<unknown> {
  knownParameters(call, []);
  const wanted = checkCollections(call.body, context.maximumFields, (name) => context.registry.find(name));
  const changes = await applyDefinitions(context, wanted);
  if (context.trial) throw new TrialEnd(context.trial); // nothing to change, so nothing was tried
  const { registry } = call.application;
  const collections = wanted.map(({ definition }) => showCollection(registry.get(definition.name), true));
  return new WithMeta(collections, { changes });
}

async function updateCollection(call: Call, context: DefinitionContext): Promise<unknown> {
  const { force } = knownParameters(call, ['filterByTk', 'force']);
  const match = matchOf(call.ifMatch);
  const collection = existing(context.registry, tkOf(call));
  requireMatch(match, definitionCounter(showCollection(collection, true)));
  const change = checkCollectionChange(call.body, collection);
  await changeCollection(context, collection.name, change, truthOf('force', force));
  return showCollection(call.application.registry.get(collection.name), true);
}

async function destroyCollection(call: Call, context: DefinitionContext): Promise<unknown> {
  const { cascade } = knownParameters(call, ['filterByTk', 'cascade']);
  const match = matchOf(call.ifMatch);
  const name = tkOf(call);
  const collection = context.registry.find(name);
  if (collection) requireMatch(match, definitionCounter(showCollection(collection, true)));
  await dropCollection(context, name, truthOf('cascade', cascade));
  return 1;
}

function truthOf(name: string, value: unknown): boolean {
  if (value !== undefined && value !== 'true' && value !== 'false') throw notTruth(name);
  return value === 'true';
}

async function updateField(call: Call, context: DefinitionContext): Promise<unknown> {
  const { collectionName, name, changes } = namedField(call, context);
  requireFieldMatch(call, context, collectionName, name);
  const newName = await changeField(context, collectionName, name, changes);
  return showField(call.application.registry.get(collectionName).byName.get(newName)!);
}

async function destroyField(call: Call, context: DefinitionContext): Promise<unknown> {
  const { collectionName, name } = namedField(call, context);
  requireFieldMatch(call, context, collectionName, name);
  await dropField(context, collectionName, name);
  return 1;
}

/** A field that is not there is refused by the change itself. @throws ApiError 412. */
function requireFieldMatch(call: Call, { registry }: DefinitionContext, collectionName: string, name: string): void {
  const match = matchOf(call.ifMatch);
  const field = registry.get(collectionName).byName.get(name);
  if (field && !field.hidden) requireMatch(match, definitionCounter(showField(field)));
}

/** The field that a change is about: by its name in the body, or below its collection by filterByTk. */
function namedField(
  call: Call,
  context: DefinitionContext,
): { collectionName: string; name: string; changes: Record<string, unknown> } {
  const { collectionName, input } = fieldBody(call, context);
  const { name, ...changes } = input;
  const { filterByTk = name } = call.parameters();
  if (typeof filterByTk !== 'string' || filterByTk === '') throw invalidDefinition({ name: 'Name the field.' });
  if (name !== undefined && name !== filterByTk)
    throw invalidDefinition({ name: 'The body and filterByTk name different fields; newName renames one.' });
  return { collectionName, name: filterByTk, changes };
}

/** A body about a field: the collection it is in, and what else it says. */
function fieldBody(call: Call, context: DefinitionContext): { collectionName: string; input: Record<string, unknown> } {
  const { of, action } = call.route;
  const known = ['collectionName', ...(of && action !== 'create' ? ['filterByTk'] : [])];
  const inQuery = knownParameters(call, known)['collectionName'];
  if (inQuery !== undefined && (typeof inQuery !== 'string' || inQuery === ''))
    throw new ApiError('PARAMETER_INVALID', '"collectionName" must name the collection of the field.');
  const body = call.body ?? (of && action === 'destroy' ? {} : call.body);
  if (!isObject(body)) throw invalidDefinition({ body: 'Give a field: {"collectionName", "name", "type", …}.' });
  const { collectionName = of?.tk ?? inQuery, ...input } = body;
  if (typeof collectionName !== 'string' || collectionName === '')
    throw invalidDefinition({ collectionName: 'Name the collection of the field.' });
  if (of && collectionName !== of.tk)
    throw invalidDefinition({ collectionName: 'The body and the path name different collections.' });
  if (inQuery !== undefined && inQuery !== collectionName)
    throw new ApiError(
      'PARAMETER_INVALID',
      `"collectionName" names different collections in the query and in the ${of ? 'path' : 'body'}.`,
    );
  existing(context.registry, collectionName);
  return { collectionName, input };
}

async function createField(call: Call, context: DefinitionContext): Promise<unknown> {
  const { collectionName, input } = fieldBody(call, context);
  const definition = checkField(input);
  await addField(context, collectionName, definition);
  return showField(call.application.registry.get(collectionName).byName.get(definition.name)!);
}

function tkOf(call: Call): string {
  const tk = call.parameters()['filterByTk'];
  if (typeof tk !== 'string' || tk === '')
    throw new ApiError('PARAMETER_INVALID', 'filterByTk must name one collection.');
  return tk;
}
