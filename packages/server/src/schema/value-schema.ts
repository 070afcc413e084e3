import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { isWellFormedJson, isWellFormedText, jsonDepth } from '../base/well-formed.ts';
import { limits } from '../protocol/limits.ts';
import type { FieldDefinition } from './definition.ts';
import type { FieldType, JsonSchema } from './field-type.ts';
import type { Collection, Field } from './registry.ts';
import { canonicalDatetime } from './types/datetime.ts';

/** Runs user patterns in linear time, so that no value and no pattern can hang the server. */
const linearRegExp = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(pattern);
    return { test: (text: string): boolean => compiled.matcher(text).find() };
  },
  { code: 'linearRegExp' },
);

const ajv = new Ajv2020({ allErrors: true, strict: false, code: { regExp: linearRegExp as never } });
ajv.addFormat('date-time', (text: string) => canonicalDatetime(text) !== null);
ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i);
ajv.addKeyword({
  keyword: 'wellFormed',
  type: 'string',
  validate: (_: unknown, text: string) => isWellFormedText(text),
  errors: false,
});
ajv.addKeyword({
  keyword: 'jsonValue',
  validate: (_: unknown, value: unknown) =>
    jsonDepth(value, limits.jsonDepth + 1) <= limits.jsonDepth && isWellFormedJson(value),
  errors: false,
});

/** Checks a whole record; problems come as field → message, all at once, or null. */
export type RecordCheck = (values: Readonly<Record<string, unknown>>) => Record<string, string> | null;

const checks = new WeakMap<Collection, { create?: RecordCheck; update?: RecordCheck }>();

/** The check of a collection's records for create (what is required must be there) or update; compiled at first use. */
export function recordCheck(collection: Collection, action: 'create' | 'update'): RecordCheck {
  const kept = checks.get(collection) ?? {};
  checks.set(collection, kept);
  kept[action] ??= compileCheck(recordSchema(collection, action));
  return kept[action];
}

/** The JSON Schema of a record as clients send it. */
export function recordSchema(collection: Collection, action: 'create' | 'update'): JsonSchema {
  const written = collection.fields.filter((field) => field.column !== null && !field.kept);
  return {
    type: 'object',
    properties: Object.fromEntries(written.map((field) => [field.name, fieldSchema(field)])),
    ...(action === 'create' && { required: written.filter(mustBeGiven).map((field) => field.name) }),
  };
}

/** Whether create refuses a record that leaves this field out. */
function mustBeGiven(field: Field): boolean {
  const { definition } = field;
  if (field.autoIncrement || field.type.name === 'uid' || definition.autoNow) return false;
  const wanted = definition.required || definition.allowNull === false || field.primaryKey;
  return Boolean(wanted) && (definition.defaultValue === undefined || definition.defaultValue === null);
}

function fieldSchema(field: Field): JsonSchema {
  const schema = field.type.jsonSchema(field.definition);
  if (isNullable(field)) return { anyOf: [{ type: 'null' }, schema] };
  return field.type.name === 'json' ? { ...schema, not: { type: 'null' } } : schema;
}

export function isNullable(field: Field): boolean {
  return !field.primaryKey && !field.definition.required && field.definition.allowNull !== false;
}

/** What is wrong with one value for a field of this type, or null: for default values. */
export function problemOfValue(type: FieldType, definition: FieldDefinition, value: unknown): string | null {
  const problems = compileCheck({ type: 'object', properties: { value: type.jsonSchema(definition) } })({ value });
  return problems?.['value'] ?? null;
}

function compileCheck(schema: JsonSchema): RecordCheck {
  const validate = ajv.compile(schema);
  return (values) => (validate(values) ? null : problemsOf(validate));
}

function problemsOf(validate: ValidateFunction): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const error of validate.errors ?? []) {
    const missing = error.keyword === 'required' ? (error.params['missingProperty'] as string) : null;
    const name = missing ?? error.instancePath.split('/')[1]!.replaceAll('~1', '/').replaceAll('~0', '~');
    const message = missing ? 'This field is required.' : messageOf(error);
    // The null branch of a nullable field says nothing that helps.
    if (message !== null) problems[name] ??= message;
  }
  return problems;
}

const messages: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  type: ({ type }) => `Give ${typeNames[String(type)] ?? String(type)}.`,
  maxLength: ({ limit }) => `At most ${limit} characters are allowed.`,
  minLength: ({ limit }) => `At least ${limit} characters are needed.`,
  minimum: ({ limit }) => `The least value is ${limit}.`,
  maximum: ({ limit }) => `The greatest value is ${limit}.`,
  pattern: () => 'The text does not match the pattern of this field.',
  format: ({ format }) =>
    format === 'uuid'
      ? 'Give a UUID.'
      : 'Give a moment in ISO 8601 such as 2026-01-31T12:00:00.000Z, years 0001 to 9999.',
  wellFormed: () => 'The text holds U+0000 or half a surrogate pair.',
  jsonValue: () => `Give JSON nested at most ${limits.jsonDepth} deep, without U+0000 or half surrogate pairs.`,
  not: () => 'This field may not be null.',
};
const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

function messageOf(error: ErrorObject): string | null {
  if (error.keyword === 'anyOf' || (error.keyword === 'type' && error.params['type'] === 'null')) return null;
  if (error.keyword === 'type' && error.data === null) return 'This field may not be null.';
  return messages[error.keyword]?.(error.params) ?? 'The value does not fit this field.';
}
