/** The operand of an operator: conversion between the texts of inputs and the values of the API. */
import type { Field } from '@tablinum/client';
import { parseInputText } from '../records/value-text.ts';
import { filterOperators } from './operators.ts';
import { isDay, isPeriod, parsePeriod } from './period.ts';

/** A variable such as `{{$user.id}}`, which is allowed for fields of every type. */
const variablePattern = /^\{\{.*\}\}$/s;
const decimalPattern = /^-?\d+(?:\.\d+)?$/;

/** Why a text is not a valid operand. */
export type OperandProblem = 'period' | 'number' | 'date' | 'json' | 'moment';

/** The operand of one text, a pair of texts or a list of texts; null while they are incomplete. */
export function parseOperand(
  field: Field,
  operator: string,
  texts: readonly string[],
): { readonly value: unknown } | null {
  const kind = filterOperators[operator]?.[1];
  if (kind === 'none') return { value: true };
  const given = texts.map((each) => each.trim());
  const [first] = given;
  if (first === undefined || given.some((each) => each === '')) return null;
  if (kind === 'period') return { value: parsePeriod(first) };
  if (kind === 'periods') return given.length === 2 ? { value: given.map(parsePeriod) } : null;
  if (kind === 'pair')
    return given.length === 2 ? combineOperands(given.map((each) => parseScalar(field, each))) : null;
  if (kind === 'one') return parseScalar(field, texts[0] ?? '');
  if (given.length === 1 && variablePattern.test(first)) return { value: first };
  return combineOperands(texts.map((each) => parseScalar(toElementField(field), each)));
}

/** The texts of an operand; null if it cannot be shown as texts. */
export function formatOperand(field: Field, operator: string, value: unknown): readonly string[] | null {
  const kind = filterOperators[operator]?.[1];
  if (kind === undefined) return null;
  if (kind === 'none') return [];
  const parts = kind === 'periods' && !Array.isArray(value) ? [value, value] : [value].flat();
  const texts = parts.map(kind === 'period' || kind === 'periods' ? formatPeriod : formatScalar);
  if (texts.some((each) => each === null)) return null;
  const reparsed = parseOperand(field, operator, texts as string[]);
  return reparsed && isSameOperand(field, reparsed.value, kind === 'periods' ? parts : value)
    ? (texts as string[])
    : null;
}

/** What is wrong with one text of a condition; null if it is valid or empty. */
export function operandProblem(field: Field, operator: string, text: string): OperandProblem | null {
  const kind = filterOperators[operator]?.[1];
  const given = text.trim();
  if (given === '' || variablePattern.test(given)) return null;
  if (kind === 'period' || kind === 'periods') return isPeriod(given) ? null : 'period';
  const { type, dateOnly } = kind === 'list' ? toElementField(field) : field;
  if (type === 'date' || (type === 'datetime' && dateOnly)) return isDay(given) ? null : 'date';
  if (type === 'decimal') return decimalPattern.test(given) ? null : 'number';
  const result = parseInputText(kind === 'list' ? toElementField(field) : field, text);
  return 'problem' in result ? result.problem : null;
}

function parseScalar(field: Field, text: string): { readonly value: unknown } | null {
  if (variablePattern.test(text.trim())) return { value: text.trim() };
  const result = parseInputText(field, text);
  return 'value' in result ? result : null;
}

/** The field by which an element of a list is parsed. */
function toElementField(field: Field): Field {
  return field.type === 'array' || field.multiple ? { ...field, type: 'string', multiple: false } : field;
}

function combineOperands(
  operands: readonly ({ readonly value: unknown } | null)[],
): { readonly value: unknown } | null {
  const values = operands.flatMap((each) => each ?? []);
  return values.length === operands.length ? { value: values.map(({ value }) => value) } : null;
}

function formatPeriod(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return null;
  const { type, number, unit } = value as Readonly<Record<string, unknown>>;
  return [type, number, unit].filter((each) => each !== undefined).join(' ');
}

function formatScalar(value: unknown): string | null {
  return value === null || typeof value === 'object' ? null : String(value);
}

/** Compares operands. Exact numbers can be numbers or texts. */
function isSameOperand({ type }: Field, parsed: unknown, value: unknown): boolean {
  const text = (each: unknown): string =>
    JSON.stringify(each, (_, part: unknown) =>
      typeof part === 'number' && (type === 'decimal' || type === 'bigInt') ? String(part) : part,
    );
  return text(parsed) === text(value);
}
