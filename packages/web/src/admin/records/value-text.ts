/** Converts the values of fields to text and back. */
import type { Field } from '@tablinum/client';
import { parseExactJson } from '../../data/exact-json.ts';

/** The value of a text, or why the text is not valid. */
export type ParsedValue = { readonly value: unknown } | { readonly problem: 'number' | 'json' | 'moment' };

const numberTypes = new Set(['integer', 'bigInt', 'float', 'double', 'sort']);

/** The text that an input shows for a value. */
export function toInputText(field: Field, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (field.type === 'datetime' && !field.dateOnly) return toLocalDateTime(String(value));
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}

/** Parses the text of an input. An empty text is null. @param previous the value that the text was edited from. */
export function parseInputText(field: Field, text: string, previous?: unknown): ParsedValue {
  if (text === '') return { value: null };
  if (numberTypes.has(field.type)) return parseNumber(field, text);
  if (['json', 'array'].includes(field.type) || (field.type === 'select' && field.multiple)) return parseJson(text);
  if (field.type === 'boolean') return { value: text === 'true' };
  if (field.type === 'datetime' && !field.dateOnly) {
    const date = new Date(text);
    return Number.isNaN(date.getTime()) ? { problem: 'moment' } : { value: keepOffset(date, previous).toISOString() };
  }
  // Phone numbers can be typed with separators; the server only accepts digits.
  if (field.type === 'phone') return { value: text.replace(/[\s().\u2013-]/g, '') || null };
  return { value: text };
}

function parseNumber(field: Field, text: string): ParsedValue {
  const plain = text.trim().replaceAll('\u2212', '-');
  const number = Number(plain);
  if (!Number.isFinite(number)) return { problem: 'number' };
  return { value: field.type === 'bigInt' && !Number.isSafeInteger(number) ? plain : number };
}

function parseJson(text: string): ParsedValue {
  try {
    return { value: parseExactJson(text) };
  } catch {
    return { problem: 'json' };
  }
}

/**
 * Clock times repeat when summer time ends, and JavaScript reads them as the earlier moment. The moment with the UTC
 * offset of the previous value is taken if it has the same clock time, so that an edit of the minutes keeps the hour.
 */
function keepOffset(date: Date, previous: unknown): Date {
  const before = new Date(typeof previous === 'string' ? previous : Number.NaN);
  if (Number.isNaN(before.getTime())) return date;
  const minutes = before.getTimezoneOffset() - date.getTimezoneOffset();
  const moved = new Date(date.getTime() + minutes * 60_000);
  return toLocalDateTime(moved.toISOString()) === toLocalDateTime(date.toISOString()) ? moved : date;
}

/** A timestamp in the local time zone, in the format of a datetime-local input. */
function toLocalDateTime(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const padTwo = (n: number): string => String(n).padStart(2, '0');
  const day = `${String(date.getFullYear()).padStart(4, '0')}-${padTwo(date.getMonth() + 1)}-${padTwo(date.getDate())}`;
  return `${day}T${padTwo(date.getHours())}:${padTwo(date.getMinutes())}:${padTwo(date.getSeconds())}`;
}

const dateTimeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const numberFormat = new Intl.NumberFormat();

const maxShownLength = 500;

/**
 * The text that is shown for a value. Timestamps use the local time zone and format. @param whole does not shorten long
 * texts.
 */
export function formatValue(field: Field, value: unknown, whole = false): string {
  if (value === null || value === undefined) return '';
  if (field.type === 'datetime' && !field.dateOnly) {
    const date = new Date(String(value));
    return Number.isNaN(date.getTime()) ? String(value) : dateTimeFormat.format(date);
  }
  if ((field.type === 'integer' || field.type === 'bigInt') && !field.primaryKey && typeof value === 'number')
    return numberFormat.format(value);
  if (field.type === 'file') return [value].flat().map(getFileName).join(', ');
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ');
  if (typeof value === 'object') return JSON.stringify(value);
  return whole ? String(value) : String(value).slice(0, maxShownLength);
}

function getFileName(file: unknown): string {
  return String((file as { readonly name?: unknown } | null)?.name ?? '');
}

export function isNumber(field: Field): boolean {
  return numberTypes.has(field.type) || field.type === 'decimal';
}
