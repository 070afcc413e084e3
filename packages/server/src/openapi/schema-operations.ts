/** The actions of the whole schema as a document. */
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import type { OperationDefinition } from './operation-definition.ts';
import { parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

const mayConfigure: OperationDefinition['may'] = (subject) => subject.mayConfigure;

const dryRunParameter = parameterRef('dryRun');

export const schemaOperations: readonly OperationDefinition[] = [
  {
    action: 'schema:pull',
    summary: 'Read the whole schema as a document',
    description: 'Definitions that have no portable id get one. Secrets are not part of the document.',
    may: mayConfigure,
    success: jsonReply('The document.', schema.complete({ state: schema.string, schema: schemaRef('SchemaDocument') })),
  },
  {
    action: 'schema:diff',
    summary: 'Show what a schema document would change',
    may: mayConfigure,
    body: jsonBody(schemaRef('SchemaComparison')),
    success: jsonReply('The steps, in their order.', schemaRef('SchemaDifference')),
  },
  {
    action: 'schema:apply',
    matches: true, // by "state" in the body
    summary: 'Apply a schema document',
    description: 'All steps are one transaction and one revision. If nothing differs, nothing is done.',
    may: mayConfigure,
    parameters: [dryRunParameter],
    body: jsonBody(schemaRef('SchemaRequest')),
    success: jsonReply('The new revision.', schemaRef('AppliedSchema'), schemaRef('SchemaMeta')),
  },
  {
    action: 'schema:rollback',
    matches: true, // by "state" in the body
    summary: 'Restore the schema of an earlier revision, as a new revision',
    may: mayConfigure,
    parameters: [dryRunParameter],
    body: jsonBody(schemaRef('SchemaRollback'), false),
    success: jsonReply('The new revision.', schemaRef('AppliedSchema'), schemaRef('SchemaMeta')),
  },
  {
    action: 'schema:revisions',
    method: 'get',
    summary: 'List the revisions of the schema, and the kept data of destroyed fields and collections',
    may: mayConfigure,
    success: jsonReply('The latest 200 revisions, newest first, and the kept data.', schemaRef('SchemaRevisions')),
  },
];

const anyObject: JsonSchema = { type: 'object' };
const revisionNumber = {
  type: ['integer', 'null'],
  minimum: 0,
  description: 'The result of a revision; 0: before the first, null: before the last.',
};
const applyProperties: Readonly<Record<string, JsonSchema>> = {
  allowDestructive: schema.boolean,
  state: {
    ...schema.string,
    description: 'From pull or diff: the request is refused if the schema was changed since.',
  },
  summary: { type: 'string', maxLength: 500, description: 'A sentence for the list of revisions.' },
};
const stepProperties: Readonly<Record<string, JsonSchema>> = {
  action: { type: 'string', enum: ['adopt', 'rename', 'create', 'change', 'destroy'] },
  kind: { type: 'string', enum: ['collection', 'field', 'role', 'permission', 'webhook'] },
  of: { ...schema.string, description: 'The collection, role or webhook.' },
  name: { ...schema.string, description: 'The field, or the resource of a permission.' },
  from: { ...schema.string, description: 'The former name.' },
  values: { ...anyObject, description: 'What is created, or the new values of the members that change.' },
  before: { ...anyObject, description: 'The former values of these members.' },
  destructive: schema.boolean,
};
const requiredOfSteps = ['action', 'kind', 'of', 'destructive'];
const tombstone = schema.complete({
  name: schema.string,
  records: schema.integer,
  at: schema.dateTime,
  expires: schema.dateTime,
});

/** Schemas for roles that may configure. */
export const schemaSchemas: Readonly<Record<string, JsonSchema>> = {
  SchemaDocument: schema.object(
    {
      format: { type: 'integer', minimum: 1 },
      collections: schema.array(anyObject),
      roles: schema.array(anyObject),
      webhooks: schema.array(anyObject),
    },
    ['format'],
  ),
  SchemaComparison: schema.object({
    schema: schemaRef('SchemaDocument'),
    to: { ...revisionNumber, description: `Instead of a document: ${revisionNumber.description.toLowerCase()}` },
  }),
  SchemaRequest: schema.object({ schema: schemaRef('SchemaDocument'), ...applyProperties }),
  SchemaRollback: schema.object({ to: revisionNumber, ...applyProperties }),
  SchemaStep: schema.object(stepProperties, requiredOfSteps),
  SchemaDifference: schema.complete({
    state: schema.string,
    same: schema.boolean,
    destructive: { ...schema.integer, description: 'The number of steps that lose data or a secret.' },
    steps: schema.array(
      schema.object({ ...stepProperties, records: { type: ['integer', 'null'] } }, [...requiredOfSteps, 'records']),
    ),
    locks: schema.complete({
      blocks: { type: 'string', enum: ['writes', 'readsAndWrites'] },
      collections: {
        ...schema.array(schema.string),
        description: 'The collections whose requests wait while the document is applied; * for all.',
      },
    }),
  }),
  AppliedSchema: schema.complete({
    revision: { type: ['integer', 'null'], description: 'Null: nothing differed.' },
    steps: schema.array(schemaRef('SchemaStep')),
    restored: { ...schema.array(schema.string), description: 'Fields and collections whose kept data was restored.' },
    secrets: {
      ...schema.array(schema.complete({ webhook: schema.string, secret: schema.string })),
      description: 'The generated secrets of new webhooks. They are only shown once.',
    },
  }),
  SchemaMeta: schema.object({ dryRun: schema.boolean }),
  SchemaRevisions: schema.complete({
    revisions: schema.array(
      schema.complete({
        number: schema.integer,
        at: schema.dateTime,
        actor: schema.stringOrNull,
        summary: schema.string,
        steps: schema.array(schemaRef('SchemaStep')),
      }),
    ),
    tombstones: schema.array(tombstone),
  }),
};
