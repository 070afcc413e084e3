/** Values of fields as people read and write them: one text for each, and back. */
import type { Field } from '@tablinum/client';
import { parseExactJson } from '../../data/exact-json.ts';

/** What a text stands for, or why it stands for nothing. */
export type ReadValue = { readonly value: unknown } | { readonly problem: 'number' | 'json' | 'moment' };

const numbers = new Set(['integer', 'bigInt', 'float', 'double', 'sort']);

/** The text that an input shows for a value. */
export function textOf(field: Field, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (field.type === 'datetime' && !field.dateOnly) return localMoment(String(value));
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}

/** The value that a text stands for; an empty one is null. */
export function readText(field: Field, text: string): ReadValue {
  if (text === '') return { value: null };
  if (numbers.has(field.type)) return numberOf(field, text);
  if (field.type === 'json' || field.type === 'array' || (field.type === 'select' && field.multiple))
    return jsonOf(text);
  if (field.type === 'boolean') return { value: text === 'true' };
  if (field.type === 'datetime' && !field.dateOnly) {
    const moment = new Date(text);
    return Number.isNaN(moment.getTime()) ? { problem: 'moment' } : { value: moment.toISOString() };
  }
  // People write telephone numbers in groups; the server takes digits.
  if (field.type === 'phone') return { value: text.replace(/[\s().\u2013-]/g, '') || null };
  return { value: text };
}

function numberOf(field: Field, text: string): ReadValue {
  const plain = text.trim().replaceAll('\u2212', '-');
  const number = Number(plain);
  if (!Number.isFinite(number)) return { problem: 'number' };
  return { value: field.type === 'bigInt' && !Number.isSafeInteger(number) ? plain : number };
}

function jsonOf(text: string): ReadValue {
  try {
    return { value: parseExactJson(text) };
  } catch {
    return { problem: 'json' };
  }
}

/** An instant in the reader's own zone, in the form of an input of date and time. */
function localMoment(iso: string): string {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return iso;
  const two = (n: number): string => String(n).padStart(2, '0');
  const day = `${String(moment.getFullYear()).padStart(4, '0')}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  return `${day}T${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}`;
}

const momentForm = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const numberForm = new Intl.NumberFormat();

const longestShown = 500;

/** The text that is shown for a value: moments in the reader's own zone and form. @param whole long texts too. */
export function shownText(field: Field, value: unknown, whole = false): string {
  if (value === null || value === undefined) return '';
  if (field.type === 'datetime' && !field.dateOnly) {
    const moment = new Date(String(value));
    return Number.isNaN(moment.getTime()) ? String(value) : momentForm.format(moment);
  }
  if ((field.type === 'integer' || field.type === 'bigInt') && !field.primaryKey && typeof value === 'number')
    return numberForm.format(value);
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ');
  if (typeof value === 'object') return JSON.stringify(value);
  return whole ? String(value) : String(value).slice(0, longestShown);
}

export function isNumber(field: Field): boolean {
  return numbers.has(field.type) || field.type === 'decimal';
}
