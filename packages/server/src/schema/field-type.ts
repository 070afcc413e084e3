import type { FieldDefinition } from '../protocol/definition.ts';
import { JsonNumber } from '../protocol/exact-json.ts';
import type { OperatorFamily } from '../protocol/operators.ts';

/** How a value is stored. Each dialect maps it to a column type. */
export type Storage = PlainStorage | DecimalStorage;
export type PlainStorage = 'text' | 'integer' | 'bigint' | 'double' | 'boolean' | 'datetime' | 'json' | 'uuid';
/** Exact numbers with a total number of digits and a number of digits after the point. */
export type DecimalStorage = `decimal(${number},${number})`;

/** A JSON Schema (draft 2020-12) as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The schema that value-schema.ts validates values with: keywords of JSON Schema and additional ones, such as
 * `bigInt` and `choices`. openapi/field-schema.ts translates it into a standard JSON Schema.
 */
export type ValidationSchema = Readonly<Record<string, unknown>>;

/** The marker that {@link FieldType.readOperand} returns for a value of the wrong type. */
export const invalidOperand: unique symbol = Symbol('misfit');

/** A field type: its rules for definitions, storage, input, filters and documentation. */
export interface FieldType {
  readonly name: string;
  /** Null for relations, which have no column. */
  readonly storage: Storage | null;
  readonly relation: boolean;
  /** Values are never sent to clients, and reads that name the field are refused. */
  readonly secret: boolean;
  readonly sortable: boolean;
  readonly operators: ReadonlySet<OperatorFamily>;
  /** Additional properties of definitions, each with a check that returns a message, or null for a valid value. */
  readonly options: Readonly<Record<string, (value: unknown, definition: FieldDefinition) => string | null>>;
  /** The rules for a value that is not null. */
  validationSchema(definition: FieldDefinition): ValidationSchema;
  /** The type adapted to a definition whose options change its storage or its reading. Fields have the adapted type. */
  forDefinition?(definition: FieldDefinition): FieldType;
  /** Converts a validated value to its canonical form, which is also the form in replies. */
  read(value: unknown, definition: FieldDefinition): unknown;
  /** Converts a filter value to canonical form, or returns {@link invalidOperand}. `isText`: a value of a query string, where "5" may mean 5. */
  readOperand(value: unknown, isText: boolean): unknown;
  /** The value of a JSON number that a JavaScript number cannot represent exactly, or null if the type cannot store it. Absent: the type stores no such numbers. */
  readExact?(number: JsonNumber): unknown;
}

/** Reads a value of a request by its type. Numbers that the type cannot store are returned unchanged; validation refuses them. */
export function toExactValue(type: FieldType, value: unknown): unknown {
  return value instanceof JsonNumber ? (type.readExact?.(value) ?? value) : value;
}

/** The number of digits after the point of a decimal storage; null for other storages. */
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

/** Makes a type from the members that most types share and those that its file in types/ specifies. */
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

/** A limit that is compared by its digits: text if a JavaScript number cannot represent it. */
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
  /** A limit that is compared as a 64-bit floating-point number. */
  number: (value: unknown): string | null => {
    if (Number.isFinite(value) || (value instanceof JsonNumber && value.double !== null)) return null;
    return value instanceof JsonNumber
      ? 'This number has too many digits or is out of range. Give one that 64-bit floating point can hold exactly.'
      : 'Give a number.';
  },
  /** A limit that is compared by its digits. */
  exactNumber: (value: unknown): string | null => {
    if (Number.isFinite(value) || (value instanceof JsonNumber && plainNumberPattern.test(value.text))) return null;
    return value instanceof JsonNumber
      ? 'Give a number with at most 40 digits before and 40 after the decimal point.'
      : 'Give a number.';
  },
  truth: (value: unknown): string | null => (typeof value === 'boolean' ? null : 'Give true or false.'),
  /** A limit of whole numbers. */
  noScale: (value: unknown): string | null => (value === 0 ? null : 'A whole number has no decimal places. Give 0.'),
  text: (value: unknown): string | null => (typeof value === 'string' ? null : 'Give text.'),
};
