/**
 * The OpenAPI 3.1 document of one role in one application. Enters a {@link Subject}; leave pieces of JSON text that follow
 * each other. What the role may not do or see is absent: names, words, targets of relations, filters of permissions.
 */
import { mainApplicationName } from '../applications/application.ts';
import { auditCollection } from '../journal/audit-collection.ts';
import { isMailResource } from '../mail/collections/mail-resources.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';
import { collectionPathParameter } from './definition-operations.ts';
import { errorHeaders, errorResponses } from './error-responses.ts';
import { escapeMarkdown } from './escape-markdown.ts';
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
  'Actions are called as `/api/<resource>:<action>`. Those that read answer GET, and POST with their parameters as the JSON body; those that write answer POST alone.',
  'A reply is `{"data": …}`; lists have `meta` beside it. Every refusal has one shape, and changes nothing.',
  'Lists of names are comma texts, filters JSON texts; brackets such as `filter[views][$gt]=1` mean the same.',
].join('\n\n');

const tagDescriptions: Readonly<Record<string, string>> = {
  auth: 'Sign in and out',
  collections: 'Define collections',
  fields: 'Define fields',
  docs: 'Documentation',
  changes: 'Events of the past',
  realtime: 'Events as they come',
  health: 'Health',
  apiKeys: 'API keys',
  permissions: 'Permissions',
  applications: 'Applications',
  audit: 'Audit journal',
};

/** What one collection adds to the document. */
interface CollectionPart {
  readonly tag: JsonSchema | null;
  readonly paths: Members;
  readonly schemas: Members;
  readonly responses: Members;
}

/** Writes the document, one collection after the other: between two pieces others may work. */
export function* writeDocument(subject: Subject): Generator<string> {
  const collections = [...subject.registry.all(), auditCollection].filter((each) => isVisible(subject, each));
  const tags = new Map<string, JsonSchema>();
  const schemas: string[] = [];
  const responses: string[] = [];
  yield `${JSON.stringify(buildHead(subject)).slice(0, -1)},"paths":{`;
  const system = systemOperations(subject);
  for (const { tag } of system)
    tags.set(tag, { name: tag, ...(tagDescriptions[tag] && { description: tagDescriptions[tag] }) });
  yield stringifyMembers(buildPaths(system, [], subject));
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

/** A collection of which the role may do anything, or whose records it meets along relations. */
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
            ...(tagDescription !== '' && { description: tagDescription }),
            ...(collection.system && { 'x-tablinum-system': true }),
          },
    paths: {
      ...buildPaths(ownOperations, [], subject),
      ...buildPaths(related, [parentParameter(collection)], subject),
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
  const tag = 'Strong: the write counter of the record (0 for lists) and a hash of the body.';
  return {
    parameters: { ...sharedParameters, 'X-App': applicationHeader(application, mainApplicationName) },
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
    NotModified: { description: 'If-None-Match names what the reply would be.', headers: tag },
    Destroyed: jsonReply('How many were destroyed.', { type: 'integer' }, schemaRef('WriteMeta')),
    History: jsonReply(
      'Entries, the newest first.',
      { type: 'array', items: schemaRef('HistoryEntry') },
      schemaRef('ListMeta'),
      tag,
    ),
    Groups: jsonReply('An object for each group: its dimensions and measures by their names.', groups, undefined, tag),
    ...errorResponses(statuses),
  };
}

/** JSON text of an object's members, without braces. */
function stringifyMembers(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}
