/** Operations of system actions, in addition to those that are generated for collections. */
import type { JsonSchema } from '../schema/field-type.ts';
import type { Operation } from './operation.ts';
import type { Parameter } from './parameters.ts';
import { findAllGrants, type Subject } from './subject.ts';

/** The definition of one operation, and who may use it. */
export interface OperationDefinition {
  /** `auth:startSignIn`; below a collection `collections/fields:list`. */
  readonly action: string;
  readonly method?: 'get' | 'post';
  readonly summary: string;
  /** What the schemas do not express. */
  readonly description?: string;
  may(subject: Subject): boolean;
  readonly parameters?: readonly Parameter[] | ((subject: Subject) => readonly Parameter[]);
  readonly body?: JsonSchema;
  readonly success: JsonSchema;
  readonly notModified?: boolean;
  /** Whether it supports If-Match. */
  readonly matches?: true;
  /** Other successful responses, by status. */
  readonly also?: Readonly<Record<number, JsonSchema>>;
  /** Whether it needs no credential. */
  readonly open?: boolean;
}

export const etagHeader: JsonSchema = { ETag: { $ref: '#/components/headers/ETag' } };
export const oneSchema: JsonSchema = { const: 1 };

/** For every caller, also without a credential. */
export const allowEveryone = (): boolean => true;
/** For callers with a credential. */
export const isSignedIn = ({ caller }: Subject): boolean => caller.type !== 'anonymous';
/** For users who have signed in, but not for API keys. */
export const hasSession = ({ caller }: Subject): boolean => caller.type === 'session';
/** For roles with all of the permissions, each a resource and an action. */
export const hasGrants =
  (...requiredGrants: readonly (readonly [string, string])[]) =>
  (subject: Subject): boolean =>
    requiredGrants.every(([resource, action]) => findAllGrants(subject, resource, [action]) !== null);

/** The parameter `filterByTk` of resources with names. */
export function nameParameter(subjectName: string, example: string): Parameter {
  const description = `The name of the ${subjectName}.`;
  return { name: 'filterByTk', in: 'query', required: true, description, schema: { type: 'string' }, example };
}

/** The parameter `filterByTk` of resources with ids. */
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

/** Operations whose path differs from their action. */
const customPaths: Readonly<Record<string, string>> = { 'realtime:listen': '/api/realtime' };

/** Converts the definition to an operation of the document. */
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
