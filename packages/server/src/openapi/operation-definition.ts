/** Operations that are written down by hand, beside those that a collection's definition makes. */
import type { JsonSchema } from '../schema/field-type.ts';
import type { Operation } from './operation.ts';
import type { Parameter } from './parameters.ts';
import { findAllGrants, type Subject } from './subject.ts';

/** An operation that is written down, for those who may do it. */
export interface OperationDefinition {
  /** `auth:startSignIn`; below a collection `collections/fields:list`. */
  readonly action: string;
  readonly method?: 'get' | 'post';
  readonly summary: string;
  /** What is not seen in its schemas. */
  readonly description?: string;
  may(subject: Subject): boolean;
  readonly parameters?: readonly Parameter[] | ((subject: Subject) => readonly Parameter[]);
  readonly body?: JsonSchema;
  readonly success: JsonSchema;
  readonly notModified?: boolean;
  /** Takes If-Match. */
  readonly matches?: true;
  /** Other ways to succeed, by status. */
  readonly also?: Readonly<Record<number, JsonSchema>>;
  /** Needs no credential. */
  readonly open?: boolean;
}

export const etagHeader: JsonSchema = { ETag: { $ref: '#/components/headers/ETag' } };
export const oneSchema: JsonSchema = { const: 1 };

export const allowEveryone = (): boolean => true;
export const isSignedIn = ({ caller }: Subject): boolean => caller.type !== 'anonymous';
/** A user who has signed in; a key is none. */
export const hasSession = ({ caller }: Subject): boolean => caller.type === 'session';
/** Whoever has all of the grants, each a resource and an action. */
export const hasGrants =
  (...requiredGrants: readonly (readonly [string, string])[]) =>
  (subject: Subject): boolean =>
    requiredGrants.every(([resource, action]) => findAllGrants(subject, resource, [action]) !== null);

/** `filterByTk` for what has a name. */
export function nameParameter(subjectName: string, example: string): Parameter {
  const description = `The name of the ${subjectName}.`;
  return { name: 'filterByTk', in: 'query', required: true, description, schema: { type: 'string' }, example };
}

/** `filterByTk` for what has a number. */
export function idParameter(subjectName: string, example: number): Parameter {
  const schema = { type: 'integer', minimum: 1 };
  return {
    name: 'filterByTk',
    in: 'query',
    required: true,
    description: `The id of the ${subjectName}.`,
    schema,
    example,
  };
}

/** Operations that are called by another path than their action's. */
const customPaths: Readonly<Record<string, string>> = { 'realtime:listen': '/api/realtime' };

/** As the document has it. */
export function toOperation(definition: OperationDefinition, subject: Subject): Operation {
  const { action, method = 'post', parameters = [], may: _, matches, ...rest } = definition;
  const isNested = action.startsWith('collections/');
  const [resource = '', name = ''] = action.split(':');
  return {
    ...rest,
    method,
    path: isNested ? `/api/collections/{collection}/fields:${name}` : (customPaths[action] ?? `/api/${action}`),
    id: `${resource.replace('/', '.')}.${name}`,
    tag: isNested ? 'fields' : resource,
    parameters: typeof parameters === 'function' ? parameters(subject) : parameters,
    errors: method === 'get' ? 'read' : matches ? 'match' : 'write',
  };
}
