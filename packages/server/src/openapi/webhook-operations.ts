/** The actions of webhooks that return a secret or send messages. The others are record actions. */
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { etagHeader, hasGrants, idParameter, type OperationDefinition } from './operation-definition.ts';
import { parametersFor } from './record-operations.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

const oneOrList = (name: string): JsonSchema => ({ anyOf: [schemaRef(name), schema.array(schemaRef(name))] });

export const webhookOperations: readonly OperationDefinition[] = [
  {
    action: 'webhooks:create',
    summary: 'Create a webhook',
    may: hasGrants(['webhooks', 'create']),
    parameters: (subject) => parametersFor(subject, subject.registry.get('webhooks'), 'create'),
    body: jsonBody(oneOrList('NewWebhook')),
    success: jsonReply(
      'The webhook. A generated secret is shown only once.',
      oneOrList('MadeWebhook'),
      schemaRef('WriteMeta'),
      etagHeader,
    ),
  },
  {
    action: 'webhooks:update',
    summary: 'Change a webhook',
    may: hasGrants(['webhooks', 'update']),
    parameters: (subject) => parametersFor(subject, subject.registry.get('webhooks'), 'update'),
    body: jsonBody(schemaRef('WebhookChange')),
    success: jsonReply('The webhook.', schemaRef('MadeWebhook'), schemaRef('WriteMeta'), etagHeader),
  },
  {
    action: 'webhooks:test',
    summary: 'Send a test message to a webhook now',
    may: hasGrants(['webhooks', 'update']),
    parameters: [idParameter('webhook', 1)],
    success: jsonReply('Whether the message arrived.', schemaRef('WebhookTest')),
  },
  {
    action: 'webhooks:replay',
    summary: 'Send failed deliveries again, or the given ones',
    may: hasGrants(['webhooks', 'update']),
    parameters: [idParameter('webhook', 1)],
    body: jsonBody(schemaRef('WebhookReplay'), false),
    success: jsonReply('The number of deliveries that are sent again.', schema.integer),
  },
];

const webhookProperties: Readonly<Record<string, JsonSchema>> = {
  url: { type: 'string', pattern: '^https?://', maxLength: 2000 },
  events: {
    ...schema.array({ type: 'string', description: 'orders.created, orders.*, or * for all.' }),
    minItems: 1,
    maxItems: 50,
  },
  filter: { type: ['object', 'null'], description: 'Selects records, if all events are of one collection.' },
  role: {
    anyOf: [schema.string, schema.complete({ name: schema.string })],
    description: 'Messages contain what this role may read.',
  },
  enabled: schema.boolean,
  secret: { type: ['string', 'null'], writeOnly: true, description: 'whsec_ followed by 24 to 64 bytes in base64.' },
};
const webhookExample = { url: 'https://example.com/hook', events: ['orders.*'], role: 'viewer' };

/** Schemas for roles that manage webhooks. */
export const webhookSchemas: Readonly<Record<string, JsonSchema>> = {
  NewWebhook: { ...schema.object(webhookProperties, ['url', 'events', 'role']), examples: [webhookExample] },
  WebhookChange: schema.object(webhookProperties),
  MadeWebhook: {
    type: 'object',
    properties: { id: schema.integer, secret: { type: 'string', description: 'Shown only when it is created.' } },
    required: ['id'],
  },
  WebhookTest: schema.object(
    { delivered: schema.boolean, status: { type: ['integer', 'null'] }, error: schema.stringOrNull },
    ['delivered', 'status', 'error'],
  ),
  WebhookReplay: schema.object({ deliveries: { ...schema.array({ type: ['integer', 'string'] }), maxItems: 1000 } }),
};
