/** The action that reports the activity of a server in the last hour. Only `main` has it. */
import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonReply } from './operation.ts';
import type { OperationDefinition } from './operation-definition.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';
import type { Subject } from './subject.ts';

/** Whether the document is about the administrators of the whole server. */
export function isServerAdmin({ application, caller }: Subject): boolean {
  return application === mainApplicationName && caller.role === adminRole;
}

export const activityOperations: readonly OperationDefinition[] = [
  {
    action: 'serverActivity:get',
    method: 'get',
    summary: 'Show what this server did in the last hour',
    description: 'Each server process counts its own requests, of all applications, since it started.',
    may: isServerAdmin,
    success: jsonReply('The activity.', schemaRef('ServerActivity')),
  },
];

const count = (description: string): JsonSchema => ({ type: 'integer', minimum: 0, description });
const milliseconds = (description: string): JsonSchema => ({ type: ['number', 'null'], description });
const counts = {
  requests: count('Requests below /api/ that were answered.'),
  refused: count('Of these, replies with a status of 400 to 499.'),
  failed: count('Of these, replies with a status of 500 or more.'),
};
const textOrNull: JsonSchema = { type: ['string', 'null'] };
const all = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  schema.object(properties, Object.keys(properties));

const minute = all({
  at: { ...schema.dateTime, description: 'The beginning of the minute.' },
  ...counts,
  p50: milliseconds('Median of the durations in milliseconds, estimated; null without requests.'),
  p99: milliseconds('The duration that 99 % of the requests did not exceed, in milliseconds, estimated.'),
});
const action = all({
  action: schema.string,
  ...counts,
  average: milliseconds('Average duration in milliseconds.'),
  p99: milliseconds('The duration that 99 % of the requests did not exceed, in milliseconds, estimated.'),
});
const slowShape = all({
  application: textOrNull,
  action: schema.string,
  resource: { ...textOrNull, description: 'Null if the request was refused.' },
  shape: { ...textOrNull, description: 'Names and operators of the request, without values.' },
  requests: count('Requests that took at least SLOW_REQUEST_MS.'),
  slowest: count('Milliseconds of the slowest one.'),
  lastAt: schema.dateTime,
});
const numbers = (...names: readonly string[]): JsonSchema =>
  all(Object.fromEntries(names.map((name) => [name, schema.integer])));
const size: JsonSchema = { type: ['integer', 'null'], description: 'Bytes; null if the size could not be read.' };

/** Schemas for administrators of the server. */
export const activitySchemas: Readonly<Record<string, JsonSchema>> = {
  ServerActivity: all({
    server: { ...schema.string, description: 'The host and process.' },
    startedAt: schema.dateTime,
    minutes: { ...schema.array(minute), description: 'At most 61, the oldest first; the last one is not over yet.' },
    actions: { ...schema.array(action), description: 'The 20 actions with the largest total duration, in this order.' },
    slow: { ...schema.array(slowShape), description: 'The 20 slowest shapes.' },
    now: numbers(
      'requestsInProgress',
      'connections',
      'realtimeConnections',
      'writesQueued',
      'databaseConnectionsWaiting',
      'readerThreads',
      'applicationsOpen',
      'importsRunning',
      'memoryBytes',
    ),
    sinceStart: numbers(
      'importsEnded',
      'webhooksDelivered',
      'webhooksFailed',
      'mailReceived',
      'mailAccepted',
      'mailFailed',
      'statementsTimedOut',
    ),
    storage: all({ databaseBytes: size, logBytes: size, freeBytes: size }),
    problems: schema.array({ type: 'object' }),
  }),
};
