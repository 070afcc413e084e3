import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { loadLater } from '../base/load-later.ts';
import { isWellFormedJson, isWellFormedText, jsonDepth } from '../base/well-formed.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { JsonNumber } from '../protocol/exact-json.ts';
import { limits } from '../protocol/limits.ts';
import { type FieldType, toExactValue, type ValidationSchema } from './field-type.ts';
import { maxGivenKey } from './number-ranges.ts';
import { compareNumbers, countDigits } from './number-text.ts';
import type { Collection, Field } from './registry.ts';
import { canonicalBigInt } from './types/big-int.ts';
import { canonicalDate } from './types/date.ts';
import { canonicalDatetime } from './types/datetime.ts';
import { canonicalDecimal } from './types/decimal.ts';
import { isFileId, toFileId } from './types/file.ts';
import { type TextForm, textFormats } from './types/formatted-text.ts';
import { loadRe2 } from './types/string.ts';
import { canonicalTime } from './types/time.ts';

interface Digits {
  readonly precision?: number;
  readonly scale?: number;
}

/** The rule `decimal`. */
type DecimalDigits = Required<Digits>;

/** Loaded with the first write: together they take as long to load as a quarter of the server's own modules. */
const loadAjv = loadLater<typeof import('ajv/dist/2020.js')>('ajv/dist/2020.js');

/** Matches user-defined patterns in linear time, so that no value and no pattern can block the server. */
const linearRegExp = Object.assign(
  (pattern: string) => {
    const compiled = loadRe2().RE2JS.compile(pattern);
    // Ajv identifies patterns by their text.
    return { test: (text: string): boolean => compiled.matcher(text).find(), toString: () => pattern };
  },
  { code: 'linearRegExp' },
);

let ajv: Ajv2020 | null = null;

function getAjv(): Ajv2020 {
  ajv ??= createAjv();
  return ajv;
}

function createAjv(): Ajv2020 {
  const created = new (loadAjv().Ajv2020)({
    allErrors: true,
    strict: false,
    meta: false, // the schemas are made here, so they are not checked by a schema of schemas
    validateSchema: false,
    strictNumbers: true,
    verbose: true, // adds the violated rule to the error, for its message
    code: { regExp: linearRegExp as never },
  });
  for (const [name, { isValid }] of Object.entries(formats)) created.addFormat(name, (text) => isValid(text));
  created.addKeyword({
    keyword: 'wellFormed',
    type: 'string',
    validate: (_: unknown, text: string) => isWellFormedText(text),
    errors: false,
  });
  for (const [keyword, validate] of Object.entries(rules)) created.addKeyword({ keyword, validate, errors: false });
  return created;
}

/** Text formats by name: the check, and the message for other texts. */
const formats: Record<string, TextForm> = {
  ...textFormats,
  'date-time': {
    isValid: (text) => canonicalDatetime(text) !== null,
    message: 'Give a date and time in ISO 8601 such as 2026-01-31T12:00:00.000Z, in the years 0001 to 9999.',
  },
  date: {
    isValid: (text) => canonicalDate(text) !== null,
    message: 'Give a date such as 2026-01-31, in the years 0001 to 9999.',
  },
  time: { isValid: (text) => canonicalTime(text) !== null, message: 'Give a time such as 12:30:00 or 12:30:00.250.' },
  uuid: {
    isValid: (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text),
    message: 'Give a UUID.',
  },
};

/** Adds a text format by name; false if the name is taken. */
export function addFormat(name: string, form: TextForm): boolean {
  if (name in formats) return false;
  formats[name] = form;
  ajv?.addFormat(name, (text) => form.isValid(text));
  return true;
}

/** Keywords of this server. Parameters: the value in the schema, then the value in the record. */
// biome-ignore lint/suspicious/noExplicitAny: Ajv hands over whatever the schema and the record hold
const rules: Readonly<Record<string, (rule: any, value: any) => boolean>> = {
  jsonValue: (_: unknown, value: unknown) =>
    jsonDepth(value, limits.jsonDepth + 1) <= limits.jsonDepth && isWellFormedJson(value),
  bigInt: (_: unknown, value: unknown) => canonicalBigInt(value) !== null,
  decimal: ({ precision, scale }: DecimalDigits, value: unknown) => canonicalDecimal(value, precision, scale) !== null,
  givenKey: (greatest: string, value: unknown) => compareNumbers(value, greatest) <= 0,
  given: (size: number, value: unknown) => compareNumbers(value, size) <= 0 && compareNumbers(value, -size) >= 0,
  least: (min: number, value: unknown) => compareNumbers(value, min) >= 0,
  greatest: (max: number, value: unknown) => compareNumbers(value, max) <= 0,
  digits: ({ precision, scale }: Digits, value: number | string) => {
    const found = countDigits(value);
    return found.all <= (precision ?? found.all) && found.fraction <= (scale ?? found.fraction);
  },
  choices: (choices: readonly unknown[], value: unknown) => choices.includes(value),
  fileId: (_: unknown, value: unknown) => isFileId(value),
  fileIds: (max: number, value: unknown) =>
    Array.isArray(value) &&
    value.length <= max &&
    value.every(isFileId) &&
    new Set(value.map(toFileId)).size === value.length,
  choicesOf: (choices: readonly unknown[], value: unknown) =>
    Array.isArray(value) && new Set(value).size === value.length && value.every((each) => choices.includes(each)),
};

/** Checks a whole record. Returns all problems by field, or null. */
export type RecordCheck = (values: Readonly<Record<string, unknown>>) => Record<string, string> | null;

const checks = new WeakMap<Collection, { create?: RecordCheck; update?: RecordCheck }>();

/**
 * The check of a collection's records for create (required fields must be present) or update; compiled at first use.
 */
export function recordCheck(collection: Collection, action: 'create' | 'update'): RecordCheck {
  const cached = checks.get(collection) ?? {};
  checks.set(collection, cached);
  cached[action] ??= compileCheck(recordSchema(collection, action));
  return cached[action];
}

/** The JSON Schema of a record as clients send it. */
export function recordSchema(collection: Collection, action: 'create' | 'update'): ValidationSchema {
  const writableFields = collection.fields.filter((field) => field.column !== null && !field.serverManaged);
  return {
    type: 'object',
    properties: Object.fromEntries(writableFields.map((field) => [field.name, fieldSchema(field)])),
    ...(action === 'create' && { required: writableFields.filter(isRequiredOnCreate).map((field) => field.name) }),
  };
}

/** Whether a create without this field is refused. */
export function isRequiredOnCreate(field: Field): boolean {
  const { definition } = field;
  if (field.autoIncrement || field.type.name === 'uid' || definition.autoNow) return false;
  const wanted = definition.required || definition.allowNull === false || field.primaryKey;
  return Boolean(wanted) && (definition.defaultValue === undefined || definition.defaultValue === null);
}

function fieldSchema(field: Field): ValidationSchema {
  const schema = field.type.validationSchema(field.definition);
  if (field.autoIncrement) return { ...schema, givenKey: String(maxGivenKey(field.type.storage)) };
  if (isNullable(field)) return { anyOf: [{ type: 'null' }, schema] };
  return field.type.storage === 'json' ? { ...schema, not: { type: 'null' } } : schema;
}

/** Whether the field accepts null. */
export function isNullable(field: Field): boolean {
  return !field.primaryKey && !field.definition.required && field.definition.allowNull !== false;
}

/** The check of one field's non-null values. It returns the problem, or null. */
export function compileValueCheck({ type, definition }: Field): (value: unknown) => string | null {
  const check = compileCheck({ type: 'object', properties: { value: type.validationSchema(definition) } });
  return (value) => check({ value: toExactValue(type, value) })?.['value'] ?? null;
}

/** The problem of one value for a field of this type, or null: for default values. */
export function findValueProblem(type: FieldType, definition: FieldDefinition, value: unknown): string | null {
  return compileValueCheck({ type, definition } as Field)(value);
}

function compileCheck(schema: ValidationSchema): RecordCheck {
  const validate = getAjv().compile(schema);
  return (values) => (validate(values) ? null : toProblems(validate));
}

function toProblems(validate: ValidateFunction): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const error of validate.errors ?? []) {
    const missing = error.keyword === 'required' ? (error.params['missingProperty'] as string) : null;
    const name = missing ?? (error.instancePath.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~');
    const message = missing ? 'This field is required.' : toMessage(error);
    // The error of the null branch of a nullable field does not help.
    if (message !== null) problems[name] ??= message;
  }
  return problems;
}

const messages: Readonly<Record<string, (params: Record<string, unknown>, rule: unknown) => string>> = {
  type: ({ type }) =>
    `Give ${[type]
      .flat()
      .map((each) => typeNames[String(each)] ?? String(each))
      .join(' or ')}.`,
  maxLength: ({ limit }) => `At most ${limit} characters are allowed.`,
  minLength: ({ limit }) => `At least ${limit} characters are required.`,
  minimum: ({ limit }) => `The minimum is ${limit}.`,
  maximum: ({ limit }) => `The maximum is ${limit}.`,
  pattern: () => 'The text does not match the pattern of this field.',
  format: ({ format }) => formats[String(format)]?.message ?? 'The text does not have the format of this field.',
  bigInt: () =>
    'Give a whole number of at most 64 bits. Send it as text if your JSON library rounds numbers beyond ±9007199254740991.',
  decimal: (_, rule) => {
    const { precision, scale } = rule as DecimalDigits;
    return `Give a number with at most ${precision - scale} digits before the decimal point and ${scale} after it.`;
  },
  givenKey: (_, rule) =>
    `The maximum key that a request can set is ${rule}. Greater keys are reserved for generated ones.`,
  given: (_, rule) => `Give a number from -${rule} to ${rule}.`,
  least: (_, rule) => `The minimum is ${rule}.`,
  greatest: (_, rule) => `The maximum is ${rule}.`,
  digits: (_, rule) => digitsMessage(rule as Digits),
  choices: (_, rule) => choicesMessage('one', rule as string[]),
  choicesOf: (_, rule) => choicesMessage('a list of distinct values', rule as string[]),
  fileId: () => 'Give the id of a file.',
  fileIds: (_, rule) => `Give a list of the ids of at most ${rule} distinct files.`,
  wellFormed: () => 'The text contains U+0000 or a lone surrogate. Remove it.',
  jsonValue: () =>
    `Give JSON of at most ${limits.jsonDepth} levels, without U+0000, lone surrogates, or numbers beyond ±1.8e308.`,
  not: () => 'The value must not be null.',
};
function digitsMessage({ precision, scale }: Digits): string {
  const all = precision === undefined ? [] : [`at most ${precision} digits`];
  const fraction = scale === undefined ? [] : [`at most ${scale} after the decimal point`];
  return `Give a number of ${[...all, ...fraction].join(', ')}.`;
}

function choicesMessage(what: string, choices: readonly string[]): string {
  const listed = choices.slice(0, 20).join(', ');
  return `Give ${what} of: ${listed}${choices.length > 20 ? ', …' : ''}.`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
};

/** The allowed values of a field as a sentence, for values that the type reads and no schema checks. */
export function expectedValue({ type, definition }: Pick<Field, 'type' | 'definition'>): string {
  const schema = type.validationSchema(definition);
  const keyword = ['format', 'bigInt', 'decimal', 'type'].find((keyword) => keyword in schema);
  return keyword === undefined ? '' : (messages[keyword]?.({ [keyword]: schema[keyword] }, schema[keyword]) ?? '');
}

function toMessage(error: ErrorObject): string | null {
  if (error.keyword === 'anyOf' || (error.keyword === 'type' && error.params['type'] === 'null')) return null;
  if (error.keyword === 'type' && isNumberBeyond(error.data)) return numberMessage;
  if (error.keyword === 'type' && error.data === null) return 'The value must not be null.';
  return messages[error.keyword]?.(error.params, error.schema) ?? 'The value is not valid for this field.';
}

const numberMessage =
  'The field cannot store this number exactly. It has too many digits, or is too large or too small.';

/** A number of a request that its type could not represent, or that is not a JSON number. */
function isNumberBeyond(value: unknown): boolean {
  return value instanceof JsonNumber || (typeof value === 'number' && !Number.isFinite(value));
}
