/**
 * The filter operators: one row of a table for each. A row gives the fields that the operator fits, its operand, the
 * check of its operand, its SQL and its text in the OpenAPI document. To add an operator, add a row; SQL that differs
 * between the engines is a method of {@link ConditionSql}.
 */
import { ApiError } from './api-error.ts';
import { limits } from './limits.ts';

/** The kind of fields that an operator fits; on other fields it is refused with `OPERATOR_MISFIT`. */
export type OperatorFamily = 'scalar' | 'text' | 'any' | 'boolean' | 'relation' | 'date' | 'array';

/** The operand of an operator: one value, a list, a list of two, a truth value, one period, or one or two periods. */
export type OperandShape = 'one' | 'list' | 'pair' | 'flag' | 'period' | 'periods';

/**
 * The parts from which an operator composes its SQL, for one column and one operand. query/operator-sql.ts implements it
 * with the dialect of the engine, so that this table does not depend on a database.
 */
export interface ConditionSql<Sql> {
  /** Joins SQL text with fragments: text`${column}=${value}`. */
  text(strings: TemplateStringsArray, ...fragments: Sql[]): Sql;
  readonly column: Sql;
  /** The operand `one`. */
  readonly value: Sql;
  /** The members of the operand `pair`. */
  readonly first: Sql;
  readonly second: Sql;
  /** The ends of the operand `period` or `periods`: the first moment in it, and the first one after it. */
  readonly start: Sql;
  readonly end: Sql;
  /** The column is one of the values of the operand `list`. */
  isInList(): Sql;
  /** The column matches the pattern with the wildcards `%` and `_`. */
  isLike(options: { readonly ignoreCase: boolean }): Sql;
  /** The column contains, starts with or ends with the value; case is ignored. */
  contains(): Sql;
  startsWith(): Sql;
  endsWith(): Sql;
  /** The column is null, an empty text or an empty list. */
  isEmpty(): Sql;
  isTrue(): Sql;
  /** The list in the column has the same elements as the operand `list`, in any order. */
  hasSameElements(): Sql;
  /** The list in the column has at least one element of the operand `list`. */
  hasAnyElement(): Sql;
}

interface OperatorRow {
  readonly family: OperatorFamily;
  readonly operand: OperandShape;
  /** The records that match, for the OpenAPI document. It completes the sentence "the field …". */
  readonly meaning: string;
  /** Absent for operators that only apply to relations; those become subqueries. */
  readonly sql?: <Sql>(condition: ConditionSql<Sql>) => Sql;
  /** Checks a canonical operand. @throws ApiError */
  readonly check?: (value: unknown, operator: string, field: string) => void;
  /** The presence of related records that the operator requires where it is applied to a relation. */
  readonly onRelation?: 'exists' | 'missing';
  /** The operator also takes null as its value, on fields of every type. */
  readonly acceptsNull?: true;
}

/** A row that shares everything but its meaning with another one. */
interface DerivedRow {
  readonly meaning: string;
  readonly complementOf?: string;
  readonly aliasOf?: string;
}

/** A filter operator as requests name it. */
export interface Operator extends OperatorRow {
  /** The operator of which this one is the exact complement: it also matches the records where the field is null. */
  readonly complementOf?: string;
  /** The operator whose SQL is used: the one that this operator complements or is another name of, or itself. */
  readonly compiledAs: string;
}

/** The order of the rows is the order in which messages and documents list the operators. */
const rows: Readonly<Record<string, OperatorRow | DerivedRow>> = {
  $eq: {
    family: 'scalar',
    operand: 'one',
    meaning: 'equals the value; null: has no value',
    sql: ({ text, column, value }) => text`${column}=${value}`,
    onRelation: 'missing',
    acceptsNull: true,
  },
  $ne: { complementOf: '$eq', meaning: 'does not equal the value; null: has a value' },
  $gt: {
    family: 'scalar',
    operand: 'one',
    meaning: 'is greater than the value',
    sql: ({ text, column, value }) => text`${column}>${value}`,
  },
  $gte: {
    family: 'scalar',
    operand: 'one',
    meaning: 'is greater than or equal to the value',
    sql: ({ text, column, value }) => text`${column}>=${value}`,
  },
  $lt: {
    family: 'scalar',
    operand: 'one',
    meaning: 'is less than the value',
    sql: ({ text, column, value }) => text`${column}<${value}`,
  },
  $lte: {
    family: 'scalar',
    operand: 'one',
    meaning: 'is less than or equal to the value',
    sql: ({ text, column, value }) => text`${column}<=${value}`,
  },
  $between: {
    family: 'scalar',
    operand: 'pair',
    meaning: 'is between two values (inclusive)',
    sql: ({ text, column, first, second }) => text`${column} BETWEEN ${first} AND ${second}`,
  },
  $in: {
    family: 'scalar',
    operand: 'list',
    meaning: 'is one of the values',
    sql: (condition) => condition.isInList(),
  },
  $notIn: { complementOf: '$in', meaning: 'is not one of the values' },
  $like: {
    family: 'text',
    operand: 'one',
    meaning: 'matches the pattern, in which % stands for any text and _ for one character',
    sql: (condition) => condition.isLike({ ignoreCase: false }),
    check: checkPattern,
  },
  $notLike: { complementOf: '$like', meaning: 'does not match the pattern' },
  $ilike: {
    family: 'text',
    operand: 'one',
    meaning: 'matches the pattern, ignoring case',
    sql: (condition) => condition.isLike({ ignoreCase: true }),
    check: checkPattern,
  },
  $includes: {
    family: 'text',
    operand: 'one',
    meaning: 'contains the text, ignoring case',
    sql: (condition) => condition.contains(),
  },
  $notIncludes: { complementOf: '$includes', meaning: 'does not contain the text' },
  $startsWith: {
    family: 'text',
    operand: 'one',
    meaning: 'starts with the text, ignoring case',
    sql: (condition) => condition.startsWith(),
  },
  $notStartsWith: { complementOf: '$startsWith', meaning: 'does not start with the text' },
  $endsWith: {
    family: 'text',
    operand: 'one',
    meaning: 'ends with the text, ignoring case',
    sql: (condition) => condition.endsWith(),
  },
  $endWith: { aliasOf: '$endsWith', meaning: 'is the same as $endsWith' },
  $notEndsWith: { complementOf: '$endsWith', meaning: 'does not end with the text' },
  $empty: {
    family: 'any',
    operand: 'flag',
    meaning: 'is null, an empty text or an empty list',
    sql: (condition) => condition.isEmpty(),
  },
  $notEmpty: { complementOf: '$empty', meaning: 'is not empty' },
  $null: {
    family: 'any',
    operand: 'flag',
    meaning: 'is null',
    sql: ({ text, column }) => text`${column} IS NULL`,
    onRelation: 'missing',
  },
  $notNull: { complementOf: '$null', meaning: 'is not null' },
  $exists: { family: 'relation', operand: 'flag', meaning: 'has a related record', onRelation: 'exists' },
  $notExists: { complementOf: '$exists', meaning: 'has no related record' },
  $isTruly: { family: 'boolean', operand: 'flag', meaning: 'is true', sql: (condition) => condition.isTrue() },
  $isFalsy: {
    family: 'boolean',
    operand: 'flag',
    meaning: 'is false or null',
    sql: (condition) => condition.text`((${condition.isTrue()}) IS NOT TRUE)`,
  },
  $dateOn: {
    family: 'date',
    operand: 'period',
    meaning: 'is in the period',
    sql: ({ text, column, start, end }) => text`(${column}>=${start} AND ${column}<${end})`,
  },
  $dateNotOn: { complementOf: '$dateOn', meaning: 'is not in the period' },
  $dateBefore: {
    family: 'date',
    operand: 'period',
    meaning: 'is before the period',
    sql: ({ text, column, start }) => text`${column}<${start}`,
  },
  $dateNotBefore: { complementOf: '$dateBefore', meaning: 'is not before the period' },
  $dateAfter: {
    family: 'date',
    operand: 'period',
    meaning: 'is after the period',
    sql: ({ text, column, end }) => text`${column}>=${end}`,
  },
  $dateNotAfter: { complementOf: '$dateAfter', meaning: 'is not after the period' },
  $dateBetween: {
    family: 'date',
    operand: 'periods',
    meaning: 'is between the start of the first and the end of the second period',
    sql: ({ text, column, start, end }) => text`(${column}>=${start} AND ${column}<${end})`,
  },
  $match: {
    family: 'array',
    operand: 'list',
    meaning: 'has the same elements as the list, in any order',
    sql: (condition) => condition.hasSameElements(),
  },
  $notMatch: { complementOf: '$match', meaning: 'does not have the same elements as the list' },
  $anyOf: {
    family: 'array',
    operand: 'list',
    meaning: 'has at least one element of the list',
    sql: (condition) => condition.hasAnyElement(),
  },
  $noneOf: { complementOf: '$anyOf', meaning: 'has no element of the list' },
  $arrayEmpty: {
    family: 'array',
    operand: 'flag',
    meaning: 'is null or an empty list',
    sql: (condition) => condition.isEmpty(),
  },
  $arrayNotEmpty: { complementOf: '$arrayEmpty', meaning: 'has an element' },
};

/** The filter operators by their names on the wire, in the order of the table. */
export const operators: Readonly<Record<string, Operator>> = Object.fromEntries(
  Object.entries(rows).map(([name, row]) => [name, completeRow(name, row)]),
);

/** The operator of a name, or undefined. */
export function findOperator(name: string): Operator | undefined {
  return Object.hasOwn(operators, name) ? operators[name] : undefined;
}

/** The operator of a name that {@link findOperator} has accepted. */
export function getOperator(name: string): Operator {
  const operator = findOperator(name);
  if (!operator) throw new Error(`"${name}" is not a filter operator`);
  return operator;
}

/**
 * The presence that a condition directly on a relation requires: true where a related record must exist, false where
 * none may exist. Null for conditions that are about the key of the related record.
 *
 * `{"author": {"$exists": true}}` is true, and so is `{"author": {"$ne": null}}`.
 */
export function readPresence(name: string, operandForm: string): boolean | null {
  const { onRelation, operand, complementOf } = getOperator(name);
  if (onRelation === undefined || (operand !== 'flag' && operandForm !== 'null')) return null;
  const isNegated = (complementOf !== undefined) !== (operandForm === 'false');
  return (onRelation === 'exists') !== isNegated;
}

function completeRow(name: string, row: OperatorRow | DerivedRow): Operator {
  if ('family' in row) return { ...row, compiledAs: name };
  const baseName = row.complementOf ?? row.aliasOf ?? name;
  const base = rows[baseName];
  if (base === undefined || !('family' in base)) throw new Error(`the operator ${name} is derived from no operator`);
  return {
    ...base,
    meaning: row.meaning,
    compiledAs: baseName,
    ...(row.complementOf !== undefined && { complementOf: row.complementOf }),
  };
}

/** Bounds the time of a match, which grows with the length of text and pattern and cannot be interrupted. */
function checkPattern(pattern: unknown, operator: string, field: string): void {
  if (typeof pattern !== 'string') return;
  if (/(^|[^\\])(\\\\)*\\$/.test(pattern))
    throw new ApiError(
      'FILTER_INVALID',
      `The pattern of ${operator} on "${field}" ends in a lone backslash. Write two backslashes to match one.`,
    );
  if (pattern.length > limits.patternLength)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The pattern of ${operator} on "${field}" has more than ${limits.patternLength} characters. Shorten it.`,
    );
}
