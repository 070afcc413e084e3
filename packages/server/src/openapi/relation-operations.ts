import { limits } from '../protocol/limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';
import { valueSchema } from './field-schema.ts';
import { jsonBody, jsonReply, type Operation, responseRef } from './operation.ts';
import { keyParameter, type Parameter, parameterRef } from './parameters.ts';
import { makeCreateBody, parametersFor } from './record-operations.ts';
import { recordSchemaName, schemaRef } from './record-schemas.ts';
import { findVisibleRelations, isServerManagedAction, mayLink, type Subject, type VisibleRelation } from './subject.ts';

type RelationAction = 'list' | 'get' | 'create' | 'update' | 'destroy' | LinkAction;
type LinkAction = 'set' | 'add' | 'remove' | 'toggle';

const summaryByAction: Readonly<Record<RelationAction, string>> = {
  list: 'List the records of the relation',
  get: 'Get a record of the relation',
  create: 'Create records of the relation',
  update: 'Update a record of the relation',
  destroy: 'Destroy records of the relation',
  set: 'Replace the linked records',
  add: 'Link more records',
  remove: 'Unlink records',
  toggle: 'Link records that are not linked, and unlink those that are',
};
const actions = Object.keys(summaryByAction) as RelationAction[];
const linkActions: ReadonlySet<string> = new Set(['set', 'add', 'remove', 'toggle']);

/** The actions of a collection's relations that the role may use. */
export function relationOperations(subject: Subject, collection: Collection): readonly Operation[] {
  return findVisibleRelations(subject, collection).flatMap((visible) =>
    actions
      .filter((action) => mayPerform(subject, collection, visible, action))
      .map((action) => buildRelationOperation(subject, collection, visible, action)),
  );
}

/** The key of the parent record. */
export function parentParameter({ primaryKey }: Collection): Parameter {
  return { name: 'key', in: 'path', required: true, schema: valueSchema(primaryKey, 'shown') };
}

function mayPerform(subject: Subject, source: Collection, visible: VisibleRelation, action: RelationAction): boolean {
  const { field, target } = visible;
  const { many, kind, targetField } = field.relation!;
  if (linkActions.has(action)) return mayLink(subject, source, visible);
  if (action === 'list') return many;
  const grant = subject.findGrant(target.name, action);
  if (!grant || (action !== 'get' && isServerManagedAction(target, action))) return false;
  if (action !== 'create') return true;
  const foreignKey = kind === 'hasMany' || kind === 'hasOne' ? target.byName.get(targetField) : undefined;
  return foreignKey ? grant.may(foreignKey) : mayLink(subject, source, visible);
}

function buildRelationOperation(
  subject: Subject,
  source: Collection,
  visible: VisibleRelation,
  action: RelationAction,
): Operation {
  const { field, target } = visible;
  const isRead = action === 'list' || action === 'get';
  return {
    method: isRead ? 'get' : 'post',
    path: `/api/${source.name}/{key}/${field.name}:${action}`,
    id: `${source.name}.${field.name}.${action}`,
    tag: source.name,
    summary: `${field.name}: ${summaryByAction[action][0]!.toLowerCase()}${summaryByAction[action].slice(1)}`,
    parameters: isLink(action) ? linkParameters(target) : parametersFor(subject, target, action),
    ...makeBody(target, action),
    success: makeSuccess(subject, visible, action),
    ...(isRead && { notModified: true }),
    errors: isRead ? 'read' : 'match',
  };
}

function isLink(action: RelationAction): action is LinkAction {
  return linkActions.has(action);
}

function linkParameters(target: Collection): Parameter[] {
  return [keyParameter(valueSchema(target.primaryKey, 'shown'), true, false), parameterRef('dryRun')];
}

function makeBody(target: Collection, action: RelationAction): { body?: JsonSchema } {
  if (action === 'create') return { body: makeCreateBody(target.name) };
  if (action === 'update') return { body: jsonBody(schemaRef(`${target.name}.update`)) };
  if (!isLink(action)) return {};
  const key = valueSchema(target.primaryKey, 'given');
  const pair = {
    type: 'array',
    prefixItems: [key, { type: 'object' }],
    minItems: 2,
    maxItems: 2,
    description: 'A key, with values of the join record.',
  };
  const values = { type: 'array', items: { anyOf: [key, pair] }, maxItems: limits.bulkRecords };
  const object = { type: 'object', properties: { values }, required: ['values'], additionalProperties: false };
  return { body: jsonBody({ anyOf: [object, values] }, false) };
}

function makeSuccess(subject: Subject, { field, target }: VisibleRelation, action: RelationAction): JsonSchema {
  const { many } = field.relation!;
  const name = target.name;
  if (action === 'list') return responseRef(`${name}.list`);
  if (action === 'destroy') return responseRef('Destroyed');
  if (action === 'create') return responseRef(`${name}.created`);
  if (action === 'update') return responseRef(`${name}.changed`);
  if (action === 'get' && many) return responseRef(`${name}.one`);
  const tag = { ETag: { $ref: '#/components/headers/ETag' } };
  if (action === 'get') {
    const one = schemaRef(recordSchemaName(subject, target, 'get'));
    return jsonReply('The record, or null.', { anyOf: [one, { type: 'null' }] }, undefined, tag);
  }
  const keys = { type: 'array', items: valueSchema(target.primaryKey, 'shown') };
  return jsonReply('The keys of all linked records.', keys, schemaRef('WriteMeta'));
}
