/** Events: read in pages, heard as they come, made. */
import { limits } from '../protocol/limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { etagHeader, isSignedIn, type OperationDefinition } from './operation-definition.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import { arraySchema, dateTimeSchema, objectSchema, stringOrNullSchema, stringSchema } from './schema-parts.ts';
import type { Subject } from './subject.ts';

const queryParameter = (name: string, description: string, schema: JsonSchema): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});

/** Whoever has proved who they are, and everybody where `public` may get something. */
const maySubscribe = (subject: Subject): boolean =>
  isSignedIn(subject) || subject.registry.all().some(({ name }) => subject.findGrant(name, 'get') !== null);

export const eventOperations: readonly OperationDefinition[] = [
  {
    action: 'changes:list',
    method: 'get',
    summary: 'Events that the role may see, oldest first',
    may: maySubscribe,
    parameters: [
      queryParameter('since', 'A cursor; what comes after it. Without it from the oldest kept event on.', {
        type: 'string',
      }),
      queryParameter(
        'resource',
        'A collection, or the first word of published events (404 where neither exists). Needed without a credential.',
        {
          type: 'string',
        },
      ),
      queryParameter('wait', 'Seconds to wait for an event where there is none.', {
        type: 'integer',
        minimum: 0,
        maximum: limits.waitSeconds,
        default: 0,
      }),
      queryParameter('pageSize', 'Events on the page.', {
        type: 'integer',
        minimum: 1,
        maximum: limits.maxPageSize,
        default: limits.pageSizeDefault,
      }),
    ],
    success: jsonReply('The events.', arraySchema(schemaRef('Event')), schemaRef('EventMeta'), etagHeader),
    notModified: true,
  },
  {
    action: 'changes:publish',
    summary: 'Publish an event',
    may: isSignedIn,
    body: jsonBody(schemaRef('NewEvent')),
    success: jsonReply('Its name and moment; it is durable.', schemaRef('PublishedEvent')),
  },
  {
    action: 'realtime:listen',
    method: 'get',
    summary: 'Events as they come: Server-Sent Events, or a WebSocket by upgrade',
    may: maySubscribe,
    parameters: [
      queryParameter(
        'resource',
        'A collection, the first word of published events (404 where neither exists), or * for all.',
        {
          type: 'string',
        },
      ),
      parameterRef('filter'),
      queryParameter('since', 'A cursor; what comes after it. Without it what comes from now on.', { type: 'string' }),
      queryParameter('values', 'With the record as get shows it.', { type: 'boolean', default: false }),
    ],
    success: {
      description:
        'Messages subscribed {cursor}, event, resync {cursor} (read again, go on from there) and error. id is the cursor.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
  },
];

/** Schemas of every document: also `public` may hear of something. */
export const eventSchemas: Readonly<Record<string, JsonSchema>> = {
  Event: objectSchema(
    {
      cursor: { type: 'string', description: 'For since: what comes after this event.' },
      at: dateTimeSchema,
      name: { type: 'string', examples: ['orders.created', 'campaign.sent'] },
      resource: stringSchema,
      tk: { ...stringOrNullSchema, description: 'The key of the record.' },
      actor: { ...stringOrNullSchema, description: 'user:<id> or apiKey:<id>.' },
      requestId: stringOrNullSchema,
      changed: { ...arraySchema(stringSchema), description: 'Fields that were named.' },
      payload: { description: 'Of a published event.' },
    },
    ['cursor', 'at', 'name', 'resource', 'tk', 'actor', 'requestId', 'changed'],
  ),
  EventMeta: objectSchema(
    {
      nextCursor: { type: 'string', description: 'For since, the next time.' },
      hasNext: { type: 'boolean', description: 'There may be more at once.' },
      resync: { const: true, description: 'The log cannot go on from since: read the records again.' },
    },
    ['nextCursor', 'hasNext'],
  ),
  NewEvent: {
    ...objectSchema(
      {
        name: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9]{0,59}\\.[A-Za-z][A-Za-z0-9]{0,59}$' },
        payload: { description: 'At most 64 KiB.' },
      },
      ['name'],
    ),
    examples: [{ name: 'campaign.sent', payload: { recipients: 12 } }],
  },
  PublishedEvent: objectSchema({ name: stringSchema, at: dateTimeSchema }, ['name', 'at']),
};
