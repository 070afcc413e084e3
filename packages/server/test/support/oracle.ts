/** What a list must answer, worked out in memory with none of the server's code. */

export type Value = string | number | boolean | null;
export type Row = Readonly<Record<string, Value>>;
export type Filter = { readonly [key: string]: unknown };

export interface OracleRole {
  readonly filter: Filter | null;
  readonly fields: readonly string[] | null;
}

export interface Tables {
  readonly children: readonly Row[];
  readonly parents: readonly Row[];
}

export interface Query {
  readonly filter: Filter;
  readonly sort: readonly { readonly field: string; readonly descending: boolean }[];
  readonly page: number;
  readonly pageSize: number;
}

/** The ids of a page and the count, as a role sees them. */
export function expectedList(tables: Tables, query: Query, role: OracleRole): { rows: Row[]; count: number } {
  const seen = tables.children.filter((row) => role.filter === null || holds(role.filter, row, tables));
  const matched = seen.filter((row) => holds(query.filter, row, tables));
  const sorted = matched.toSorted((a, b) => compareRows(a, b, query));
  const from = (query.page - 1) * query.pageSize;
  const page = sorted.slice(from, from + query.pageSize).map((row) => masked(row, role));
  return { rows: page, count: matched.length };
}

function masked(row: Row, role: OracleRole): Row {
  if (role.fields === null) return row;
  return Object.fromEntries(Object.entries(row).filter(([name]) => name === 'id' || role.fields!.includes(name)));
}

function compareRows(a: Row, b: Row, { sort }: Query): number {
  for (const { field, descending } of sort) {
    const order = compareValues(a[field]!, b[field]!, descending);
    if (order !== 0) return order;
  }
  const last = sort.at(-1)?.descending ?? false;
  return compareValues(a['id']!, b['id']!, last);
}

/** Nulls last in both directions. */
function compareValues(a: Value, b: Value, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = less(a, b) ? -1 : less(b, a) ? 1 : 0;
  return descending ? -order : order;
}

/** Text by code point, false before true. */
function less(a: Value, b: Value): boolean {
  if (typeof a !== 'string' || typeof b !== 'string') return Number(a) < Number(b);
  const left = [...a].map((each) => each.codePointAt(0)!);
  const right = [...b].map((each) => each.codePointAt(0)!);
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    if (left[index] !== right[index]) return left[index]! < right[index]!;
  }
  return left.length < right.length;
}

export function holds(filter: Filter, row: Row, tables: Tables): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (isEmpty({ [key]: value })) return true;
    if (key === '$and') return (value as Filter[]).every((each) => holds(each, row, tables));
    if (key === '$or') return (value as Filter[]).some((each) => !isEmpty(each) && holds(each, row, tables));
    if (key === '$not') return !holds(value as Filter, row, tables);
    if (key.startsWith('parent.')) return throughParent({ [key.slice(7)]: value }, row, tables);
    if (key === 'parent') return throughParent(value as Filter, row, tables);
    return tests(value, row[key]!);
  });
}

/** No condition, however it is nested: as if it were not written. */
function isEmpty(filter: Filter): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (key === '$and' || key === '$or') return (value as Filter[]).every(isEmpty);
    return key === '$not' && isEmpty(value as Filter);
  });
}

function throughParent(filter: Filter, row: Row, tables: Tables): boolean {
  return tables.parents.some((parent) => parent['id'] === row['parentId'] && holds(filter, parent, tables));
}

function tests(condition: unknown, value: Value): boolean {
  if (condition === null || typeof condition !== 'object')
    return condition === null ? value === null : value === condition;
  if (Array.isArray(condition)) return condition.includes(value);
  return Object.entries(condition).every(([operator, operand]) => test(operator, operand, value));
}

const fold = (text: string): string => [...text].map((each) => each.toLowerCase().replace('ς', 'σ')).join('');

function test(operator: string, operand: unknown, value: Value): boolean {
  switch (operator) {
    case '$eq':
      return operand === null ? value === null : value === operand;
    case '$ne':
      return !test('$eq', operand, value);
    case '$in':
      return value !== null && (operand as Value[]).includes(value);
    case '$notIn':
      return !test('$in', operand, value);
    case '$gt':
      return value !== null && less(operand as Value, value);
    case '$gte':
      return value !== null && !less(value, operand as Value);
    case '$lt':
      return value !== null && less(value, operand as Value);
    case '$lte':
      return value !== null && !less(operand as Value, value);
    case '$null':
      return (value === null) === operand;
    case '$includes':
      return value !== null && fold(value as string).includes(fold(operand as string));
    case '$startsWith':
      return value !== null && fold(value as string).startsWith(fold(operand as string));
    case '$notEndsWith':
      return !(value !== null && fold(value as string).endsWith(fold(operand as string)));
    case '$like':
      return value !== null && likePattern(operand as string).test(value as string);
    default:
      throw new Error(`the oracle knows no ${operator}`);
  }
}

function likePattern(pattern: string): RegExp {
  const source = pattern.replace(
    /\\(.)|([%_])|[\s\S]/gu,
    (part, escaped: string | undefined, wild: string | undefined) => {
      if (wild) return wild === '%' ? '[\\s\\S]*' : '[\\s\\S]';
      return (escaped ?? part).replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
    },
  );
  return new RegExp(`^${source}$`, 'u');
}
