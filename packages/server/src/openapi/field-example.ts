import type { FieldDefinition } from '../protocol/definition.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import type { Field } from '../schema/registry.ts';

const examplesByType: Readonly<Record<string, unknown>> = {
  email: 'ann@example.com',
  url: 'https://example.com/page',
  phone: '+4930123456',
  color: '#336699',
  uid: '019b0000-0000-7000-8000-000000000001',
  date: '2026-01-31',
  time: '12:30:00',
  datetime: '2026-01-31T12:30:00.000Z',
  boolean: true,
  json: {},
  array: [],
  password: 'correct horse battery',
};

/** A valid example value of a field; undefined if none is known, for example because of a pattern. */
export function makeExample({ type, definition }: Field, schema: JsonSchema): unknown {
  const choices = definition.enum?.slice(0, 1);
  if (type.name === 'file') return undefined;
  if (choices) return definition.multiple ? choices : choices[0];
  if (definition.dateOnly) return examplesByType['date'];
  if (type.name in examplesByType) return omitIfTooLong(examplesByType[type.name], schema);
  if (type.name === 'decimal') return decimalExample(definition, schema);
  const { defaultValue } = definition;
  if (defaultValue !== undefined && defaultValue !== null) return defaultValue;
  if (type.name === 'string' || type.name === 'text')
    return definition.pattern === undefined ? makeText(schema) : undefined;
  return clamp(1, schema);
}

function decimalExample({ precision = 18, scale = 2 }: FieldDefinition, schema: JsonSchema): string | undefined {
  const whole = precision > scale ? 1 : 0;
  if (clamp(whole, schema) !== whole) return undefined;
  return scale === 0 ? String(whole) : `${whole}.${'0'.repeat(scale)}`;
}

function makeText({ maxLength = 4 }: { maxLength?: number }): string {
  return 'text'.slice(0, maxLength);
}

function omitIfTooLong(value: unknown, { maxLength = Infinity }: { maxLength?: number }): unknown {
  return typeof value === 'string' && value.length > maxLength ? undefined : value;
}

function clamp(
  preferred: number,
  { minimum = preferred, maximum = preferred }: { minimum?: number; maximum?: number },
): number {
  return Math.max(minimum, Math.min(maximum, preferred));
}
