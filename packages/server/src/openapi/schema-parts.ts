/** What the schemas that are written by hand are put together from. */
import type { JsonSchema } from '../schema/field-type.ts';

export const text: JsonSchema = { type: 'string' };
export const textOrNull: JsonSchema = { type: ['string', 'null'] };
export const truth: JsonSchema = { type: 'boolean' };
export const whole: JsonSchema = { type: 'integer' };
export const number: JsonSchema = { type: 'number' };
export const moment: JsonSchema = { type: 'string', format: 'date-time' };
export const momentOrNull: JsonSchema = { type: ['string', 'null'], format: 'date-time' };
export const name: JsonSchema = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]{0,59}$' };

/** An object of these members and no others. */
export function object(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

export function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}
