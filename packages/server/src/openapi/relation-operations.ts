import { limits } from '../protocol/limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';
import { valueSchema } from './field-schema.ts';
import { body, type Operation, reply, responseRef } from './operation.ts';
import { keyParameter, type Parameter, parameterRef } from './parameters.ts';
import { createBody, parametersFor } from './record-operations.ts';
import { schemaRef, shownName } from './record-schemas.ts';
import { type Followed, isTold, mayLink, relationsFollowed, type Subject } from './subject.ts';

type RelationAction = 'list' | 'get' | 'create' | 'update' | 'destroy' | LinkAction;
type LinkAction = 'set' | 'add' | 'remove' | 'toggle';

const summaries: Readonly<Record<RelationAction, string>> = {
  list: 'List the records of the relation',
  get: 'Get a record of the relation',
  create: 'Create records of the relation',
  update: 'Update a record of the relation',
  destroy: 'Destroy records of the relation',
  set: 'Name these records and no others',
  add: 'Name these records too',
  remove: 'Name these records no longer',
  toggle: 'Name these records where they are not, and no longer where they are',
};
const actions = Object.keys(summaries) as RelationAction[];
const linkActions: ReadonlySet<string> = new Set(['set', 'add', 'remove', 'toggle']);

/** The actions of a collection's relations that the role may do. */
export function relationOperations(subject: Subject, collection: Collection): readonly Operation[] {
  return relationsFollowed(subject, collection).flatMap((followed) =>
    actions
      .filter((action) => mayDo(subject, collection, followed, action))
      .map((action) => operationOf(subject, collection, followed, action)),
  );
}

/** The key of the record whose relation it is. */
export function parentParameter({ primaryKey }: Collection): Parameter {
  return { name: 'key', in: 'path', required: true, schema: valueSchema(primaryKey, 'shown') };
}

function mayDo(subject: Subject, source: Collection, followed: Followed, action: RelationAction): boolean {
  const { field, target } = followed;
  const { many, kind, targetField } = field.relation!;
  if (linkActions.has(action)) return mayLink(subject, source, followed);
  if (action === 'list') return many;
  const grant = subject.grantOf(target.name, action);
  if (!grant || (action !== 'get' && isTold(target, action))) return false;
  if (action !== 'create') return true;
  const foreignKey = kind === 'hasMany' || kind === 'hasOne' ? target.byName.get(targetField) : undefined;
  return foreignKey ? grant.may(foreignKey) : mayLink(subject, source, followed);
}

function operationOf(subject: Subject, source: Collection, followed: Followed, action: RelationAction): Operation {
  const { field, target } = followed;
  const reads = action === 'list' || action === 'get';
  return {
    method: reads ? 'get' : 'post',
    path: `/api/${source.name}/{key}/${field.name}:${action}`,
    id: `${source.name}.${field.name}.${action}`,
    tag: source.name,
    summary: `${field.name}: ${summaries[action][0]!.toLowerCase()}${summaries[action].slice(1)}`,
    parameters: isLink(action) ? linkParameters(target) : parametersFor(subject, target, action),
    ...bodyOf(target, action),
    success: successOf(subject, followed, action),
    ...(reads && { notModified: true }),
    errors: reads ? 'read' : 'match',
  };
}

function isLink(action: RelationAction): action is LinkAction {
  return linkActions.has(action);
}

function linkParameters(target: Collection): Parameter[] {
  return [keyParameter(valueSchema(target.primaryKey, 'shown'), true, false), parameterRef('dryRun')];
}

function bodyOf(target: Collection, action: RelationAction): { body?: JsonSchema } {
  if (action === 'create') return { body: createBody(target.name) };
  if (action === 'update') return { body: body(schemaRef(`${target.name}.update`)) };
  if (!isLink(action)) return {};
  const key = valueSchema(target.primaryKey, 'given');
  const pair = {
    type: 'array',
    prefixItems: [key, { type: 'object' }],
    minItems: 2,
    maxItems: 2,
    description: 'A key, and values of the join.',
  };
  const values = { type: 'array', items: { anyOf: [key, pair] }, maxItems: limits.bulkRecords };
  const object = { type: 'object', properties: { values }, required: ['values'], additionalProperties: false };
  return { body: body({ anyOf: [object, values] }, false) };
}

function successOf(subject: Subject, { field, target }: Followed, action: RelationAction): JsonSchema {
  const { many } = field.relation!;
  const name = target.name;
  if (action === 'list') return responseRef(`${name}.list`);
  if (action === 'destroy') return responseRef('Destroyed');
  if (action === 'create') return responseRef(`${name}.created`);
  if (action === 'update') return responseRef(`${name}.changed`);
  if (action === 'get' && many) return responseRef(`${name}.one`);
  const tag = { ETag: { $ref: '#/components/headers/ETag' } };
  if (action === 'get') {
    const one = schemaRef(shownName(subject, target, 'get'));
    return reply('The record, or null.', { anyOf: [one, { type: 'null' }] }, undefined, tag);
  }
  const keys = { type: 'array', items: valueSchema(target.primaryKey, 'shown') };
  return reply('The keys that the relation names now.', keys, schemaRef('WriteMeta'));
}
