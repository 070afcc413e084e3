/** The actions of API keys that tell a token, and what is known of their use; the others are the generated ones. */
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { hasGrants, idParameter, isSignedIn, type OperationDefinition } from './operation-definition.ts';
import { schemaRef } from './record-schemas.ts';
import {
  arraySchema,
  dateTimeOrNullSchema,
  dateTimeSchema,
  integerSchema,
  objectSchema,
  stringOrNullSchema,
  stringSchema,
} from './schema-parts.ts';
import type { Subject } from './subject.ts';

const isOwnOrGranted =
  (action: string) =>
  (subject: Subject): boolean =>
    subject.caller.type === 'session' || (isSignedIn(subject) && subject.findGrant('apiKeys', action) !== null);

export const keyOperations: readonly OperationDefinition[] = [
  {
    action: 'apiKeys:create',
    summary: 'Make an API key',
    may: isOwnOrGranted('create'),
    body: jsonBody(schemaRef('NewKey')),
    success: jsonReply('The key; its token is shown this once.', schemaRef('MadeKey')),
  },
  {
    action: 'apiKeys:rotate',
    summary: 'Make the successor of an API key',
    description: 'Of the same role. The old key works on for the overlap, and no longer than it would have.',
    may: isOwnOrGranted('update'),
    parameters: [idParameter('key', 3)],
    body: jsonBody(schemaRef('KeyRotation'), false),
    success: jsonReply('The successor; its token is shown this once.', schemaRef('MadeKey')),
  },
  {
    action: 'apiKeys:stats',
    method: 'get',
    summary: 'How an API key is used',
    may: hasGrants(['apiKeys', 'list']),
    parameters: [idParameter('key', 3)],
    success: jsonReply(
      'Counts since the key was made; those of other nodes are up to a minute behind.',
      schemaRef('KeyUse'),
    ),
  },
];

const name: JsonSchema = { type: ['string', 'null'], maxLength: 255 };
const lifetime: JsonSchema = { type: 'string', pattern: '^(?:[1-9]\\d{0,3}[hdwmy]|never)$' };
const createdKeyProperties = {
  id: integerSchema,
  token: { type: 'string', description: 'Shown here and never again.' },
  name: stringOrNullSchema,
  role: stringSchema,
  expiresAt: dateTimeOrNullSchema,
  createdAt: dateTimeSchema,
};

/** Schemas for those who have proved who they are. */
export const keySchemas: Readonly<Record<string, JsonSchema>> = {
  NewKey: {
    ...objectSchema(
      {
        name,
        role: { anyOf: [objectSchema({ name: stringSchema }, ['name']), stringSchema] },
        expiresIn: { ...lifetime, default: '30d' },
      },
      ['role'],
    ),
    examples: [{ role: { name: 'viewer' }, expiresIn: '1y' }],
  },
  KeyRotation: {
    ...objectSchema({
      name: { ...name, description: 'Without it that of the old key.' },
      overlap: { type: 'string', pattern: '^(?:[1-9]\\d{0,3}[hdwmy]|none)$', default: '1h' },
      expiresIn: { ...lifetime, description: 'Without it as long as the old key was made for.' },
    }),
    examples: [{ overlap: '1d', expiresIn: '1y' }],
  },
  MadeKey: objectSchema(createdKeyProperties, Object.keys(createdKeyProperties)),
};

const count: JsonSchema = { type: 'integer', minimum: 0 };
const usageProperties = {
  id: integerSchema,
  requests: count,
  failedAttempts: { ...count, description: 'Requests that the key was refused for.' },
  firstUsedAt: dateTimeOrNullSchema,
  lastUsedAt: dateTimeOrNullSchema,
  endpoints: {
    ...arraySchema(objectSchema({ endpoint: stringSchema, requests: count }, ['endpoint', 'requests'])),
    maxItems: 10,
    description: 'The most used ones first.',
  },
};

/** Schemas for those who see keys. */
export const keyUseSchemas: Readonly<Record<string, JsonSchema>> = {
  KeyUse: objectSchema(usageProperties, Object.keys(usageProperties)),
};
