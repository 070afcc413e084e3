/** Operands of filters: values of a request or a permission as their operators compare them. */
import { isWellFormedJson } from '../base/well-formed.ts';
import type { BindEnvironment } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { getOperator } from '../protocol/operators.ts';
import type { ParsedOperand } from '../protocol/record-request.ts';
import { invalidOperand } from '../schema/field-type.ts';
import type { Field } from '../schema/registry.ts';
import { expectedValue } from '../schema/value-schema.ts';
import type { RowFilter } from './grant.ts';
import { type Calendar, toRange, toRangeBetween } from './period.ts';
import type { Operand } from './predicate.ts';
import { datePeriod, isKnownVariable, parseVariable } from './variables.ts';

/** Makes the operand of one test. @param operator its name, such as `$eq`. */
export type OperandFactory = (operand: ParsedOperand, field: Field, operator: string) => Operand;

/** One test of a filter: what its value is compared with, and how. */
interface Test {
  readonly field: Field;
  readonly operator: string;
}

/** An operand that reads its value from the request whenever the statement runs. */
export function createRequestOperand({ form, slot }: ParsedOperand, field: Field, operator: string): Operand {
  const test: Test = { field, operator };
  return {
    form,
    read: (environment) => {
      const value = environment.values[slot];
      const variable = parseVariable(value);
      if (variable !== null && isKnownVariable(variable))
        return resolveVariable(variable, test, environment, environment.zone);
      return toOperandValue(value, environment.valuesAreText, test, environment);
    },
  };
}

/** An operand of a permission's filter: a fixed value, converted once, or a variable of the caller. */
export function createRuleOperand(rows: RowFilter, operand: ParsedOperand, field: Field, operator: string): Operand {
  const { form, slot } = operand;
  const test: Test = { field, operator };
  const variable = rows.variables.get(slot);
  if (variable !== undefined)
    return { form, read: (environment) => resolveVariable(variable, test, environment, 'UTC') };
  const value = rows.values[slot];
  if (getOperator(operator).family === 'date')
    return { form, read: ({ now }) => toOperandValue(value, false, test, { now, zone: 'UTC' }) };
  const fixed = slot < 0 ? null : toOperandValue(value, false, test, { now: 0, zone: 'UTC' });
  return { form, read: () => fixed };
}

/** A value as an operator compares it: of the field's type, a range of time, or elements of a list. */
function toOperandValue(value: unknown, isText: boolean, test: Test, calendar: Calendar): unknown {
  const { field, operator } = test;
  const { family, operand } = getOperator(operator);
  if (family === 'date') return toPeriod(value, test, calendar);
  if (operand === 'list' && !Array.isArray(value))
    throw new ApiError('FILTER_INVALID', `${operator} on "${field.name}" takes a list of values, such as [1, 2].`);
  if (family === 'array') {
    if (!isWellFormedJson(value))
      throw new ApiError('FILTER_INVALID', `${operator} on "${field.name}" contains a value that no list can contain.`);
    return (value as unknown[]).map((each) => JSON.stringify(each));
  }
  const toOne = (each: unknown): unknown => toTypedValue(each, isText, test);
  return operand === 'one' ? toOne(value) : (value as unknown[]).filter((each) => each !== null).map(toOne);
}

function toPeriod(value: unknown, { field, operator }: Test, calendar: Calendar): unknown {
  try {
    return toRangeBetween(value, field.type.storage === 'text', calendar);
  } catch (error) {
    if (error instanceof ApiError) throw new ApiError(error.code, `${operator} on "${field.name}": ${error.message}`);
    throw error;
  }
}

/**
 * The value of one of the caller's variables. Relative days start at midnight in `zone`.
 *
 * @returns null if the variable has no value, or none that the operator takes on this field.
 */
function resolveVariable(name: string, test: Test, environment: BindEnvironment, zone: string): unknown {
  const calendar = { now: environment.now, zone };
  const value = readVariable(name, test, environment, calendar);
  const takesList = getOperator(test.operator).operand === 'list';
  const whole = takesList && !Array.isArray(value) ? [value] : value;
  if (value === null || (Array.isArray(whole) && whole.length === 0)) return null;
  try {
    return toOperandValue(whole, false, test, calendar);
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

function readVariable(
  name: string,
  { field, operator }: Test,
  { variables }: BindEnvironment,
  calendar: Calendar,
): unknown {
  const day = datePeriod(name);
  if (day === null) return variables()[name] ?? null;
  const period = { type: day };
  return getOperator(operator).family === 'date' ? period : toRange(period, field.type.storage === 'text', calendar)[0];
}

function toTypedValue(value: unknown, isText: boolean, { field, operator }: Test): unknown {
  const canonical = field.type.readOperand(value, isText);
  if (canonical === invalidOperand)
    throw new ApiError(
      'FILTER_INVALID',
      `The value of ${operator} on "${field.name}" is not valid for the type ${field.type.name}. ${expectedValue(field)}`.trimEnd(),
    );
  getOperator(operator).check?.(canonical, operator, field.name);
  return canonical;
}
