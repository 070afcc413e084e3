/** Building blocks of the schemas of system actions. */
import type { JsonSchema } from '../schema/field-type.ts';

export const stringSchema: JsonSchema = { type: 'string' };
export const stringOrNullSchema: JsonSchema = { type: ['string', 'null'] };
export const booleanSchema: JsonSchema = { type: 'boolean' };
export const integerSchema: JsonSchema = { type: 'integer' };
export const numberSchema: JsonSchema = { type: 'number' };
export const dateTimeSchema: JsonSchema = { type: 'string', format: 'date-time' };
export const dateTimeOrNullSchema: JsonSchema = { type: ['string', 'null'], format: 'date-time' };
export const identifierSchema: JsonSchema = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]{0,59}$' };

/** An object with these properties and no others. */
export function objectSchema(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

/** An array of items with one schema. */
export function arraySchema(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}
