import { type Caller, resolveOperand } from './caller.ts';
import type { FieldModel } from './model.ts';
import { compareWithPeriod } from './periods.ts';
import { compare, foldCase, isEqual, isLike, toJsonText } from './values.ts';

/** Whether a value matches an operand; neither is null. */
type Test = (value: unknown, operand: unknown, field: FieldModel, caller: Caller) => boolean;

const ordered =
  (holds: (order: number) => boolean): Test =>
  (value, operand, { type }) =>
    holds(compare(type, value, operand));

const folded =
  (holds: (text: string, part: string) => boolean): Test =>
  (value, operand) =>
    holds(foldCase(value as string), foldCase(operand as string));

/** Compares the value with the first and the last period of an operand. */
const dated =
  (holds: (besideFirst: number, besideLast: number) => boolean): Test =>
  (value, operand, { type }, { calendar }) => {
    const [first, last] = Array.isArray(operand) ? operand : [operand, operand];
    const place = (period: unknown): number =>
      compareWithPeriod(value as string, type === 'datetime', period, calendar);
    return holds(place(first), place(last));
  };

const elements = (value: unknown): Set<string> => new Set((value as unknown[]).map(toJsonText));

const tests: Readonly<Record<string, Test>> = {
  $eq: ordered((order) => order === 0),
  $gt: ordered((order) => order > 0),
  $gte: ordered((order) => order >= 0),
  $lt: ordered((order) => order < 0),
  $lte: ordered((order) => order <= 0),
  $in: (value, operand, { type }) => (operand as unknown[]).some((each) => isEqual(type, value, each)),
  $between: (value, operand, { type }) => {
    const [low, high] = operand as [unknown, unknown];
    return compare(type, value, low) >= 0 && compare(type, value, high) <= 0;
  },
  $like: (value, operand) => isLike(value as string, operand as string),
  $ilike: (value, operand) => isLike(foldCase(value as string), foldCase(operand as string)),
  $includes: folded((text, part) => text.includes(part)),
  $startsWith: folded((text, part) => text.startsWith(part)),
  $endsWith: folded((text, part) => text.endsWith(part)),
  $endWith: folded((text, part) => text.endsWith(part)),
  $isTruly: (value) => value === true,
  $dateOn: dated((first) => first === 0),
  $dateBefore: dated((first) => first < 0),
  $dateAfter: dated((_, last) => last > 0),
  $dateBetween: dated((first, last) => first >= 0 && last <= 0),
  $anyOf: (value, operand) => [...elements(operand)].some((each) => elements(value).has(each)),
  $match: (value, operand) => elements(value).symmetricDifference(elements(operand)).size === 0,
};

/** Operators that negate another one: they also match null. */
const complements: Readonly<Record<string, string>> = {
  $ne: '$eq',
  $notIn: '$in',
  $notLike: '$like',
  $notIncludes: '$includes',
  $notStartsWith: '$startsWith',
  $notEndsWith: '$endsWith',
  $isFalsy: '$isTruly',
  $dateNotOn: '$dateOn',
  $dateNotBefore: '$dateBefore',
  $dateNotAfter: '$dateAfter',
  $notMatch: '$match',
  $noneOf: '$anyOf',
};

const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** Operators that only test whether a value is present, with true or false as their operand. */
const presence: Readonly<Record<string, (value: unknown) => boolean>> = {
  $null: (value) => value === null,
  $notNull: (value) => value !== null,
  $empty: isEmpty,
  $notEmpty: (value) => !isEmpty(value),
  $arrayEmpty: isEmpty,
  $arrayNotEmpty: (value) => !isEmpty(value),
};

/**
 * Whether the value of a field satisfies a condition `{operator: operand}`. The logic is two-valued: a comparison with
 * null is false.
 */
export function matchesCondition(
  operator: string,
  operand: unknown,
  value: unknown,
  field: FieldModel,
  caller: Caller,
): boolean {
  const present = presence[operator];
  if (present) return present(value) === operand;
  if (operator === '$isFalsy' || operator === '$isTruly')
    return ((value === true) === (operator === '$isTruly')) === operand;
  const positive = complements[operator];
  if (positive !== undefined) return !matchesCondition(positive, operand, value, field, caller);
  if (operand === null) return value === null;
  const meaning = resolveOperand(operand, operator, field, caller);
  return value !== null && meaning.value !== undefined && tests[operator]!(value, meaning.value, field, caller);
}
