/** The actions of API keys that tell a token, and what is known of their use; the others are the generated ones. */
import type { JsonSchema } from '../schema/field-type.ts';
import { body, reply } from './operation.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf, moment, momentOrNull, object, text, textOrNull, whole } from './schema-parts.ts';
import type { Subject } from './subject.ts';
import { granted, numbered, signedIn, type WrittenOperation } from './written-operation.ts';

const ownOrGranted =
  (action: string) =>
  (subject: Subject): boolean =>
    subject.caller.type === 'session' || (signedIn(subject) && subject.grantOf('apiKeys', action) !== null);

export const keyOperations: readonly WrittenOperation[] = [
  {
    action: 'apiKeys:create',
    summary: 'Make an API key',
    may: ownOrGranted('create'),
    body: body(schemaRef('NewKey')),
    success: reply('The key; its token is shown this once.', schemaRef('MadeKey')),
  },
  {
    action: 'apiKeys:rotate',
    summary: 'Make the successor of an API key',
    description: 'Of the same role. The old key works on for the overlap, and no longer than it would have.',
    may: ownOrGranted('update'),
    parameters: [numbered('key', 3)],
    body: body(schemaRef('KeyRotation'), false),
    success: reply('The successor; its token is shown this once.', schemaRef('MadeKey')),
  },
  {
    action: 'apiKeys:stats',
    method: 'get',
    summary: 'How an API key is used',
    may: granted(['apiKeys', 'list']),
    parameters: [numbered('key', 3)],
    success: reply(
      'Counts since the key was made; those of other nodes are up to a minute behind.',
      schemaRef('KeyUse'),
    ),
  },
];

const name: JsonSchema = { type: ['string', 'null'], maxLength: 255 };
const lifetime: JsonSchema = { type: 'string', pattern: '^(?:[1-9]\\d{0,3}[hdwmy]|never)$' };
const made = {
  id: whole,
  token: { type: 'string', description: 'Shown here and never again.' },
  name: textOrNull,
  role: text,
  expiresAt: momentOrNull,
  createdAt: moment,
};

/** Schemas for those who have proved who they are. */
export const keySchemas: Readonly<Record<string, JsonSchema>> = {
  NewKey: {
    ...object(
      { name, role: { anyOf: [object({ name: text }, ['name']), text] }, expiresIn: { ...lifetime, default: '30d' } },
      ['role'],
    ),
    examples: [{ role: { name: 'viewer' }, expiresIn: '1y' }],
  },
  KeyRotation: {
    ...object({
      name: { ...name, description: 'Without it that of the old key.' },
      overlap: { type: 'string', pattern: '^(?:[1-9]\\d{0,3}[hdwmy]|none)$', default: '1h' },
      expiresIn: { ...lifetime, description: 'Without it as long as the old key was made for.' },
    }),
    examples: [{ overlap: '1d', expiresIn: '1y' }],
  },
  MadeKey: object(made, Object.keys(made)),
};

const count: JsonSchema = { type: 'integer', minimum: 0 };
const use = {
  id: whole,
  requests: count,
  failedAttempts: { ...count, description: 'Requests that the key was refused for.' },
  firstUsedAt: momentOrNull,
  lastUsedAt: momentOrNull,
  endpoints: {
    ...listOf(object({ endpoint: text, requests: count }, ['endpoint', 'requests'])),
    maxItems: 10,
    description: 'The most used ones first.',
  },
};

/** Schemas for those who see keys. */
export const keyUseSchemas: Readonly<Record<string, JsonSchema>> = { KeyUse: object(use, Object.keys(use)) };
