/**
 * The OpenAPI 3.1 document of one role in one application, as a sequence of pieces of JSON text. Everything that the role may
 * not do or see is absent: names, descriptions, targets of relations, filters of permissions.
 */
import { mainApplicationName } from '../applications/application.ts';
import { auditCollection } from '../journal/audit-collection.ts';
import { isMailResource } from '../mail/collections/mail-resources.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';
import { collectionPathParameter } from './definition-operations.ts';
import { errorHeaders, errorResponses } from './error-responses.ts';
import { escapeMarkdown } from './escape-markdown.ts';
import { shownFileSchema } from './field-schema.ts';
import { buildFilePath, recordFileOperations } from './file-operations.ts';
import { importResponses, sharedImportParameters } from './import-operations.ts';
import { jsonReply, makePathItem, type Operation } from './operation.ts';
import { applicationHeader, type Parameter, sharedParameters } from './parameters.ts';
import { buildPlainPaths, hasPlainPath } from './plain-paths.ts';
import { recordOperations, recordResponses } from './record-operations.ts';
import { buildRecordSchemas, schemaRef } from './record-schemas.ts';
import { parentParameter, relationOperations } from './relation-operations.ts';
import type { Subject } from './subject.ts';
import { systemOperations } from './system-operations.ts';
import { systemSchemas } from './system-schemas.ts';

type Members = Record<string, JsonSchema>;

const introduction = [
  'Actions are called as `/api/<resource>:<action>`. Reads accept GET, and POST with the parameters as a JSON body. Writes only accept POST.',
  'A reply is `{"data": …}`; lists also have `meta`. All errors have the same shape. A refused request changes nothing.',
  'Lists of names are separated by commas, filters are JSON; brackets such as `filter[views][$gt]=1` are equivalent.',
].join('\n\n');

const tagDescriptions: Readonly<Record<string, string>> = {
  auth: 'Sign in and out',
  collections: 'Define collections',
  fields: 'Define fields',
  indexes: 'Indexes',
  docs: 'Documentation',
  changes: 'Past events',
  realtime: 'Events in real time',
  health: 'Health',
  apiKeys: 'API keys',
  permissions: 'Permissions',
  applications: 'Applications',
  audit: 'Audit journal',
};

/** The part of the document for one collection. */
interface CollectionPart {
  readonly tag: JsonSchema | null;
  readonly paths: Members;
  readonly schemas: Members;
  readonly responses: Members;
}

/** Writes the document, one collection after another. Between two pieces, the event loop may do other work. */
export function* writeDocument(subject: Subject): Generator<string> {
  const collections = [...subject.registry.all(), auditCollection].filter((each) => isVisible(subject, each));
  const tags = new Map<string, JsonSchema>();
  const schemas: string[] = [];
  const responses: string[] = [];
  yield `${JSON.stringify(buildHead(subject)).slice(0, -1)},"paths":{`;
  const system = systemOperations(subject);
  for (const { tag } of system)
    tags.set(tag, { name: tag, ...(tagDescriptions[tag] && { description: tagDescriptions[tag] }) });
  const filePath = buildFilePath(subject);
  if (Object.keys(filePath).length > 0) tags.set('files', { name: 'files', description: 'Files' });
  yield stringifyMembers({ ...buildPaths(system, [], subject), ...filePath });
  const plain = system.filter(hasPlainPath);
  for (const collection of collections) {
    const part = buildPart(subject, collection);
    if (isMailResource(collection.name)) plain.push(...recordOperations(subject, collection));
    if (part.tag) tags.set(collection.name, part.tag);
    schemas.push(stringifyMembers(part.schemas));
    responses.push(stringifyMembers(part.responses));
    yield Object.keys(part.paths).length > 0 ? `,${stringifyMembers(part.paths)}` : '';
  }
  const plainMembers = stringifyMembers(buildPlainPaths(plain, subject));
  yield plainMembers === '' ? '' : `,${plainMembers}`;
  yield `},"tags":${JSON.stringify([...tags.values()])},"components":{${stringifyMembers(buildComponents(subject))}`;
  yield `,"schemas":{${stringifyMembers(systemSchemas(subject))}`;
  for (const each of schemas) yield each === '' ? '' : `,${each}`;
  yield `},"responses":{${stringifyMembers(buildSystemResponses(subject))}`;
  for (const each of responses) yield each === '' ? '' : `,${each}`;
  yield '}}}';
}

function buildHead({ application, caller }: Subject): JsonSchema {
  return {
    openapi: '3.1.0',
    info: {
      title: application === mainApplicationName ? 'Tablinum' : `Tablinum: ${application}`,
      version: '1',
      description: introduction,
    },
    servers: [{ url: '/' }],
    security: caller.type === 'anonymous' ? [{}, { bearer: [] }] : [{ bearer: [] }],
  };
}

/** A collection that the role may use, or whose records it can see through relations. */
function isVisible({ findGrant }: Subject, { name, internal }: Collection): boolean {
  return !internal && ['list', 'get', 'create', 'update', 'destroy'].some((action) => findGrant(name, action) !== null);
}

function buildPart(subject: Subject, collection: Collection): CollectionPart {
  const ownOperations = recordOperations(subject, collection);
  const related = relationOperations(subject, collection);
  const { name, title, description } = collection;
  const tagDescription = escapeMarkdown([title, description].filter(Boolean).join(': '));
  return {
    tag:
      ownOperations.length + related.length === 0
        ? null
        : {
            name,
            ...(title && { 'x-tablinum-title': title }), // the description is Markdown
            ...(tagDescription !== '' && { description: tagDescription }),
            ...(collection.system && { 'x-tablinum-system': true }),
          },
    paths: {
      ...buildPaths(ownOperations, [], subject),
      ...buildPaths(related, [parentParameter(collection)], subject),
      ...buildPaths(recordFileOperations(subject, collection), [parentParameter(collection)], subject),
    },
    schemas: buildRecordSchemas(subject, collection),
    responses: recordResponses(subject, collection),
  };
}

function buildPaths(operations: readonly Operation[], pathParameters: readonly Parameter[], subject: Subject): Members {
  return Object.fromEntries(
    operations.map((each) =>
      makePathItem(each, each.path.includes('{collection}') ? [collectionPathParameter] : pathParameters, subject),
    ),
  );
}

function buildComponents({ application }: Subject): Members {
  const tag = 'A strong ETag: the version of the record (0 for lists) and a hash of the body.';
  return {
    parameters: {
      ...sharedParameters,
      ...sharedImportParameters,
      'X-App': applicationHeader(application, mainApplicationName),
    },
    headers: { ETag: { description: tag, schema: { type: 'string' } }, ...errorHeaders },
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or the token of a login.' },
    },
  };
}

function buildSystemResponses({ statuses }: Subject): Members {
  const scalar = { type: ['string', 'number', 'boolean', 'null', 'array', 'object'] };
  const tag = { ETag: { $ref: '#/components/headers/ETag' } };
  const groups = { type: 'array', items: { type: 'object', additionalProperties: scalar } };
  return {
    NotModified: { description: 'If-None-Match contains the ETag of the present reply.', headers: tag },
    Destroyed: jsonReply('The number of destroyed records.', { type: 'integer' }, schemaRef('WriteMeta')),
    History: jsonReply(
      'Entries, newest first.',
      { type: 'array', items: schemaRef('HistoryEntry') },
      schemaRef('ListMeta'),
      tag,
    ),
    Groups: jsonReply('An object for each group, with its dimensions and measures.', groups, undefined, tag),
    StoredExport: jsonReply(
      'The file. The reply follows when it is complete. It is one of your uploads: only you can read it, and it is deleted after a day unless a record refers to it.',
      shownFileSchema,
    ),
    ...importResponses,
    ...errorResponses(statuses),
  };
}

/** JSON text of an object's properties, without braces. */
function stringifyMembers(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}
