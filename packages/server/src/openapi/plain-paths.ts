/** Plain style, which only mail has: the same operations under `/api/<resource>` and `/api/<resource>/{key}`, by method. */

import { isMailResource, mailResources } from '../mail/collections/mail-resources.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { plainParameters } from './mail-parameters.ts';
import { type Operation, toOperationObject } from './operation.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import type { Subject } from './subject.ts';

/** The action of each method, for all records and for one. */
const collectionMethods = { get: ['list'], post: ['saveDraft', 'create'] } as const;
const recordMethods = { get: ['get'], patch: ['update'], put: ['update'], delete: ['destroy'] } as const;

const keyPathParameter: Parameter = {
  name: 'key',
  in: 'path',
  required: true,
  description: 'The id of the record.',
  schema: { type: 'integer' },
};
/** The path items of plain style, for the operations that a role may do. */
export function buildPlainPaths(operations: readonly Operation[], subject: Subject): Record<string, JsonSchema> {
  const paths: Record<string, JsonSchema> = {};
  for (const resource of mailResources) {
    const operationsById = new Map(operations.filter(({ tag }) => tag === resource).map((each) => [each.id, each]));
    const makeItem = (
      methods: Readonly<Record<string, readonly string[]>>,
      pathParameters: readonly Parameter[],
    ): JsonSchema | null => {
      const found = Object.entries(methods).flatMap(([method, actions]) => {
        const operation = actions
          .map((action) => operationsById.get(`${resource}.${action}`))
          .find((each) => each !== undefined);
        return operation
          ? [
              [
                method,
                toOperationObject(toPlainOperation(operation, method, pathParameters.length > 0), subject),
              ] as const,
            ]
          : [];
      });
      return found.length === 0
        ? null
        : { parameters: [parameterRef('X-App'), ...pathParameters], ...Object.fromEntries(found) };
    };
    for (const [path, found] of [
      [`/api/${resource}`, makeItem(collectionMethods, [])],
      [`/api/${resource}/{key}`, makeItem(recordMethods, [keyPathParameter])],
    ] as const)
      if (found) paths[path] = found;
  }
  return paths;
}

/** Whether an operation has a plain path. */
export function hasPlainPath({ tag }: Operation): boolean {
  return isMailResource(tag);
}

function toPlainOperation(operation: Operation, method: string, isOne: boolean): Operation {
  const parameters = operation.parameters.filter((each) => !isOne || each.name !== 'filterByTk');
  const extraParameter = plainParameters[operation.id];
  return {
    ...operation,
    // Only POST supports an Idempotency-Key.
    method: method === 'post' ? 'post' : 'get',
    id: `${operation.id}.${method}`,
    parameters: extraParameter ? [...parameters, extraParameter] : parameters,
  };
}
