/** Values of the parameters of mail lists, which may come from a query string. Each error is an ApiError `PARAMETER_INVALID`. */
import { ApiError, booleanExpected } from '../../protocol/api-error.ts';
import { parseJson } from '../../protocol/json-text.ts';

export function parseText(name: string, input: unknown): string {
  if (typeof input === 'string') return input;
  if (typeof input === 'number') return String(input);
  throw new ApiError('PARAMETER_INVALID', `${name} must be text.`);
}

export function parseBoolean(name: string, input: unknown): boolean {
  if (input === true || input === 'true' || input === '1' || input === null || input === '') return true;
  if (input === false || input === 'false' || input === '0') return false;
  throw booleanExpected(name);
}

export function parseListKey(name: string, input: unknown): number {
  const key = typeof input === 'string' && /^\d{1,15}$/.test(input) ? Number(input) : input;
  if (typeof key === 'number' && Number.isSafeInteger(key)) return key;
  throw new ApiError('PARAMETER_INVALID', `${name} must be the id of a record.`);
}

/** A date, which no cursor looks like. */
export function isDay(input: unknown): boolean {
  return typeof input === 'string' && /^\d{4}-\d\d-\d\d/.test(input);
}

export function parseDay(name: string, input: unknown): number {
  const moment = isDay(input) ? Date.parse(input as string) : Number.NaN;
  if (Number.isFinite(moment)) return moment;
  throw new ApiError('PARAMETER_INVALID', `${name} takes a day such as 2026-03-01, or a moment in ISO 8601.`);
}

export function parseFilterJson(text: string): unknown {
  return parseJson(text, () => new ApiError('PARAMETER_INVALID', 'filter is not valid JSON.'));
}
