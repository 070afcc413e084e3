import type { JsonSchema } from '../schema/field-type.ts';
import { errorRefs, type Responses } from './error-responses.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import type { Subject } from './subject.ts';

/** One operation, without its path in the document. */
export interface Operation {
  /** `get` or `post`. */
  readonly method: 'get' | 'post';
  readonly path: string;
  /** Such as `posts.tags.add`. Names contain no dots, so ids are unique. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly body?: JsonSchema;
  readonly success: JsonSchema;
  readonly notModified?: boolean;
  /** Other successful responses, by status. */
  readonly also?: Readonly<Record<number, JsonSchema>>;
  readonly errors: 'read' | 'write' | 'match';
  /** Whether it needs no credential. */
  readonly open?: boolean;
}

const idempotencyKeyParameter = parameterRef('Idempotency-Key');

/** Path parameters and the application, which are defined once for all methods of a path. */
export function makePathItem(
  operation: Operation,
  pathParameters: readonly Parameter[],
  subject: Subject,
): [string, JsonSchema] {
  const { method, path } = operation;
  return [
    path,
    { parameters: [parameterRef('X-App'), ...pathParameters], [method]: toOperationObject(operation, subject) },
  ];
}

/** An operation in its path. */
export function toOperationObject(operation: Operation, { statuses, caller }: Subject): JsonSchema {
  const { method, id, tag, summary, description, parameters, body, success, notModified, also, errors, open } =
    operation;
  const allParameters =
    method === 'post' && errors !== 'read' && caller.type !== 'anonymous'
      ? [...parameters, idempotencyKeyParameter]
      : parameters;
  const isPublic = open && caller.type !== 'anonymous';
  const responses: Responses = {
    200: success,
    ...(notModified && { 304: { $ref: '#/components/responses/NotModified' } }),
    ...also,
    ...errorRefs(errors, statuses),
  };
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(allParameters.length > 0 && { parameters: allParameters }),
    ...(body !== undefined && { requestBody: body }),
    responses,
    ...(isPublic && { security: [] }),
  };
}

/** A reference to a response of the document. */
export function responseRef(name: string): JsonSchema {
  return { $ref: `#/components/responses/${name}` };
}

/** A reply of `{data}`, with `meta` if its schema is given. */
export function jsonReply(description: string, data: JsonSchema, meta?: JsonSchema, headers?: JsonSchema): JsonSchema {
  const schema = {
    type: 'object',
    properties: { data, ...(meta && { meta }) },
    required: ['data'],
    additionalProperties: false,
  };
  return { description, ...(headers && { headers }), content: { 'application/json': { schema } } };
}

/** A reply with a list; with paginate=false also as NDJSON. */
export function jsonListReply(description: string, items: JsonSchema, headers?: JsonSchema): JsonSchema {
  const page = jsonReply(description, { type: 'array', items }, schemaRef('ListMeta'), headers);
  const lines = {
    'application/x-ndjson': { schema: { type: 'string', description: 'One record per line, with paginate=false.' } },
  };
  return { ...page, content: { ...(page['content'] as object), ...lines } };
}

/** A JSON body. */
export function jsonBody(schema: JsonSchema, required = true): JsonSchema {
  return { required, content: { 'application/json': { schema } } };
}

/** The body of an action whose parameters can be in the query or in the body. */
export const parametersBody: JsonSchema = jsonBody(
  { type: 'object', description: 'Parameters, instead of those of the query.' },
  false,
);
