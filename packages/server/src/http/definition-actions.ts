import { applyDefinitions } from '../collections/apply-definitions.ts';
import { changeCollection } from '../collections/change-collection.ts';
import { changeField } from '../collections/change-field.ts';
import { addField, defineCollection } from '../collections/define-collection.ts';
import { type DefinitionContext, DryRunRollback } from '../collections/definition-context.ts';
import { dropCollection } from '../collections/drop-collection.ts';
import { dropField } from '../collections/drop-field.ts';
import { hashDefinition, serialiseCollection, serialiseField } from '../collections/serialise-definition.ts';
import { ApiError, booleanExpected, invalidDefinition } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { permissionDenied } from '../query/read-access.ts';
import { checkCollection, checkCollectionChange, checkCollections } from '../schema/definition-check.ts';
import { checkField } from '../schema/field-definition-check.ts';
import { definitionReads, requireCollection } from './definition-reads.ts';
import { parseIfMatch, requireVersionMatch } from './if-match.ts';
import { isDryRun, readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';

type DefinitionAction = (request: RequestContext, context: DefinitionContext) => Promise<unknown>;

/** The `collections` and `fields` actions, for roles that may configure or have a permission for them. */
export const definitionActions: Readonly<Record<string, SystemAction>> = {
  ...definitionReads,
  'collections:create': { reads: false, run: guardAction(createCollection) },
  'collections:update': { reads: false, run: guardAction(updateCollection) },
  'collections:apply': { reads: false, run: guardAction(applyCollections) },
  'collections:destroy': { reads: false, run: guardAction(destroyCollection) },
  'fields:create': { reads: false, run: guardAction(createField) },
  'fields:update': { reads: false, run: guardAction(updateField) },
  'fields:destroy': { reads: false, run: guardAction(destroyField) },
  'collections/fields:create': { reads: false, run: guardAction(createField) },
  'collections/fields:update': { reads: false, run: guardAction(updateField) },
  'collections/fields:destroy': { reads: false, run: guardAction(destroyField) },
  'schema:pull': { reads: false, run: runSchema },
  'schema:diff': { reads: false, run: runSchema },
  'schema:apply': { reads: false, run: runSchema },
  'schema:rollback': { reads: false, run: runSchema },
  'schema:revisions': { reads: true, run: runSchema },
};

/** Loaded with the first request, because few servers need it. */
async function runSchema(request: RequestContext): Promise<ActionResult> {
  return (await import('./schema-actions.ts')).runSchemaAction(request);
}

/** Actions that need more than the permission of their own name. */
const requiredGrants: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'collections:apply': [
    ['collections', 'create'],
    ['collections', 'update'],
    ['fields', 'create'],
    ['fields', 'update'],
  ],
};

/** A result with metadata. */
class ResultWithMeta {
  readonly data: unknown;
  readonly meta: object;

  constructor(data: unknown, meta: object) {
    this.data = data;
    this.meta = meta;
  }
}

function guardAction(work: DefinitionAction): SystemAction['run'] {
  return async (request): Promise<ActionResult> => {
    const { resource, action } = request.route;
    const { findGrant } = request.application.recordContext(request.caller, request.requestId);
    for (const [on, needed] of requiredGrants[`${resource}:${action}`] ?? [[resource, action]])
      if (!findGrant(on, needed)) throw permissionDenied(on, needed);
    const dryRun = isDryRun(request.parameters()) ? { changes: [], records: {} } : null;
    const result = await work(
      request,
      request.application.definitionContext(request.caller, request.requestId, dryRun),
    ).catch(reportDryRun);
    if (result instanceof ResultWithMeta) return { data: JSON.stringify(result.data), meta: result.meta };
    return { data: JSON.stringify(result) };
  };
}

function reportDryRun(error: unknown): unknown {
  if (error instanceof DryRunRollback) return { dryRun: true, ...error.dryRun };
  throw error;
}

async function createCollection(request: RequestContext, context: DefinitionContext): Promise<unknown> {
  readKnownParameters(request, []);
  const definition = checkCollection(request.body, context.maxFields);
  await defineCollection(context, definition);
  return serialiseCollection(request.application.registry.get(definition.name), true);
}

/** The collections in the order of the request. `meta.changes` lists the changes; it is empty if nothing was missing. */
async function applyCollections(request: RequestContext, context: DefinitionContext): Promise<unknown> {
  readKnownParameters(request, []);
  const wanted = checkCollections(request.body, context.maxFields, (name) => context.registry.find(name));
  const changes = await applyDefinitions(context, wanted);
  if (context.dryRun) throw new DryRunRollback(context.dryRun); // nothing to change, so no dry run was needed
  const { registry } = request.application;
  const collections = wanted.map(({ definition }) => serialiseCollection(registry.get(definition.name), true));
  return new ResultWithMeta(collections, { changes });
}

async function updateCollection(request: RequestContext, context: DefinitionContext): Promise<unknown> {
  const { force } = readKnownParameters(request, ['filterByTk', 'force']);
  const match = parseIfMatch(request.ifMatch);
  const collection = requireCollection(context.registry, readKeyParameter(request));
  requireVersionMatch(match, hashDefinition(serialiseCollection(collection, true)));
  const change = checkCollectionChange(request.body, collection);
  await changeCollection(context, collection.name, change, parseFlag('force', force));
  return serialiseCollection(request.application.registry.get(collection.name), true);
}

async function destroyCollection(request: RequestContext, context: DefinitionContext): Promise<unknown> {
  const { cascade } = readKnownParameters(request, ['filterByTk', 'cascade']);
  const match = parseIfMatch(request.ifMatch);
  const name = readKeyParameter(request);
  const collection = context.registry.find(name);
  if (collection) requireVersionMatch(match, hashDefinition(serialiseCollection(collection, true)));
  await dropCollection(context, name, parseFlag('cascade', cascade));
  return 1;
}

function parseFlag(name: string, value: unknown): boolean {
  if (value !== undefined && value !== 'true' && value !== 'false') throw booleanExpected(name);
  return value === 'true';
}

async function updateField(request: RequestContext, context: DefinitionContext): Promise<unknown> {
  const { collectionName, name, changes } = readNamedField(request, context);
  requireFieldMatch(request, context, collectionName, name);
  const newName = await changeField(context, collectionName, name, changes);
  return serialiseField(request.application.registry.get(collectionName).byName.get(newName)!);
}

async function destroyField(request: RequestContext, context: DefinitionContext): Promise<unknown> {
  const { collectionName, name } = readNamedField(request, context);
  requireFieldMatch(request, context, collectionName, name);
  await dropField(context, collectionName, name);
  return 1;
}

/** Checks If-Match. A missing field is refused by the change itself. @throws ApiError 412. */
function requireFieldMatch(
  request: RequestContext,
  { registry }: DefinitionContext,
  collectionName: string,
  name: string,
): void {
  const match = parseIfMatch(request.ifMatch);
  const field = registry.get(collectionName).byName.get(name);
  if (field && !field.hidden) requireVersionMatch(match, hashDefinition(serialiseField(field)));
}

/** The field to change: named in the body, or by filterByTk in a path below its collection. */
function readNamedField(
  request: RequestContext,
  context: DefinitionContext,
): { collectionName: string; name: string; changes: Record<string, unknown> } {
  const { collectionName, input } = parseFieldBody(request, context);
  const { name, ...changes } = input;
  const { filterByTk = name } = request.parameters();
  if (typeof filterByTk !== 'string' || filterByTk === '') throw invalidDefinition({ name: 'Name the field.' });
  if (name !== undefined && name !== filterByTk)
    throw invalidDefinition({
      name: '"name" and "filterByTk" name different fields. To rename a field, use "newName".',
    });
  return { collectionName, name: filterByTk, changes };
}

/** The body of a field action, with the collection of the field. */
function parseFieldBody(
  request: RequestContext,
  context: DefinitionContext,
): { collectionName: string; input: Record<string, unknown> } {
  const { of, action } = request.route;
  const known = ['collectionName', ...(of && action !== 'create' ? ['filterByTk'] : [])];
  const inQuery = readKnownParameters(request, known)['collectionName'];
  if (inQuery !== undefined && (typeof inQuery !== 'string' || inQuery === ''))
    throw new ApiError('PARAMETER_INVALID', 'The parameter "collectionName" must be the collection of the field.');
  const body = request.body ?? (of && action === 'destroy' ? {} : request.body);
  if (!isObject(body))
    throw invalidDefinition({ body: 'The body must be a field: {"collectionName", "name", "type", …}.' });
  const { collectionName = of?.key ?? inQuery, ...input } = body;
  if (typeof collectionName !== 'string' || collectionName === '')
    throw invalidDefinition({ collectionName: '"collectionName" must be the collection of the field.' });
  if (of && collectionName !== of.key)
    throw invalidDefinition({ collectionName: '"collectionName" and the path name different collections.' });
  if (inQuery !== undefined && inQuery !== collectionName)
    throw new ApiError(
      'PARAMETER_INVALID',
      `"collectionName" names different collections in the query and in the ${of ? 'path' : 'body'}.`,
    );
  requireCollection(context.registry, collectionName);
  return { collectionName, input };
}

async function createField(request: RequestContext, context: DefinitionContext): Promise<unknown> {
  const { collectionName, input } = parseFieldBody(request, context);
  const definition = checkField(input);
  await addField(context, collectionName, definition);
  return serialiseField(request.application.registry.get(collectionName).byName.get(definition.name)!);
}

function readKeyParameter(request: RequestContext): string {
  const key = request.parameters()['filterByTk'];
  if (typeof key !== 'string' || key === '')
    throw new ApiError('PARAMETER_INVALID', 'The parameter "filterByTk" must be the name of one collection.');
  return key;
}
