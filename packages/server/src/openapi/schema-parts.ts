/**
 * Building blocks of the schemas of system actions, imported as a whole:
 *
 *     import * as schema from './schema-parts.ts';
 *     schema.object({ id: schema.integer, roles: schema.array(schema.string) }, ['id']);
 */
import type { JsonSchema } from '../schema/field-type.ts';

export const string: JsonSchema = { type: 'string' };
export const stringOrNull: JsonSchema = { type: ['string', 'null'] };
export const boolean: JsonSchema = { type: 'boolean' };
export const integer: JsonSchema = { type: 'integer' };
export const number: JsonSchema = { type: 'number' };
export const dateTime: JsonSchema = { type: 'string', format: 'date-time' };
export const dateTimeOrNull: JsonSchema = { type: ['string', 'null'], format: 'date-time' };
export const identifierName: JsonSchema = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]{0,59}$' };

/** An object with these properties and no others. */
export function object(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

/** An object with all of these properties and no others. */
export function complete(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return object(properties, Object.keys(properties));
}

/** An array of items with one schema. */
export function array(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}
