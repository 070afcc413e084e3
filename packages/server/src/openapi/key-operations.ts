/** The actions of API keys that return a token or usage statistics. The others are record actions. */
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { hasGrants, idParameter, isSignedIn, type OperationDefinition } from './operation-definition.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';
import type { Subject } from './subject.ts';

const isOwnOrGranted =
  (action: string) =>
  (subject: Subject): boolean =>
    subject.caller.type === 'session' || (isSignedIn(subject) && subject.findGrant('apiKeys', action) !== null);

export const keyOperations: readonly OperationDefinition[] = [
  {
    action: 'apiKeys:create',
    summary: 'Create an API key',
    may: isOwnOrGranted('create'),
    body: jsonBody(schemaRef('NewKey')),
    success: jsonReply('The key. Its token is shown only once.', schemaRef('MadeKey')),
  },
  {
    action: 'apiKeys:rotate',
    summary: 'Create the successor of an API key',
    description:
      'The successor has the same role. The old key stays valid for the overlap, but not beyond its own expiry.',
    may: isOwnOrGranted('update'),
    parameters: [idParameter('key', 3)],
    body: jsonBody(schemaRef('KeyRotation'), false),
    success: jsonReply('The successor. Its token is shown only once.', schemaRef('MadeKey')),
  },
  {
    action: 'apiKeys:stats',
    method: 'get',
    summary: 'Get the usage of an API key',
    may: hasGrants(['apiKeys', 'list']),
    parameters: [idParameter('key', 3)],
    success: jsonReply(
      'Counts since the key was created; those of other servers are up to a minute old.',
      schemaRef('KeyUse'),
    ),
  },
];

const name: JsonSchema = { type: ['string', 'null'], maxLength: 255 };
const lifetime: JsonSchema = { type: 'string', pattern: '^(?:[1-9]\\d{0,3}[hdwmy]|never)$' };
const createdKeyProperties = {
  id: schema.integer,
  token: { type: 'string', description: 'Shown only in this reply.' },
  name: schema.stringOrNull,
  role: schema.string,
  expiresAt: schema.dateTimeOrNull,
  createdAt: schema.dateTime,
};

/** Schemas for callers with a credential. */
export const keySchemas: Readonly<Record<string, JsonSchema>> = {
  NewKey: {
    ...schema.object(
      {
        name,
        role: { anyOf: [schema.complete({ name: schema.string }), schema.string] },
        expiresIn: { ...lifetime, default: '30d' },
      },
      ['role'],
    ),
    examples: [{ role: { name: 'viewer' }, expiresIn: '1y' }],
  },
  KeyRotation: {
    ...schema.object({
      name: { ...name, description: 'Default: the name of the old key.' },
      overlap: { type: 'string', pattern: '^(?:[1-9]\\d{0,3}[hdwmy]|none)$', default: '1h' },
      expiresIn: { ...lifetime, description: 'Default: the lifetime of the old key.' },
    }),
    examples: [{ overlap: '1d', expiresIn: '1y' }],
  },
  MadeKey: schema.object(createdKeyProperties, Object.keys(createdKeyProperties)),
};

const count: JsonSchema = { type: 'integer', minimum: 0 };
const usageProperties = {
  id: schema.integer,
  requests: count,
  failedAttempts: { ...count, description: 'The number of refused requests with the key.' },
  firstUsedAt: schema.dateTimeOrNull,
  lastUsedAt: schema.dateTimeOrNull,
  endpoints: {
    ...schema.array(schema.complete({ endpoint: schema.string, requests: count })),
    maxItems: 10,
    description: 'In descending order of use.',
  },
};

/** Schemas for roles that may read keys. */
export const keyUseSchemas: Readonly<Record<string, JsonSchema>> = {
  KeyUse: schema.object(usageProperties, Object.keys(usageProperties)),
};
