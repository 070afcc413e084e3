import type { FieldDefinition } from '../protocol/definition.ts';
import { JsonNumber } from '../protocol/exact-json.ts';
import type { OperatorFamily } from '../protocol/operators.ts';

/** How a value lies in the database; each dialect says what that means in its columns. */
export type Storage = PlainStorage | DecimalStorage;
export type PlainStorage = 'text' | 'integer' | 'bigint' | 'double' | 'boolean' | 'datetime' | 'json' | 'uuid';
/** Exact numbers of so many digits, so many of them after the point. */
export type DecimalStorage = `decimal(${number},${number})`;

/** A JSON Schema (draft 2020-12) as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * What the validator of value-schema.ts checks values with: keywords of JSON Schema and keywords of our own, such as
 * `bigInt` and `choices`. openapi/field-schema.ts translates it into a standard JSON Schema.
 */
export type ValidationSchema = Readonly<Record<string, unknown>>;

/** The marker that {@link FieldType.readOperand} gives for a value of the wrong type. */
export const invalidOperand: unique symbol = Symbol('misfit');

/** What one spelling of `type` means everywhere: in definitions, storage, input, filters and documentation. */
export interface FieldType {
  readonly name: string;
  /** Null for relations, which have no column. */
  readonly storage: Storage | null;
  readonly relation: boolean;
  /** Never leaves the server, in any form, and is refused wherever it is named by a reader. */
  readonly secret: boolean;
  readonly sortable: boolean;
  readonly operators: ReadonlySet<OperatorFamily>;
  /** Definition properties beyond the common ones, each with the check of its value: a message, or null when it holds. */
  readonly options: Readonly<Record<string, (value: unknown, definition: FieldDefinition) => string | null>>;
  /** The rules for a value that is not null. */
  validationSchema(definition: FieldDefinition): ValidationSchema;
  /** The type as one definition shapes it, where its options alter storage or reading. Fields carry that one. */
  forDefinition?(definition: FieldDefinition): FieldType;
  /** A value that passed the schema, in its canonical form (the form the wire shows). */
  read(value: unknown, definition: FieldDefinition): unknown;
  /** A filter value in canonical form, or {@link invalidOperand}. `isText`: bracket text, where "5" may mean 5. */
  readOperand(value: unknown, isText: boolean): unknown;
  /** The value for a JSON number that a JavaScript number does not hold, or null where the type cannot hold it; absent: no such type can. */
  readExact?(number: JsonNumber): unknown;
}

/** A value of a request as its type reads it; numbers that the type cannot hold stay as they are, and no check admits them. */
export function toExactValue(type: FieldType, value: unknown): unknown {
  return value instanceof JsonNumber ? (type.readExact?.(value) ?? value) : value;
}

/** Digits after the point of a decimal storage; null for any other. */
export function readDecimalScale(storage: Storage): number | null {
  const match = /^decimal\(\d+,(\d+)\)$/.exec(storage);
  return match && Number(match[1]);
}

const scalarOperators: ReadonlySet<OperatorFamily> = new Set(['scalar', 'any']);
const textOperators: ReadonlySet<OperatorFamily> = new Set(['scalar', 'any', 'text']);

export const operatorSets = {
  scalar: scalarOperators,
  text: textOperators,
  boolean: new Set(['scalar', 'any', 'boolean']) as ReadonlySet<OperatorFamily>,
  date: new Set(['scalar', 'any', 'date']) as ReadonlySet<OperatorFamily>,
  array: new Set(['any', 'array']) as ReadonlySet<OperatorFamily>,
  presence: new Set(['any']) as ReadonlySet<OperatorFamily>,
  relation: new Set(['relation']) as ReadonlySet<OperatorFamily>,
};

/** A type with the members that most types share; each file in types/ says what differs. */
export function fieldType(
  differences: Partial<FieldType> & Pick<FieldType, 'name' | 'storage' | 'validationSchema'>,
): FieldType {
  return {
    relation: false,
    secret: false,
    sortable: true,
    operators: operatorSets.scalar,
    options: {},
    read: (value) => value,
    readOperand: (value) => value,
    ...differences,
  };
}

const plainNumberPattern = /^-?\d{1,40}(?:\.\d{1,40})?$/;

/** A bound for the comparison by digits: text where a JavaScript number does not hold it. */
export function toExactBound(bound: unknown): unknown {
  return bound instanceof JsonNumber ? bound.text : bound;
}

export const optionChecks = {
  wholeNumber:
    (min: number, max: number) =>
    (value: unknown): string | null =>
      Number.isInteger(value) && (value as number) >= min && (value as number) <= max
        ? null
        : `Give a whole number from ${min} to ${max}.`,
  /** A bound that is compared as 64-bit floating point. */
  number: (value: unknown): string | null => {
    if (Number.isFinite(value) || (value instanceof JsonNumber && value.double !== null)) return null;
    return value instanceof JsonNumber
      ? 'This number has too many digits or is out of range. Give one that 64-bit floating point can hold exactly.'
      : 'Give a number.';
  },
  /** A bound that is compared by its digits. */
  exactNumber: (value: unknown): string | null => {
    if (Number.isFinite(value) || (value instanceof JsonNumber && plainNumberPattern.test(value.text))) return null;
    return value instanceof JsonNumber
      ? 'Give a number with at most 40 digits before and 40 after the decimal point.'
      : 'Give a number.';
  },
  truth: (value: unknown): string | null => (typeof value === 'boolean' ? null : 'Give true or false.'),
  /** Of whole numbers. */
  noScale: (value: unknown): string | null => (value === 0 ? null : 'A whole number has no decimal places. Give 0.'),
  text: (value: unknown): string | null => (typeof value === 'string' ? null : 'Give text.'),
};
