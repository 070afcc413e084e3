import { ApiError } from './api-error.ts';
import { isObject } from './json-text.ts';
import { limits } from './limits.ts';
import { findOperator, type OperandShape, operators } from './operators.ts';
import type { ParsedFilter, ParsedOperand } from './record-request.ts';

/** A parsed filter: its structure, its values by slot, and a text that is equal for equal structures. */
export interface NormalisedFilter {
  readonly filter: ParsedFilter | null;
  readonly shape: string;
  readonly values: readonly unknown[];
}

/**
 * Parses a filter. It checks the grammar and its limits, but no names.
 *
 * `{}` and empty `$and`/`$or` are no condition. `{a: {b: {$eq: 1}}}` and `{"a.b": 1}` name the path a → b.
 *
 * @param input the filter after JSON or bracket parsing.
 * @param before values that already have their slots.
 * @throws ApiError `FILTER_INVALID`, `OPERATOR_UNKNOWN` or `LIMIT_EXCEEDED`.
 */
export function normaliseFilter(input: unknown, before: readonly unknown[] = []): NormalisedFilter {
  const walker = new FilterWalker(before);
  const filter = walker.object(input, 0);
  return { filter, shape: filter === null ? '' : buildShape(filter), values: walker.values };
}

class FilterWalker {
  readonly values: unknown[];
  #conditions = 0;
  #length = 0;

  constructor(before: readonly unknown[]) {
    this.values = [...before];
  }

  /** @param on the path of the object, for error messages. */
  object(input: unknown, depth: number, on = ''): ParsedFilter | null {
    if (!isObject(input))
      throw new ApiError('FILTER_INVALID', '"filter" must be an object such as {"views": {"$gt": 10}}.');
    if (depth > limits.filterDepth)
      throw new ApiError('LIMIT_EXCEEDED', `"filter" is nested deeper than ${limits.filterDepth} levels. Flatten it.`);
    const parts: ParsedFilter[] = [];
    for (const [key, value] of Object.entries(input)) {
      const part = this.#member(key, value, depth, on);
      if (part !== null) parts.push(part);
    }
    return joinFilters('all', parts);
  }

  #member(key: string, value: unknown, depth: number, on: string): ParsedFilter | null {
    if (key === '$and' || key === '$or') return this.#logic(key, value, depth, on);
    if (key === '$not') {
      const inner = this.object(value, depth + 1, on);
      return inner === null ? null : { kind: 'not', of: inner };
    }
    if (key.startsWith('$')) return this.#test(key, value, on);
    const steps = key.split('.');
    // Some clients write the operator as the last step of the path: {"title.$eq": "x"}.
    const end = steps.findIndex((name) => name.startsWith('$'));
    const path = end < 0 ? steps : steps.slice(0, end);
    if (path.some((name) => name === ''))
      throw new ApiError(
        'FILTER_INVALID',
        `"${key.slice(0, 120)}" is not a field path. Write names with single dots between them, such as "author.name".`,
      );
    const under = on === '' ? path.join('.') : `${on}.${path.join('.')}`;
    const operand = end < 0 ? value : { [steps.slice(end).join('.')]: value };
    const inner = isObject(operand) ? this.object(operand, depth + 1, under) : this.#shorthand(operand, under);
    return inner === null ? null : { kind: 'at', path, of: inner };
  }

  #logic(key: '$and' | '$or', value: unknown, depth: number, on: string): ParsedFilter | null {
    const members = Array.isArray(value) ? value : isObject(value) ? [value] : null;
    if (members === null)
      throw new ApiError('FILTER_INVALID', `${key} takes a list of filters, such as [{"views": {"$gt": 10}}].`);
    const parts = members.map((member) => this.object(member, depth + 1, on)).filter((part) => part !== null);
    return joinFilters(key === '$and' ? 'all' : 'any', parts);
  }

  #shorthand(value: unknown, on: string): ParsedFilter {
    return this.#test(Array.isArray(value) ? '$in' : '$eq', value, on);
  }

  #test(operator: string, value: unknown, on: string): ParsedFilter {
    const known = findOperator(operator);
    if (!known)
      throw new ApiError(
        'OPERATOR_UNKNOWN',
        `There is no filter operator "${operator.slice(0, 40)}"${describeLocation(on)}. Use one of: ${Object.keys(operators).join(', ')}.`,
      );
    this.#conditions += 1;
    if (this.#conditions > limits.filterConditions)
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `"filter" has more than ${limits.filterConditions} conditions. Use $in for many values of one field, or split the request.`,
      );
    return { kind: 'test', operator, operand: this.#operand(operator, known.operand, value, on) };
  }

  #operand(operator: string, shape: OperandShape, value: unknown, on: string): ParsedOperand {
    if (shape === 'flag') return { slot: -1, form: parseFlag(operator, value, on) ? 'true' : 'false' };
    if (shape === 'list' || shape === 'pair') return this.#list(operator, shape, value, on);
    if (shape === 'period' || shape === 'periods') return this.#period(operator, shape, value, on);
    if (isObject(value) || Array.isArray(value))
      throw new ApiError(
        'FILTER_INVALID',
        `${operator}${describeLocation(on)} takes one value, not a list or an object. For several values, use $in.`,
      );
    return value === null ? { slot: -1, form: 'null' } : { slot: this.#slotOf(value), form: 'scalar' };
  }

  #period(operator: string, shape: OperandShape, value: unknown, on: string): ParsedOperand {
    const pair = shape === 'periods' && Array.isArray(value);
    const parts = pair ? (value as unknown[]) : [value];
    const plain = (part: unknown): boolean => typeof part === 'string' || isObject(part);
    if (!parts.every(plain) || (pair && parts.length !== 2))
      throw new ApiError(
        'FILTER_INVALID',
        `${operator}${describeLocation(on)} takes a period such as "2026-11" or {"type": "today"}${shape === 'periods' ? ', or two of them' : ''}.`,
      );
    return { slot: this.#slotOf(value), form: 'list' };
  }

  #list(operator: string, shape: OperandShape, value: unknown, on: string): ParsedOperand {
    // A variable may contain a whole list. Which variables exist is checked when the filter is planned.
    if (shape === 'list' && isVariable(value)) return { slot: this.#slotOf(value), form: 'list' };
    if (!Array.isArray(value) || value.some((member) => isObject(member) || Array.isArray(member)))
      throw new ApiError(
        'FILTER_INVALID',
        `${operator}${describeLocation(on)} takes a list of values, such as [1, 2].`,
      );
    if (shape === 'pair' && value.length !== 2)
      throw new ApiError(
        'FILTER_INVALID',
        `${operator}${describeLocation(on)} takes a list of two values, such as [1, 2].`,
      );
    if (value.length > limits.inValues)
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `${operator}${describeLocation(on)} takes at most ${limits.inValues} values.`,
      );
    return { slot: this.#slotOf(value), form: 'list' };
  }

  #slotOf(value: unknown): number {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value])
      if (typeof each === 'string') this.#length += each.length;
    if (this.#length > limits.filterValues)
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `The values of "filter" have more than ${limits.filterValues} characters in total. Shorten them, or split the request.`,
      );
    return this.values.push(value) - 1;
  }
}

function isVariable(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith('{{') && value.endsWith('}}');
}

/** Presence operators accept true (also as text, 1, or no value) and false. */
function parseFlag(operator: string, value: unknown, on: string): boolean {
  if (value === true || value === 'true' || value === null || value === '' || value === 1 || value === '1') return true;
  if (value === false || value === 'false' || value === 0 || value === '0') return false;
  throw new ApiError('FILTER_INVALID', `${operator}${describeLocation(on)} must be true or false.`);
}

/** The path of a condition, for error messages. */
function describeLocation(on: string): string {
  return on === '' ? '' : ` on "${on.slice(0, 120)}"`;
}

function joinFilters(kind: 'all' | 'any', parts: ParsedFilter[]): ParsedFilter | null {
  const [first, ...rest] = parts;
  if (first === undefined) return null;
  return rest.length === 0 ? first : { kind, of: parts };
}

function buildShape(filter: ParsedFilter): string {
  switch (filter.kind) {
    case 'all':
    case 'any':
      return `${filter.kind}(${filter.of.map(buildShape).join()})`;
    case 'not':
      return `not(${buildShape(filter.of)})`;
    case 'at':
      return `${JSON.stringify(filter.path)}(${buildShape(filter.of)})`;
    case 'test':
      return `${filter.operator}:${filter.operand.form}`;
  }
}
