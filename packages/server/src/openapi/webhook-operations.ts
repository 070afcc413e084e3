/** The actions of webhooks that tell a secret or send something; the others are the generated ones. */
import type { JsonSchema } from '../schema/field-type.ts';
import { body, reply } from './operation.ts';
import { parametersFor } from './record-operations.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf, object, text, textOrNull, truth, whole } from './schema-parts.ts';
import { granted, numbered, tag, type WrittenOperation } from './written-operation.ts';

const oneOrMany = (name: string): JsonSchema => ({ anyOf: [schemaRef(name), listOf(schemaRef(name))] });

export const webhookOperations: readonly WrittenOperation[] = [
  {
    action: 'webhooks:create',
    summary: 'Make a webhook',
    may: granted(['webhooks', 'create']),
    parameters: (subject) => parametersFor(subject, subject.registry.get('webhooks'), 'create'),
    body: body(oneOrMany('NewWebhook')),
    success: reply(
      'The webhook; a secret that was made is shown this once.',
      oneOrMany('MadeWebhook'),
      schemaRef('WriteMeta'),
      tag,
    ),
  },
  {
    action: 'webhooks:update',
    summary: 'Change a webhook',
    may: granted(['webhooks', 'update']),
    parameters: (subject) => parametersFor(subject, subject.registry.get('webhooks'), 'update'),
    body: body(schemaRef('WebhookChange')),
    success: reply('The webhook.', schemaRef('MadeWebhook'), schemaRef('WriteMeta'), tag),
  },
  {
    action: 'webhooks:test',
    summary: 'Send a message to a webhook now',
    may: granted(['webhooks', 'update']),
    parameters: [numbered('webhook', 1)],
    success: reply('Whether it arrived.', schemaRef('WebhookTest')),
  },
  {
    action: 'webhooks:replay',
    summary: 'Send again what was given up, or the deliveries named',
    may: granted(['webhooks', 'update']),
    parameters: [numbered('webhook', 1)],
    body: body(schemaRef('WebhookReplay'), false),
    success: reply('How many are sent again.', whole),
  },
];

const webhookProperties: Readonly<Record<string, JsonSchema>> = {
  url: { type: 'string', pattern: '^https?://', maxLength: 2000 },
  events: {
    ...listOf({ type: 'string', description: 'orders.created, orders.*, or * for all.' }),
    minItems: 1,
    maxItems: 50,
  },
  filter: { type: ['object', 'null'], description: 'Which records of the one collection that the events name.' },
  role: { anyOf: [text, object({ name: text }, ['name'])], description: 'It is sent what this role may read.' },
  enabled: truth,
  secret: { type: ['string', 'null'], writeOnly: true, description: 'whsec_ and 24 to 64 bytes in base64.' },
};
const webhookExample = { url: 'https://example.com/hook', events: ['orders.*'], role: 'viewer' };

/** Schemas for those who manage webhooks. */
export const webhookSchemas: Readonly<Record<string, JsonSchema>> = {
  NewWebhook: { ...object(webhookProperties, ['url', 'events', 'role']), examples: [webhookExample] },
  WebhookChange: object(webhookProperties),
  MadeWebhook: {
    type: 'object',
    properties: { id: whole, secret: { type: 'string', description: 'Shown on create and never again.' } },
    required: ['id'],
  },
  WebhookTest: object({ delivered: truth, status: { type: ['integer', 'null'] }, error: textOrNull }, [
    'delivered',
    'status',
    'error',
  ]),
  WebhookReplay: object({ deliveries: { ...listOf({ type: ['integer', 'string'] }), maxItems: 1000 } }),
};
