/** The filter operators: the fields that they apply to, and their kind of operand. */
import type { Field } from '@tablinum/client';

export type OperandKind = 'one' | 'list' | 'pair' | 'none' | 'period' | 'periods';
type Family = 'scalar' | 'text' | 'any' | 'boolean' | 'relation' | 'date' | 'array';

/** Every operator of the API, with the family of fields that it applies to and the kind of its operand. */
export const filterOperators: Readonly<Record<string, readonly [Family, OperandKind]>> = {
  $eq: ['scalar', 'one'],
  $ne: ['scalar', 'one'],
  $includes: ['text', 'one'],
  $notIncludes: ['text', 'one'],
  $startsWith: ['text', 'one'],
  $notStartsWith: ['text', 'one'],
  $endsWith: ['text', 'one'],
  $notEndsWith: ['text', 'one'],
  $like: ['text', 'one'],
  $notLike: ['text', 'one'],
  $ilike: ['text', 'one'],
  $gt: ['scalar', 'one'],
  $gte: ['scalar', 'one'],
  $lt: ['scalar', 'one'],
  $lte: ['scalar', 'one'],
  $between: ['scalar', 'pair'],
  $in: ['scalar', 'list'],
  $notIn: ['scalar', 'list'],
  $isTruly: ['boolean', 'none'],
  $isFalsy: ['boolean', 'none'],
  $dateOn: ['date', 'period'],
  $dateNotOn: ['date', 'period'],
  $dateBefore: ['date', 'period'],
  $dateNotBefore: ['date', 'period'],
  $dateAfter: ['date', 'period'],
  $dateNotAfter: ['date', 'period'],
  $dateBetween: ['date', 'periods'],
  $match: ['array', 'list'],
  $notMatch: ['array', 'list'],
  $anyOf: ['array', 'list'],
  $noneOf: ['array', 'list'],
  $arrayEmpty: ['array', 'none'],
  $arrayNotEmpty: ['array', 'none'],
  $exists: ['relation', 'none'],
  $notExists: ['relation', 'none'],
  $empty: ['any', 'none'],
  $notEmpty: ['any', 'none'],
  $null: ['any', 'none'],
  $notNull: ['any', 'none'],
};

/** The periods relative to today that are offered. */
export const relativePeriods = [
  'today',
  'yesterday',
  'tomorrow',
  'thisWeek',
  'lastWeek',
  'nextWeek',
  'thisMonth',
  'lastMonth',
  'nextMonth',
  'thisQuarter',
  'lastQuarter',
  'nextQuarter',
  'thisYear',
  'lastYear',
  'nextYear',
] as const;

/** Operators that negate each other: `{$exists: false}` is `{$notExists: true}`. */
const opposites = [
  ['$isTruly', '$isFalsy'],
  ['$arrayEmpty', '$arrayNotEmpty'],
  ['$exists', '$notExists'],
  ['$empty', '$notEmpty'],
  ['$null', '$notNull'],
] as const;

/** The negation of an operator without an operand; null if there is none. */
export function findOpposite(operator: string): string | null {
  const pair = opposites.find((each) => (each as readonly string[]).includes(operator));
  return pair ? (pair[0] === operator ? pair[1] : pair[0]) : null;
}

const textTypes = new Set(['string', 'text', 'email', 'url', 'phone', 'color']);
const listFamilies = (field: Field): readonly Family[] => {
  if (field.target) return ['relation'];
  if (field.type === 'password') return [];
  if (field.type === 'json' || field.type === 'file') return ['any'];
  if (field.type === 'array' || (field.type === 'select' && field.multiple)) return ['array', 'any'];
  if (textTypes.has(field.type)) return ['text', 'scalar', 'any'];
  if (field.type === 'boolean') return ['boolean', 'scalar', 'any'];
  if (field.type === 'date' || field.type === 'datetime') return ['date', 'scalar', 'any'];
  return ['scalar', 'any'];
};

/** The operators that apply to a field, the most common ones first. */
export function listOperators(field: Field): string[] {
  const fieldFamilies = listFamilies(field);
  return Object.entries(filterOperators)
    .map(([name, [family]]) => ({ name, rank: fieldFamilies.indexOf(family) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank)
    .map(({ name }) => name);
}
