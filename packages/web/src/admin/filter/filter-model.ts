/** The filter of a grid: conditions, all or any of which hold. What it cannot show is kept as JSON. */
import type { Field, Filter } from '@tablinum/client';
import { readText } from '../records/value-text.ts';

export type OperandKind = 'one' | 'list' | 'pair' | 'none' | 'period' | 'periods';
type Family = 'scalar' | 'text' | 'any' | 'boolean' | 'relation' | 'date' | 'array';

/** Every operator of the wire, with the kind of fields it fits and what stands beside it. */
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

/** Periods that count from today, as the choice offers them. */
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

/** A whole value that stands for one of the caller's, such as `{{$user.id}}`; of every type. */
const variable = /^\{\{.*\}\}$/s;

export interface Condition {
  /** A field, or a field behind relations: `artist.name`. */
  readonly path: string;
  readonly operator: string;
  readonly text: string;
}

export interface FilterModel {
  readonly match: '$and' | '$or';
  readonly conditions: readonly Condition[];
}

const texts = new Set(['string', 'text', 'email', 'url', 'phone', 'color']);
const families = (field: Field): readonly Family[] => {
  if (field.target) return ['relation'];
  if (field.type === 'password') return [];
  if (field.type === 'json') return ['any'];
  if (field.type === 'array' || (field.type === 'select' && field.multiple)) return ['array', 'any'];
  if (texts.has(field.type)) return ['text', 'scalar', 'any'];
  if (field.type === 'boolean') return ['boolean', 'scalar', 'any'];
  if (field.type === 'date' || field.type === 'datetime') return ['date', 'scalar', 'any'];
  return ['scalar', 'any'];
};

/** The operators that fit a field, the usual ones first. */
export function operatorsFor(field: Field): string[] {
  const fit = families(field);
  const found = Object.entries(filterOperators).filter(([, [family]]) => fit.includes(family));
  return found
    .map(([name]) => name)
    .sort((a, b) => fit.indexOf(filterOperators[a]![0]) - fit.indexOf(filterOperators[b]![0]));
}

/** The wire's filter, or null where there is none; conditions that are not finished yet are left out. */
export function filterOf(model: FilterModel, fieldAt: (path: string) => Field | null): Filter | null {
  const parts = model.conditions.flatMap(({ path, operator, text }) => {
    const field = fieldAt(path);
    const operand = field && operandOf(field, operator, text);
    return operand ? [{ [path]: { [operator]: operand.value } }] : [];
  });
  return parts.length === 0 ? null : { [model.match]: parts };
}

function operandOf(field: Field, operator: string, text: string): { value: unknown } | null {
  const kind = filterOperators[operator]?.[1];
  if (kind === 'none') return { value: true };
  if (text.trim() === '') return null;
  if (kind === 'period') return { value: periodOf(text.trim()) };
  if (kind === 'one' && variable.test(text.trim())) return { value: text.trim() };
  const parts = text
    .split(kind === 'one' ? /$^/ : /[\n,]/)
    .map((each) => each.trim())
    .filter((each) => each !== '');
  if (kind === 'periods') return { value: parts };
  const element =
    kind === 'list' && (field.type === 'array' || field.multiple)
      ? { ...field, type: 'string', multiple: false }
      : field;
  const values = parts.map((each) => readText(element, each));
  const read = values.flatMap((each) => ('value' in each ? [each.value] : []));
  if (read.length !== parts.length) return null;
  return { value: kind === 'one' ? read[0] : read };
}

function periodOf(text: string): unknown {
  return (relativePeriods as readonly string[]).includes(text) ? { type: text } : text;
}

/** The model that shows a filter, or null for one that is more than a list of conditions. */
export function modelOf(filter: Filter | undefined): FilterModel | null {
  if (!filter) return { match: '$and', conditions: [] };
  const [[match, parts] = [], ...more] = Object.entries(filter);
  if ((match !== '$and' && match !== '$or') || more.length > 0 || !Array.isArray(parts)) return null;
  const conditions = parts.map(conditionOf);
  return conditions.every((each) => each !== null) ? { match, conditions } : null;
}

function conditionOf(part: unknown): Condition | null {
  if (typeof part !== 'object' || part === null) return null;
  const [[path, rest] = [], ...more] = Object.entries(part);
  if (path === undefined || path.startsWith('$') || more.length > 0 || typeof rest !== 'object' || rest === null)
    return null;
  const [[operator, value] = [], ...others] = Object.entries(rest as object);
  if (operator === undefined || !filterOperators[operator] || others.length > 0) return null;
  return { path, operator, text: operandText(value) };
}

function operandText(value: unknown): string {
  if (value === true || value === null) return value === null ? '' : 'true';
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value === 'object') return String((value as { type?: unknown }).type ?? JSON.stringify(value));
  return String(value);
}
