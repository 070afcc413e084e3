/** Events: read in pages, received in real time, and published. */
import { limits } from '../protocol/limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { etagHeader, isSignedIn, type OperationDefinition } from './operation-definition.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';
import type { Subject } from './subject.ts';

const queryParameter = (name: string, description: string, schema: JsonSchema): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});

/** For callers with a credential, and for everybody if the role `public` may get something. */
const maySubscribe = (subject: Subject): boolean =>
  isSignedIn(subject) || subject.registry.all().some(({ name }) => subject.findGrant(name, 'get') !== null);

export const eventOperations: readonly OperationDefinition[] = [
  {
    action: 'changes:list',
    method: 'get',
    summary: 'List the events that are visible to the role, oldest first',
    may: maySubscribe,
    parameters: [
      queryParameter('since', 'A cursor: return later events. Default: from the oldest stored event.', {
        type: 'string',
      }),
      queryParameter(
        'resource',
        'A collection, or the first word of the name of published events (404 if neither exists). Required without a credential.',
        {
          type: 'string',
        },
      ),
      queryParameter('wait', 'Seconds to wait for an event if there is none.', {
        type: 'integer',
        minimum: 0,
        maximum: limits.waitSeconds,
        default: 0,
      }),
      queryParameter('pageSize', 'Maximum number of events on the page.', {
        type: 'integer',
        minimum: 1,
        maximum: limits.maxPageSize,
        default: limits.pageSizeDefault,
      }),
    ],
    success: jsonReply('The events.', schema.array(schemaRef('Event')), schemaRef('EventMeta'), etagHeader),
    notModified: true,
  },
  {
    action: 'changes:publish',
    summary: 'Publish an event',
    may: isSignedIn,
    body: jsonBody(schemaRef('NewEvent')),
    success: jsonReply('The name and time of the event, which is durable.', schemaRef('PublishedEvent')),
  },
  {
    action: 'realtime:listen',
    method: 'get',
    summary: 'Receive events in real time: Server-Sent Events, or a WebSocket by upgrade',
    may: maySubscribe,
    parameters: [
      queryParameter(
        'resource',
        'A collection, the first word of the name of published events (404 if neither exists), or * for all.',
        {
          type: 'string',
        },
      ),
      parameterRef('filter'),
      queryParameter('since', 'A cursor: send later events. Default: only new events.', { type: 'string' }),
      queryParameter('values', 'Whether events include the record as get shows it.', {
        type: 'boolean',
        default: false,
      }),
    ],
    success: {
      description:
        'The messages are subscribed {cursor}, event, resync {cursor} (events were lost: reload) and error. id is the cursor.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
  },
];

/** Schemas of every document, because `public` may receive events too. */
export const eventSchemas: Readonly<Record<string, JsonSchema>> = {
  Event: schema.object(
    {
      cursor: { type: 'string', description: 'The value for "since" to get the events after this one.' },
      at: schema.dateTime,
      name: { type: 'string', examples: ['orders.created', 'campaign.sent'] },
      resource: schema.string,
      tk: { ...schema.stringOrNull, description: 'The key of the record.' },
      actor: { ...schema.stringOrNull, description: 'user:<id> or apiKey:<id>.' },
      requestId: schema.stringOrNull,
      changed: { ...schema.array(schema.string), description: 'The fields that the write has set.' },
      payload: { description: 'The payload of a published event.' },
    },
    ['cursor', 'at', 'name', 'resource', 'tk', 'actor', 'requestId', 'changed'],
  ),
  EventMeta: schema.object(
    {
      nextCursor: { type: 'string', description: 'The value for "since" in the next request.' },
      hasNext: { type: 'boolean', description: 'Whether there may be more events already.' },
      resync: { const: true, description: 'Events after "since" were lost: reload the records.' },
    },
    ['nextCursor', 'hasNext'],
  ),
  NewEvent: {
    ...schema.object(
      {
        name: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9]{0,59}\\.[A-Za-z][A-Za-z0-9]{0,59}$' },
        payload: { description: 'At most 64 KiB.' },
      },
      ['name'],
    ),
    examples: [{ name: 'campaign.sent', payload: { recipients: 12 } }],
  },
  PublishedEvent: schema.complete({ name: schema.string, at: schema.dateTime }),
};
