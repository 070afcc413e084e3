import { isSearched } from '../mail/search/asked-mail.ts';
import { grantsOfAction, type RecordAction } from '../protocol/actions.ts';
import { limits } from '../protocol/limits.ts';
import { parametersOf } from '../protocol/request-normaliser.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';
import { valueSchema } from './field-schema.ts';
import { mailListParameters } from './mail-parameters.ts';
import { body, listReply, type Operation, reply, responseRef } from './operation.ts';
import { headersOf, keyParameter, type Parameter, parameterRef } from './parameters.ts';
import { schemaRef, shownName } from './record-schemas.ts';
import { grantsFor, isTold, mayWrite, type Subject } from './subject.ts';

const summaries: Readonly<Record<RecordAction, string>> = {
  list: 'List records',
  get: 'Get one record',
  query: 'Count, sum and group records',
  create: 'Create one record or many',
  update: 'Update records',
  destroy: 'Destroy records',
  restore: 'Take records out of the trash',
  firstOrCreate: 'Find a record, or create it',
  updateOrCreate: 'Update a record, or create it',
  move: 'Move a record in its order',
  history: 'What has become of a record',
  revert: 'Go back to what a record was',
};
const actions = Object.keys(summaries) as RecordAction[];

/** The generated actions that the role may do on a collection. */
export function recordOperations(subject: Subject, collection: Collection): readonly Operation[] {
  return actions
    .filter((action) => mayDo(subject, collection, action))
    .map((action) => operationOf(subject, collection, action));
}

function mayDo(subject: Subject, collection: Collection, action: RecordAction): boolean {
  if (isTold(collection, action)) return false;
  if (action === 'restore' && collection.trash === null) return false;
  if ((action === 'history' || action === 'revert') && !collection.options.logging) return false;
  const grants = grantsFor(subject, collection.name, grantsOfAction(action));
  if (grants === null) return false;
  return action !== 'move' || sortFields(collection, grants).length > 0;
}

function sortFields({ fields }: Collection, grants: NonNullable<ReturnType<typeof grantsFor>>): readonly string[] {
  return fields.filter((each) => each.type.name === 'sort' && grants[0]!.may(each)).map((each) => each.name);
}

function operationOf(subject: Subject, collection: Collection, action: RecordAction): Operation {
  const { name } = collection;
  const reads = action === 'list' || action === 'get' || action === 'history';
  return {
    method: reads ? 'get' : 'post',
    path: `/api/${name}:${action}`,
    id: `${name}.${action}`,
    tag: name,
    summary: summaries[action],
    parameters: parametersFor(subject, collection, action),
    ...bodyOf(collection, action),
    success: successOf(collection, action),
    ...(reads && { notModified: true }),
    errors: reads || action === 'query' ? 'read' : headersOf[action]?.includes('If-Match') ? 'match' : 'write',
  };
}

/** The parameters of an action on a collection, headers included. */
export function parametersFor(subject: Subject, collection: Collection, action: RecordAction): Parameter[] {
  const headers = (headersOf[action] ?? []).map(parameterRef);
  if (action === 'query') return headers;
  if (action === 'move') return moveParameters(subject, collection);
  if (action === 'history' || action === 'revert') return historyParameters(collection, action);
  const trash = new Set(collection.trash ? [] : ['withDeleted', 'onlyDeleted', 'force']);
  const named = [...parametersOf[action]].filter((name) => !trash.has(name) && !useless(action, name));
  const key = valueSchema(collection.primaryKey, 'shown');
  return [
    ...named.map((name) => (name === 'filterByTk' ? keyParameter(key, action !== 'get', false) : parameterRef(name))),
    ...(action === 'list' && isSearched(collection.name) ? mailListParameters : []),
    ...headers,
  ];
}

/** Known, so that clients may send them, and without meaning there. */
function useless(action: RecordAction, name: string): boolean {
  return (action === 'get' && (name === 'page' || name === 'pageSize')) || (action === 'destroy' && name === 'cascade');
}

function moveParameters(subject: Subject, collection: Collection): Parameter[] {
  const key = valueSchema(collection.primaryKey, 'shown');
  const sorts = sortFields(collection, grantsFor(subject, collection.name, ['update'])!);
  const own = (name: string, schema: JsonSchema, required = false): Parameter => ({
    name,
    in: 'query',
    ...(required && { required }),
    schema,
  });
  return [
    own('sourceId', key, true),
    own('targetId', key),
    own('sortField', { type: 'string', enum: sorts, default: 'sort' }),
    own('method', { type: 'string', enum: ['insertBefore', 'insertAfter'] }),
    own('sticky', { type: 'boolean', description: 'To the first place.' }),
    own('targetScope', { description: 'To the end of another scope.' }),
    parameterRef('dryRun'),
  ];
}

function historyParameters(collection: Collection, action: 'history' | 'revert'): Parameter[] {
  const key = keyParameter(valueSchema(collection.primaryKey, 'shown'), false, true);
  if (action === 'history') return [key, ...['page', 'pageSize', 'after', 'count', 'If-None-Match'].map(parameterRef)];
  const entry: Parameter = {
    name: 'entry',
    in: 'query',
    required: true,
    description: 'The entry of the history after which the record was what it is to be.',
    schema: { type: 'integer', minimum: 1 },
  };
  return [key, entry, ...['fields', 'except', 'appends', 'dryRun', 'If-Match'].map(parameterRef)];
}

function bodyOf({ name }: Collection, action: RecordAction): { body?: JsonSchema } {
  if (action === 'create') return { body: createBody(name) };
  if (action === 'update') return { body: body(schemaRef(`${name}.update`)) };
  if (action === 'firstOrCreate' || action === 'updateOrCreate') return { body: body(schemaRef(`${name}.create`)) };
  return action === 'query' ? { body: body(schemaRef('Query')) } : {};
}

/** One record, or many. */
export function createBody(name: string): JsonSchema {
  const one = schemaRef(`${name}.create`);
  return body({ anyOf: [one, { type: 'array', items: one, maxItems: limits.bulkRecords }] });
}

/** How an action on a collection succeeds, as a reference to a response. */
export function successOf({ name }: Collection, action: RecordAction): JsonSchema {
  if (action === 'query') return responseRef('Groups');
  if (action === 'history') return responseRef('History');
  if (action === 'destroy') return responseRef('Destroyed');
  if (action === 'list') return responseRef(`${name}.list`);
  if (action === 'create') return responseRef(`${name}.created`);
  return responseRef(`${name}.${action === 'update' || action === 'restore' ? 'changed' : 'one'}`);
}

/** The responses of a collection that the role may meet: one record, a page, and what writes answer. */
export function recordResponses(subject: Subject, collection: Collection): Record<string, JsonSchema> {
  const { name } = collection;
  const may = (action: 'create' | 'update' | 'destroy'): boolean => mayWrite(subject, collection, action);
  const one = schemaRef(shownName(subject, collection, 'get'));
  const listed = schemaRef(shownName(subject, collection, 'list'));
  const trial = schemaRef('WriteMeta');
  const tag = { ETag: { $ref: '#/components/headers/ETag' } };
  const list = { type: 'array', items: one };
  const responses: Record<string, JsonSchema> = { [`${name}.one`]: reply('One record.', one, trial, tag) };
  if (subject.grantOf(name, 'list')) responses[`${name}.list`] = listReply('The records.', listed, tag);
  if (may('create')) responses[`${name}.created`] = reply('As many as were given.', { anyOf: [one, list] }, trial);
  if (may('update') || may('destroy'))
    responses[`${name}.changed`] = reply(
      `The record of one key; of several or a filter the records, beyond ${limits.recordsInReply} their number.`,
      { anyOf: [one, list, { type: 'integer' }] },
      trial,
    );
  return responses;
}
