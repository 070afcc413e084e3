/** What stands beside an operator, as texts of inputs and as the wire has it. */
import type { Field } from '@tablinum/client';
import { readText } from '../records/value-text.ts';
import { filterOperators } from './operators.ts';
import { isDay, isPeriod, periodOf } from './period.ts';

/** A whole value that stands for one of the caller's, such as `{{$user.id}}`; of every type. */
const variable = /^\{\{.*\}\}$/s;
const decimalForm = /^-?\d+(?:\.\d+)?$/;

/** Why a text stands for no operand. */
export type OperandProblem = 'period' | 'number' | 'date' | 'json' | 'moment';

/** The operand that texts stand for, or null while they are not finished: one text, a pair of them, or a list. */
export function operandOf(
  field: Field,
  operator: string,
  texts: readonly string[],
): { readonly value: unknown } | null {
  const kind = filterOperators[operator]?.[1];
  if (kind === 'none') return { value: true };
  const given = texts.map((each) => each.trim());
  if (given.length === 0 || given.some((each) => each === '')) return null;
  if (kind === 'period') return { value: periodOf(given[0]!) };
  if (kind === 'periods') return given.length === 2 ? { value: given.map(periodOf) } : null;
  if (kind === 'pair') return given.length === 2 ? all(given.map((each) => scalarOf(field, each))) : null;
  if (kind === 'one') return scalarOf(field, texts[0]!);
  if (given.length === 1 && variable.test(given[0]!)) return { value: given[0] };
  return all(texts.map((each) => scalarOf(elementOf(field), each)));
}

/** The texts that stand for an operand, or null where no texts do. */
export function textsOf(field: Field, operator: string, value: unknown): readonly string[] | null {
  const kind = filterOperators[operator]?.[1];
  if (kind === undefined) return null;
  if (kind === 'none') return [];
  const parts = kind === 'periods' && !Array.isArray(value) ? [value, value] : [value].flat();
  const texts = parts.map(kind === 'period' || kind === 'periods' ? periodText : plainText);
  if (texts.some((each) => each === null)) return null;
  const read = operandOf(field, operator, texts as string[]);
  return read && sameOperand(field, read.value, kind === 'periods' ? parts : value) ? (texts as string[]) : null;
}

/** What is wrong with one of the texts of a condition; null where nothing is, and while it is empty. */
export function operandProblem(field: Field, operator: string, text: string): OperandProblem | null {
  const kind = filterOperators[operator]?.[1];
  const given = text.trim();
  if (given === '' || variable.test(given)) return null;
  if (kind === 'period' || kind === 'periods') return isPeriod(given) ? null : 'period';
  const { type, dateOnly } = kind === 'list' ? elementOf(field) : field;
  if (type === 'date' || (type === 'datetime' && dateOnly)) return isDay(given) ? null : 'date';
  if (type === 'decimal') return decimalForm.test(given) ? null : 'number';
  const read = readText(kind === 'list' ? elementOf(field) : field, text);
  return 'problem' in read ? read.problem : null;
}

function scalarOf(field: Field, text: string): { readonly value: unknown } | null {
  if (variable.test(text.trim())) return { value: text.trim() };
  const read = readText(field, text);
  return 'value' in read ? read : null;
}

/** What an element of a list is read as. */
function elementOf(field: Field): Field {
  return field.type === 'array' || field.multiple ? { ...field, type: 'string', multiple: false } : field;
}

function all(read: readonly ({ readonly value: unknown } | null)[]): { readonly value: unknown } | null {
  const values = read.flatMap((each) => each ?? []);
  return values.length === read.length ? { value: values.map(({ value }) => value) } : null;
}

function periodText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return null;
  const { type, number, unit } = value as Readonly<Record<string, unknown>>;
  return [type, number, unit].filter((each) => each !== undefined).join(' ');
}

function plainText(value: unknown): string | null {
  return value === null || typeof value === 'object' ? null : String(value);
}

/** Exact numbers may be sent as numbers and as texts. */
function sameOperand({ type }: Field, read: unknown, value: unknown): boolean {
  const text = (each: unknown): string =>
    JSON.stringify(each, (_, part: unknown) =>
      typeof part === 'number' && (type === 'decimal' || type === 'bigInt') ? String(part) : part,
    );
  return text(read) === text(value);
}
