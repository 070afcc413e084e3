import { isSearchable } from '../mail/search/mail-list-request.ts';
import { isReadAction, listRequiredGrants, type RecordAction } from '../protocol/actions.ts';
import { limits } from '../protocol/limits.ts';
import { actionParameters } from '../protocol/request-normaliser.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';
import { valueSchema } from './field-schema.ts';
import { describeImport, importParameterNames } from './import-operations.ts';
import { mailListParameters } from './mail-parameters.ts';
import { jsonBody, jsonListReply, jsonReply, type Operation, parametersBody, responseRef } from './operation.ts';
import { headersByAction, keyParameter, type Parameter, parameterRef } from './parameters.ts';
import { recordSchemaName, schemaRef } from './record-schemas.ts';
import { findAllGrants, isServerManagedAction, mayWrite, type Subject } from './subject.ts';

const summaryByAction: Readonly<Record<RecordAction, string>> = {
  list: 'List records',
  get: 'Get one record',
  query: 'Count, sum and group records',
  create: 'Create one record or several',
  update: 'Update records',
  destroy: 'Destroy records',
  restore: 'Restore records from the trash',
  firstOrCreate: 'Find a record, or create it',
  updateOrCreate: 'Update a record, or create it',
  move: 'Change the sort position of a record',
  history: 'List the changes of a record',
  revert: 'Revert a record to an earlier state',
  export: 'Export records as a file',
  storeExport: 'Export records into a stored file',
  import: 'Import records from a file',
  importPreview: 'Preview a file before its import',
};
const actions = Object.keys(summaryByAction) as RecordAction[];

/** The record actions that the role may use on a collection. */
export function recordOperations(subject: Subject, collection: Collection): readonly Operation[] {
  return actions
    .filter((action) => mayPerform(subject, collection, action))
    .map((action) => buildRecordOperation(subject, collection, action));
}

function mayPerform(subject: Subject, collection: Collection, action: RecordAction): boolean {
  if (isServerManagedAction(collection, action)) return false;
  if (isImport(action)) return mayImport(subject, collection);
  if (action === 'storeExport' && !subject.findGrant('files', 'create')) return false;
  if (action === 'restore' && collection.trash === null) return false;
  if ((action === 'history' || action === 'revert') && !collection.options.logging) return false;
  const grants = findAllGrants(subject, collection.name, listRequiredGrants(action));
  if (grants === null) return false;
  return action !== 'move' || findSortFields(collection, grants).length > 0;
}

function isImport(action: RecordAction): action is 'import' | 'importPreview' {
  return action === 'import' || action === 'importPreview';
}

/** An import creates or updates records as the actions of these names do. */
function mayImport(subject: Subject, collection: Collection): boolean {
  const mayImportBy = (action: 'create' | 'update'): boolean =>
    findAllGrants(subject, collection.name, ['import', action]) !== null && !isServerManagedAction(collection, action);
  return mayImportBy('create') || mayImportBy('update');
}

function findSortFields(
  { fields }: Collection,
  grants: NonNullable<ReturnType<typeof findAllGrants>>,
): readonly string[] {
  return fields.filter((each) => each.type.name === 'sort' && grants[0]!.may(each)).map((each) => each.name);
}

function buildRecordOperation(subject: Subject, collection: Collection, action: RecordAction): Operation {
  const { name } = collection;
  const isRead = isReadAction(action) && action !== 'query';
  return {
    method: isRead ? 'get' : 'post',
    path: `/api/${name}:${action}`,
    id: `${name}.${action}`,
    tag: name,
    summary: summaryByAction[action],
    parameters: parametersFor(subject, collection, action),
    ...addFormBody(makeBody(collection, action), { subject, collection, action }),
    success: action === 'export' ? makeExportReply(subject, collection) : successResponse(collection, action),
    ...(isImport(action) && describeImport(action)),
    ...(action === 'storeExport' && storedExport),
    ...(isRead && action !== 'export' && { notModified: true }),
    errors: isRead || action === 'query' ? 'read' : headersByAction[action]?.includes('If-Match') ? 'match' : 'write',
  };
}

/** The parameters of an action on a collection, including headers. */
export function parametersFor(subject: Subject, collection: Collection, action: RecordAction): Parameter[] {
  const headers = (headersByAction[action] ?? []).map(parameterRef);
  if (action === 'query') return headers;
  if (isImport(action)) return [...importParameterNames[action], 'X-Timezone'].map(parameterRef);
  if (action === 'move') return moveParameters(subject, collection);
  if (action === 'history' || action === 'revert') return historyParameters(collection, action);
  const trash = new Set(collection.trash ? [] : ['withDeleted', 'onlyDeleted', 'force']);
  const parameterNames = [...actionParameters[action]].filter((name) => !trash.has(name) && !isIgnored(action, name));
  const key = valueSchema(collection.primaryKey, 'shown');
  return [
    ...parameterNames.map((name) =>
      name === 'filterByTk' ? keyParameter(key, action !== 'get', false) : parameterRef(name),
    ),
    ...(['list', 'export', 'storeExport'].includes(action) && isSearchable(collection.name) ? mailListParameters : []),
    ...headers,
  ];
}

/** Accepted for compatibility, without effect. */
function isIgnored(action: RecordAction, name: string): boolean {
  return (action === 'get' && (name === 'page' || name === 'pageSize')) || (action === 'destroy' && name === 'cascade');
}

function moveParameters(subject: Subject, collection: Collection): Parameter[] {
  const key = valueSchema(collection.primaryKey, 'shown');
  const sortFieldNames = findSortFields(collection, findAllGrants(subject, collection.name, ['update'])!);
  const moveParameter = (name: string, schema: JsonSchema, required = false): Parameter => ({
    name,
    in: 'query',
    ...(required && { required }),
    schema,
  });
  return [
    moveParameter('sourceId', key, true),
    moveParameter('targetId', key),
    moveParameter('sortField', { type: 'string', enum: sortFieldNames, default: 'sort' }),
    moveParameter('method', { type: 'string', enum: ['insertBefore', 'insertAfter'] }),
    moveParameter('sticky', { type: 'boolean', description: 'Move to the first position.' }),
    moveParameter('targetScope', { description: 'Move to the end of another scope.' }),
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
    description: 'The history entry to revert to: the record gets its state after that entry.',
    schema: { type: 'integer', minimum: 1 },
  };
  return [key, entry, ...['fields', 'except', 'appends', 'dryRun', 'If-Match'].map(parameterRef)];
}

function makeBody({ name }: Collection, action: RecordAction): { body?: JsonSchema } {
  if (action === 'create') return { body: makeCreateBody(name) };
  if (action === 'update') return { body: jsonBody(schemaRef(`${name}.update`)) };
  if (action === 'firstOrCreate' || action === 'updateOrCreate') return { body: jsonBody(schemaRef(`${name}.create`)) };
  return action === 'query' ? { body: jsonBody(schemaRef('Query')) } : {};
}

/** An action of a collection, and who may call it. */
interface DescribedAction {
  readonly subject: Subject;
  readonly collection: Collection;
  readonly action: RecordAction;
}

/** Creates and updates of a collection with file fields that the role may write also take a form with files. */
function addFormBody(
  operation: { body?: JsonSchema },
  { subject, collection: { name, fields }, action }: DescribedAction,
): { body?: JsonSchema } {
  const grant = subject.findGrant(name, action);
  const fileFields = fields.filter((field) => field.type.name === 'file' && !field.hidden && grant?.may(field));
  if (fileFields.length === 0 || !operation.body || (action !== 'create' && action !== 'update')) return operation;
  const { content, ...rest } = operation.body as { content: object };
  const binary = { type: 'string', format: 'binary' };
  const files = fileFields.map((field) => [
    field.name,
    field.definition.multiple ? { type: 'array', items: binary } : binary,
  ]);
  const form = { type: 'object', properties: { data: schemaRef(`${name}.${action}`), ...Object.fromEntries(files) } };
  return { body: { ...rest, content: { ...content, 'multipart/form-data': { schema: form } } } };
}

/** One record, or several. */
export function makeCreateBody(name: string): JsonSchema {
  const one = schemaRef(`${name}.create`);
  return jsonBody({ anyOf: [one, { type: 'array', items: one, maxItems: limits.bulkRecords }] });
}

/** A file in the format that the parameter `format` names. */
function makeExportReply(subject: Subject, collection: Collection): JsonSchema {
  const items = schemaRef(recordSchemaName(subject, collection, 'list'));
  const text = { schema: { type: 'string' } };
  return {
    description: 'The file. A reply that breaks off is incomplete.',
    content: {
      'text/csv': text,
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': {
        schema: { type: 'string', format: 'binary' },
      },
      'application/json': { schema: { type: 'array', items } },
      'application/x-ndjson': text,
    },
  };
}

/** The same for all collections, so that the document stays short. */
const storedExport: Pick<Operation, 'body' | 'success'> = {
  body: parametersBody,
  success: responseRef('StoredExport'),
};

/** The successful response of an action, as a reference. */
export function successResponse({ name }: Collection, action: RecordAction): JsonSchema {
  if (action === 'query') return responseRef('Groups');
  if (action === 'history') return responseRef('History');
  if (action === 'destroy') return responseRef('Destroyed');
  if (action === 'list') return responseRef(`${name}.list`);
  if (action === 'create') return responseRef(`${name}.created`);
  return responseRef(`${name}.${action === 'update' || action === 'restore' ? 'changed' : 'one'}`);
}

/** The responses of a collection for the role: one record, a page, and the replies of writes. */
export function recordResponses(subject: Subject, collection: Collection): Record<string, JsonSchema> {
  const { name } = collection;
  const isWritable = (action: 'create' | 'update' | 'destroy'): boolean => mayWrite(subject, collection, action);
  const one = schemaRef(recordSchemaName(subject, collection, 'get'));
  const listed = schemaRef(recordSchemaName(subject, collection, 'list'));
  const writeMeta = schemaRef('WriteMeta');
  const tag = { ETag: { $ref: '#/components/headers/ETag' } };
  const list = { type: 'array', items: one };
  const responses: Record<string, JsonSchema> = { [`${name}.one`]: jsonReply('One record.', one, writeMeta, tag) };
  if (subject.findGrant(name, 'list')) responses[`${name}.list`] = jsonListReply('The records.', listed, tag);
  if (isWritable('create'))
    responses[`${name}.created`] = jsonReply(
      'One record or a list, as in the request.',
      { anyOf: [one, list] },
      writeMeta,
    );
  if (isWritable('update') || isWritable('destroy'))
    responses[`${name}.changed`] = jsonReply(
      `One record for one key. A list for several keys or a filter, or only the number above ${limits.recordsInReply} records.`,
      { anyOf: [one, list, { type: 'integer' }] },
      writeMeta,
    );
  return responses;
}
