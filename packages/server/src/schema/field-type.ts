import type { FieldDefinition } from '../protocol/definition.ts';
import type { OperatorFamily } from '../protocol/operators.ts';

/** How a value lies in the database; each dialect says what that means in its columns. */
export type Storage = PlainStorage | DecimalStorage;
export type PlainStorage = 'text' | 'integer' | 'bigint' | 'double' | 'boolean' | 'datetime' | 'json' | 'uuid';
/** Exact numbers of so many digits, so many of them after the point. */
export type DecimalStorage = `decimal(${number},${number})`;

/** A JSON Schema (draft 2020-12 subset) as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The marker that {@link FieldType.readOperand} gives for a value of the wrong type. */
export const misfit: unique symbol = Symbol('misfit');

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
  /** The schema of a value that is not null. */
  jsonSchema(definition: FieldDefinition): JsonSchema;
  /** The type as one definition shapes it, where its options alter storage or reading. Fields carry that one. */
  of?(definition: FieldDefinition): FieldType;
  /** A value that passed the schema, in its canonical form (the form the wire shows). */
  read(value: unknown, definition: FieldDefinition): unknown;
  /** A filter value in canonical form, or {@link misfit}. `isText`: bracket text, where "5" may mean 5. */
  readOperand(value: unknown, isText: boolean): unknown;
}

/** Digits after the point of a decimal storage; null for any other. */
export function scaleOf(storage: Storage): number | null {
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
  differences: Partial<FieldType> & Pick<FieldType, 'name' | 'storage' | 'jsonSchema'>,
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

export const optionChecks = {
  wholeNumber:
    (least: number, most: number) =>
    (value: unknown): string | null =>
      Number.isInteger(value) && (value as number) >= least && (value as number) <= most
        ? null
        : `Give a whole number from ${least} to ${most}.`,
  number: (value: unknown): string | null => (Number.isFinite(value) ? null : 'Give a number.'),
  truth: (value: unknown): string | null => (typeof value === 'boolean' ? null : 'Give true or false.'),
  text: (value: unknown): string | null => (typeof value === 'string' ? null : 'Give text.'),
};
