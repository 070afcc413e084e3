/** Operations that are written down by hand, beside those that a collection's definition makes. */
import type { JsonSchema } from '../schema/field-type.ts';
import type { Operation } from './operation.ts';
import type { Parameter } from './parameters.ts';
import { grantsFor, type Subject } from './subject.ts';

/** An operation that is written down, for those who may do it. */
export interface WrittenOperation {
  /** `auth:signIn`; below a collection `collections/fields:list`. */
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

export const tag: JsonSchema = { ETag: { $ref: '#/components/headers/ETag' } };
export const one: JsonSchema = { const: 1 };

export const everybody = (): boolean => true;
export const signedIn = ({ caller }: Subject): boolean => caller.type !== 'anonymous';
/** A user who has signed in; a key is none. */
export const inSession = ({ caller }: Subject): boolean => caller.type === 'session';
/** Whoever has all of the grants, each a resource and an action. */
export const granted =
  (...needed: readonly (readonly [string, string])[]) =>
  (subject: Subject): boolean =>
    needed.every(([resource, action]) => grantsFor(subject, resource, [action]) !== null);

/** `filterByTk` for what has a name. */
export function named(what: string, example: string): Parameter {
  const description = `The name of the ${what}.`;
  return { name: 'filterByTk', in: 'query', required: true, description, schema: { type: 'string' }, example };
}

/** `filterByTk` for what has a number. */
export function numbered(what: string, example: number): Parameter {
  const schema = { type: 'integer', minimum: 1 };
  return { name: 'filterByTk', in: 'query', required: true, description: `The id of the ${what}.`, schema, example };
}

/** Operations that are called by another path than their action's. */
const ownPaths: Readonly<Record<string, string>> = { 'realtime:listen': '/api/realtime' };

/** As the document has it. */
export function operationOf(written: WrittenOperation, subject: Subject): Operation {
  const { action, method = 'post', parameters = [], may: _, matches, ...rest } = written;
  const below = action.startsWith('collections/');
  const [resource = '', name = ''] = action.split(':');
  return {
    ...rest,
    method,
    path: below ? `/api/collections/{collection}/fields:${name}` : (ownPaths[action] ?? `/api/${action}`),
    id: `${resource.replace('/', '.')}.${name}`,
    tag: below ? 'fields' : resource,
    parameters: typeof parameters === 'function' ? parameters(subject) : parameters,
    errors: method === 'get' ? 'read' : matches ? 'match' : 'write',
  };
}
