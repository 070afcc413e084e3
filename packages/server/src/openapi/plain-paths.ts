/** Plain style, which mail alone has: the same operations under `/api/emails` and `/api/emails/{key}`, by method. */

import type { JsonSchema } from '../schema/field-type.ts';
import { isMailResource, mailResources } from '../schema/mail-collections.ts';
import { describe, type Operation } from './operation.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import type { Subject } from './subject.ts';

/** Which action a method means, on all records and on one. */
const ofAll = { get: ['list'], post: ['saveDraft', 'create'] } as const;
const ofOne = { get: ['get'], patch: ['update'], put: ['update'], delete: ['destroy'] } as const;

const key: Parameter = {
  name: 'key',
  in: 'path',
  required: true,
  description: 'The id of the record.',
  schema: { type: 'integer' },
};
/** What plain style adds to an action. */
const added: Readonly<Record<string, Parameter>> = {
  'attachments.get': {
    name: 'meta',
    in: 'query',
    description: 'What is known of it, not its bytes.',
    schema: { enum: ['1'] },
  },
  'emails.get': { name: 'raw', in: 'query', description: 'The message as it came.', schema: { enum: ['1'] } },
};

/** The path items of plain style, for the operations that a role may do. */
export function plainPaths(operations: readonly Operation[], subject: Subject): Record<string, JsonSchema> {
  const paths: Record<string, JsonSchema> = {};
  for (const resource of mailResources) {
    const own = new Map(operations.filter(({ tag }) => tag === resource).map((each) => [each.id, each]));
    const item = (
      methods: Readonly<Record<string, readonly string[]>>,
      inPath: readonly Parameter[],
    ): JsonSchema | null => {
      const found = Object.entries(methods).flatMap(([method, actions]) => {
        const operation = actions.map((action) => own.get(`${resource}.${action}`)).find((each) => each !== undefined);
        return operation ? [[method, describe(plain(operation, method, inPath.length > 0), subject)] as const] : [];
      });
      return found.length === 0
        ? null
        : { parameters: [parameterRef('X-App'), ...inPath], ...Object.fromEntries(found) };
    };
    for (const [path, found] of [
      [`/api/${resource}`, item(ofAll, [])],
      [`/api/${resource}/{key}`, item(ofOne, [key])],
    ] as const)
      if (found) paths[path] = found;
  }
  return paths;
}

/** Whether an operation has a plain spelling at all. */
export function isPlain({ tag }: Operation): boolean {
  return isMailResource(tag);
}

function plain(operation: Operation, method: string, isOne: boolean): Operation {
  const parameters = operation.parameters.filter((each) => !isOne || each.name !== 'filterByTk');
  const more = added[operation.id];
  return {
    ...operation,
    // An Idempotency-Key counts for POST alone.
    method: method === 'post' ? 'post' : 'get',
    id: `${operation.id}.${method}`,
    parameters: more ? [...parameters, more] : parameters,
  };
}
