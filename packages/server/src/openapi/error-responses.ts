import { type ErrorLabel, errorCatalogue } from '../protocol/error-catalogue.ts';
import type { JsonSchema } from '../schema/field-type.ts';

type Statuses = Readonly<Record<ErrorLabel, number>>;
export type Responses = Readonly<Record<string, JsonSchema>>;

const commonLabels: readonly ErrorLabel[] = [
  'Bad Request',
  'Unauthorized',
  'Forbidden',
  'Not Found',
  'Payload Too Large',
  'Unsupported Media Type',
  'Too Many Requests',
  'Headers Too Large',
  'Internal Server Error',
  'Service Unavailable',
];
const writeLabels: readonly ErrorLabel[] = [...commonLabels, 'Conflict', 'Validation Error'];

type ErrorKind = 'read' | 'write' | 'match';

const labelsByKind: Readonly<Record<ErrorKind, readonly ErrorLabel[]>> = {
  read: commonLabels,
  write: writeLabels,
  match: [...writeLabels, 'Precondition Failed'],
};
const cachedRefs = new WeakMap<Statuses, Map<ErrorKind, Responses>>();

/** The error responses by status, as references: of a read, of a write, and of a write with If-Match. */
export function errorRefs(kind: ErrorKind, statuses: Statuses): Responses {
  const byKind = cachedRefs.get(statuses) ?? new Map<ErrorKind, Responses>();
  cachedRefs.set(statuses, byKind);
  let refs = byKind.get(kind);
  if (!refs) {
    refs = Object.fromEntries(
      labelsByKind[kind].map((label) => [
        String(statuses[label]),
        { $ref: `#/components/responses/${responseName(label)}` },
      ]),
    );
    byKind.set(kind, refs);
  }
  return refs;
}

/** The shape of every error. */
export const errorSchema: JsonSchema = {
  type: 'object',
  properties: {
    error: { type: 'string', description: 'The label.' },
    message: { type: 'string', description: 'What is wrong, and the cure.' },
    details: {
      type: 'object',
      description: 'Messages by field or path in the body.',
      additionalProperties: { type: 'string' },
    },
    errors: {
      type: 'array',
      description: 'Of an import: the rows that are refused.',
      items: { $ref: '#/components/schemas/RowError' },
    },
    code: { type: 'string', description: 'The stable code of the error.' },
    requestId: { type: 'string' },
    retryAfter: { type: 'integer', description: 'Seconds to wait before trying again.' },
  },
  required: ['error', 'message', 'code', 'requestId'],
  additionalProperties: false,
};

/** A response for each status, with its error codes. */
export function errorResponses(statuses: Statuses): Record<string, JsonSchema> {
  const entries = Object.entries(errorCatalogue);
  const byStatus = Map.groupBy(entries, ([, { label }]) => statuses[label]);
  return Object.fromEntries([...byStatus].map(([, group]) => [responseName(group[0]![1].label), makeResponse(group)]));
}

/** The headers of errors. */
export const errorHeaders: Readonly<Record<string, JsonSchema>> = {
  'Retry-After': { description: 'Seconds to wait before trying again.', schema: { type: 'integer', minimum: 1 } },
  RateLimit: {
    description:
      'The limit that was reached: r is the number of remaining requests, t the seconds until more are available.',
    schema: { type: 'string', pattern: '^"[a-z-]+";r=\\d+;t=\\d+$' },
    example: '"credential";r=0;t=3',
  },
  'RateLimit-Policy': {
    description: 'The policy of the limit: q requests in w seconds.',
    schema: { type: 'string', pattern: '^"[a-z-]+";q=\\d+;w=\\d+$' },
    example: '"credential";q=6000;w=10',
  },
  'WWW-Authenticate': { description: 'The authentication scheme.', schema: { const: 'Bearer' } },
};
const headersByLabel: Readonly<Partial<Record<ErrorLabel, readonly string[]>>> = {
  Unauthorized: ['WWW-Authenticate'],
  Conflict: ['Retry-After'],
  'Too Many Requests': ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  'Service Unavailable': ['Retry-After'],
};

function makeHeaders(label: ErrorLabel): { headers?: JsonSchema } {
  const names = headersByLabel[label];
  if (!names) return {};
  return { headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])) };
}

function makeResponse(group: readonly (readonly [string, { label: ErrorLabel; when: string }])[]): JsonSchema {
  const labels = [...new Set(group.map(([, { label }]) => label))];
  const codes = group.map(([code]) => code);
  const [code, { label, when }] = group[0]!;
  const schema = {
    $ref: '#/components/schemas/Error',
    properties: { error: { enum: labels }, code: { enum: codes } },
  };
  const example = {
    error: label,
    message: when,
    ...(label === 'Validation Error' && { details: { title: 'This field is required.' } }),
    code,
    requestId: '0b6f1a9e-6f0f-4b57-9a43-6f0f4b579a43',
    ...(label === 'Too Many Requests' && { retryAfter: 3 }),
  };
  return {
    description: group.map(([each, entry]) => `${each}: ${entry.when}`).join('\n\n'),
    ...makeHeaders(label),
    content: { 'application/json': { schema, example } },
  };
}

/** Two labels share a status: the response is named after one of them. */
function responseName(label: ErrorLabel): string {
  return (label === 'No permissions' ? 'Forbidden' : label).replaceAll(' ', '');
}
