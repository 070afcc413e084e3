import type { FieldModel } from './model.ts';
import { type Calendar, relativeDays } from './periods.ts';
import { dateTypes, listTypes, textTypes } from './values.ts';

/** The role and the user of a request, and its time and zone: the values of the variables of a filter. */
export interface Caller {
  readonly role: string;
  readonly user: Readonly<Record<string, unknown>>;
  readonly calendar: Calendar;
}

/** A resolved operand. `value` is undefined if a variable has no value that can be compared. */
export interface ResolvedOperand {
  readonly value: unknown;
}

const braces = /^\{\{\s*(.*?)\s*\}\}$/s;

/** The variable that a value names, or null. */
export function findVariable(value: unknown): string | null {
  const name = typeof value === 'string' ? (braces.exec(value)?.[1] ?? null) : null;
  if (name === null) return null;
  const known =
    /^(\$user|ctx\.state\.currentUser)\.\w+$/.test(name) ||
    name === '$role' ||
    name === '$now' ||
    (name.startsWith('$date.') && relativeDays.has(name.slice(6)));
  return known ? name.replace('ctx.state.currentUser.', '$user.') : null;
}

/** The operand of an operator on a field, with variables replaced by the caller's values. */
export function resolveOperand(operand: unknown, operator: string, field: FieldModel, caller: Caller): ResolvedOperand {
  const variable = findVariable(operand);
  if (variable === null) return { value: operand };
  const takesPeriod = operator.startsWith('$date');
  if (variable.startsWith('$date.')) {
    const type = variable.slice(6);
    if (takesPeriod) return { value: { type } };
    return { value: fitting(startOfPeriod(type, field, caller), field) };
  }
  const value = variableValue(variable, caller);
  if (value === null || value === undefined) return { value: undefined };
  if (takesPeriod) return { value: isPeriod(value) ? value : undefined };
  if (listTypes.has(field.type)) return { value: nonEmpty(Array.isArray(value) ? value : [value]) };
  if (operator === '$in' || operator === '$notIn') return { value: nonEmpty(fittingList(value, field)) };
  return { value: fitting(value, field) };
}

function variableValue(variable: string, { role, user, calendar }: Caller): unknown {
  if (variable === '$role') return role;
  if (variable === '$now') return new Date(calendar.now).toISOString();
  return user[variable.slice('$user.'.length)];
}

function startOfPeriod(type: string, field: FieldModel, { calendar }: Caller): unknown {
  const [start] = relativeDays.get(type)!(calendar);
  if (field.type !== 'datetime') return start.toString();
  return new Date(start.toZonedDateTime(calendar.zone).epochMilliseconds).toISOString();
}

/** Values of users are times and days; other texts are not periods. */
function isPeriod(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value);
}

function fittingList(value: unknown, field: FieldModel): unknown[] {
  const list = (Array.isArray(value) ? value : [value]).map((each) => fitting(each, field));
  return list.includes(undefined) ? [] : list;
}

function nonEmpty(list: unknown[]): unknown[] | undefined {
  return list.length > 0 ? list : undefined;
}

/** The value if it matches the type of the field, otherwise undefined. */
function fitting(value: unknown, { type }: FieldModel): unknown {
  const isText = typeof value === 'string';
  if (textTypes.has(type) || type === 'select') return isText ? value : undefined;
  if (type === 'integer' || type === 'float' || type === 'double') return typeof value === 'number' ? value : undefined;
  if (type === 'bigInt') return typeof value === 'number' || (isText && /^-?\d{1,18}$/.test(value)) ? value : undefined;
  if (type === 'decimal')
    return typeof value === 'number' || (isText && /^-?\d{1,9}(\.\d{1,2})?$/.test(value)) ? value : undefined;
  if (type === 'date') return isText && /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined;
  if (dateTypes.has(type)) return isText && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? value : undefined;
  if (type === 'boolean') return typeof value === 'boolean' ? value : undefined;
  return undefined;
}
