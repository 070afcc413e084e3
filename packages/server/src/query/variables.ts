import { relativePeriods } from './period.ts';

/** A value in double braces. */
const variablePattern = /^\{\{\s*(.*?)\s*\}\}$/s;
const userPath = /^(?:\$user|ctx\.state\.currentUser)\.([A-Za-z][A-Za-z0-9_]{0,59})$/;

/** The variable that a whole-value text such as `{{$user.id}}` names, in its short spelling; null for other values. */
export function parseVariable(value: unknown): string | null {
  const inner = typeof value === 'string' && value.startsWith('{{') ? variablePattern.exec(value)?.[1] : undefined;
  return inner === undefined ? null : (canonicalName(inner) ?? inner);
}

/** The variable for a field of the user. */
export function userVariable(field: string): string {
  return `$user.${field}`;
}

/** The field of the user that a variable refers to; null for other variables. */
export function userFieldName(variable: string): string | null {
  return variable.startsWith('$user.') ? variable.slice(6) : null;
}

/** Whether a variable exists. */
export function isKnownVariable(name: string): boolean {
  return canonicalName(name) !== null;
}

function canonicalName(inner: string): string | null {
  if (inner === '$role' || inner === '$now' || datePeriod(inner) !== null) return inner;
  const field = userPath.exec(inner)?.[1];
  return field ? userVariable(field) : null;
}

/** The period that `$date.<period>` names; null for other variables. */
export function datePeriod(name: string): string | null {
  const period = name.startsWith('$date.') ? name.slice(6) : '';
  return relativePeriods.has(period) ? period : null;
}

/** Every caller has these variables; their values depend on field and time zone. */
const dateVariables = Object.fromEntries([...relativePeriods].map((period) => [`$date.${period}`, period]));

/** The values of the variables for one caller. A filter that needs a missing variable matches nothing. */
export function variableValues(
  role: string,
  user: Readonly<Record<string, unknown>> | null,
  now: string,
): Record<string, unknown> {
  const values: Record<string, unknown> = { ...dateVariables, $role: role, $now: now };
  for (const [name, value] of Object.entries(user ?? {})) values[userVariable(name)] = value;
  return values;
}
