import type { JsonSchema, ValidationSchema } from '../schema/field-type.ts';
import type { Field } from '../schema/registry.ts';
import { isNullable } from '../schema/value-schema.ts';
import { escapeMarkdown } from './escape-markdown.ts';

/** The direction of a value: replies have the canonical form, requests may have any accepted form. */
export type Direction = 'shown' | 'given';

type KeywordRule = (value: never, direction: Direction) => JsonSchema;

/** Translates rules of fields to JSON Schema (2020-12). Rules that it cannot express go into the description. */
const keywordRules: Readonly<Record<string, KeywordRule>> = {
  wellFormed: () => ({}),
  jsonValue: () => ({}),
  bigInt: () => ({ format: 'int64', pattern: '^-?\\d{1,19}$' }),
  // Generated numbers may exceed the bound.
  given: (size: number, way) => (way === 'given' ? { minimum: -size, maximum: size } : {}),
  // A bound with more digits than a JavaScript number can represent is text.
  least: (bound: number | string) =>
    typeof bound === 'number' ? { minimum: bound } : { description: `At least ${bound}.` },
  greatest: (bound: number | string) =>
    typeof bound === 'number' ? { maximum: bound } : { description: `At most ${bound}.` },
  decimal: decimalSchema,
  digits: (digits: Digits, way) => (way === 'given' ? { description: describeDigits(digits) } : {}),
  choices: (choices: readonly string[]) => ({ enum: choices }),
  choicesOf: (choices: readonly string[]) => ({ items: { type: 'string', enum: choices }, uniqueItems: true }),
  fileId: (_, way) => (way === 'given' ? givenFileSchema : shownFileSchema),
  fileIds: (maxItems: number, way) => ({
    type: 'array',
    items: way === 'given' ? givenFileSchema : shownFileSchema,
    ...(way === 'given' && { maxItems }),
  }),
  format: (name: string) => formats[name] ?? { format: name },
  pattern: (pattern: string) =>
    isPortable(pattern) ? { pattern } : { description: `RE2 pattern: ${escapeMarkdown(pattern)}` },
};

const givenFileSchema: JsonSchema = {
  type: ['integer', 'object'],
  minimum: 1,
  required: ['id'],
  properties: { id: { type: 'integer', minimum: 1 } },
  description: 'The id of a file that you have uploaded, or that a record refers to which you may get.',
};
/** A file in a reply. */
export const shownFileSchema: JsonSchema = {
  type: 'object',
  required: ['id', 'name', 'contentType', 'size', 'width', 'height', 'url'],
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    contentType: { type: 'string' },
    size: { type: 'integer', description: 'Bytes.' },
    width: { type: ['integer', 'null'], description: 'Of a picture, in pixels.' },
    height: { type: ['integer', 'null'] },
    url: { type: 'string', description: 'Path of the bytes on this server.' },
  },
};

interface Digits {
  readonly precision?: number;
  readonly scale?: number;
}

const formats: Readonly<Record<string, JsonSchema>> = {
  email: { format: 'idn-email' },
  url: { format: 'iri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' },
  phone: { pattern: '^\\+[1-9]\\d{1,14}$' },
  color: { pattern: '^#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$' },
  time: { format: 'time-local', pattern: '^\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,3})?)?$' },
};

const cachedSchemas = new WeakMap<Field, { shown?: JsonSchema; given?: JsonSchema }>();

/** The schema of a field's value, with null if the field allows it, without title and description. */
export function valueSchema(field: Field, direction: Direction): JsonSchema {
  const schemas = cachedSchemas.get(field) ?? {};
  cachedSchemas.set(field, schemas);
  schemas[direction] ??= makeSchema(field, direction);
  return schemas[direction];
}

function makeSchema(field: Field, direction: Direction): JsonSchema {
  const schema = toStandardSchema(field.type.validationSchema(field.definition), direction);
  const allowsNull = isNullable(field) && !(direction === 'shown' && field.notNull);
  if (allowsNull) return withNull(schema);
  return schema['type'] === undefined
    ? { type: ['object', 'array', 'string', 'number', 'boolean'], ...schema }
    : schema;
}

/** The same schema with standard keywords only. */
export function toStandardSchema(schema: ValidationSchema, direction: Direction): JsonSchema {
  const standard: Record<string, unknown> = {};
  const descriptions: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const rule = keywordRules[keyword];
    const { description, ...keywords } = rule ? rule(value as never, direction) : { [keyword]: value };
    Object.assign(standard, keywords);
    if (description !== undefined) descriptions.push(description as string);
  }
  return descriptions.length === 0 ? standard : { ...standard, description: descriptions.join(' ') };
}

/** A schema that also allows null. */
export function withNull(schema: JsonSchema): JsonSchema {
  if (schema['$ref'] !== undefined || schema['anyOf'] !== undefined) return { anyOf: [schema, { type: 'null' }] };
  const { type, enum: choices } = schema;
  if (type === undefined) return schema;
  return {
    ...schema,
    type: [...[type].flat(), 'null'],
    ...(choices !== undefined && { enum: [...(choices as unknown[]), null] }),
  };
}

function decimalSchema({ precision = 18, scale = 0 }: Digits, direction: Direction): JsonSchema {
  const whole = `-?\\d{1,${Math.max(1, precision - scale)}}`;
  if (direction === 'shown')
    return { type: 'string', pattern: scale === 0 ? `^${whole}$` : `^${whole}\\.\\d{${scale}}$` };
  return {
    pattern: '^-?\\d{1,40}(?:\\.\\d{1,40})?$',
    description: `Exact: at most ${precision - scale} digits before the point and ${scale} after it.`,
  };
}

function describeDigits({ precision, scale }: Digits): string {
  const all = precision === undefined ? [] : [`at most ${precision} digits`];
  const fraction = scale === undefined ? [] : [`at most ${scale} after the point`];
  const text = [...all, ...fraction].join(', ');
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

/** The server uses RE2, but JSON Schema uses ECMA-262. Only patterns that are valid in both become `pattern`. */
function isPortable(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}
