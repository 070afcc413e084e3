/** Converts the text of a pasted cell to a value of its field. */
import type { Field } from '@tablinum/client';
import type { ImportTexts } from '../../ui/i18n/en/imports.ts';
import { isNumber, parseInputText } from './value-text.ts';

/** The value of a pasted cell, or why the text is not one. */
export type PastedValue = { readonly value: unknown } | { readonly problem: string };

const trueTexts = new Set(['true', 'yes', '1', 'y', 'x']);
const falseTexts = new Set(['false', 'no', '0', 'n']);
const numberPattern = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const wholePattern = /^[+-]?\d+$/;

/**
 * Texts mean the same as in the editor of the cell. Spreadsheets write truth values and choices in other forms, which are
 * accepted too: `TRUE`, `yes`, `ROCK` for the choice `Rock`. Lists of choices are JSON or separated by commas.
 */
export function parsePastedValue(field: Field, text: string, t: ImportTexts['paste']['problems']): PastedValue {
  if (text.trim() === '' && field.type !== 'string' && field.type !== 'text') return parseEmpty(field, t);
  if (text === '') return parseEmpty(field, t);
  if (field.type === 'boolean') return parseBoolean(text, t);
  if (field.type === 'select') return field.multiple ? parseChoices(field, text, t) : parseChoice(field, text, t);
  if (isNumber(field)) return parseNumber(field, text.trim().replaceAll('\u2212', '-'), t);
  if (field.type === 'date' || field.dateOnly) return matchText(text, /^\d{4,6}-\d{2}-\d{2}$/, t.date);
  if (field.type === 'time') return matchText(text, /^\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/, t.time);
  const parsed = parseInputText(field, text);
  if ('problem' in parsed) return { problem: parsed.problem === 'json' ? t.json : t.dateTime };
  if (field.type === 'array' && !Array.isArray(parsed.value)) return { problem: t.array };
  if (field.maxLength !== undefined && typeof parsed.value === 'string' && [...parsed.value].length > field.maxLength)
    return { problem: t.tooLong(field.maxLength) };
  return parsed;
}

function parseEmpty(field: Field, t: ImportTexts['paste']['problems']): PastedValue {
  return field.required ? { problem: t.required } : { value: null };
}

function parseBoolean(text: string, t: ImportTexts['paste']['problems']): PastedValue {
  const plain = text.trim().toLowerCase();
  if (trueTexts.has(plain)) return { value: true };
  return falseTexts.has(plain) ? { value: false } : { problem: t.boolean };
}

function parseChoice({ enum: choices = [] }: Field, text: string, t: ImportTexts['paste']['problems']): PastedValue {
  const plain = text.trim().toLowerCase();
  const choice = choices.find((each) => each === text) ?? choices.find((each) => each.toLowerCase() === plain);
  return choice === undefined ? { problem: t.choice(choices.join(', ')) } : { value: choice };
}

function parseChoices(field: Field, text: string, t: ImportTexts['paste']['problems']): PastedValue {
  const parsed = text.trim().startsWith('[') ? parseInputText(field, text) : { value: text.split(',') };
  if (!('value' in parsed) || !Array.isArray(parsed.value)) return { problem: t.json };
  const values: unknown[] = [];
  for (const each of parsed.value) {
    const choice = parseChoice(field, String(each), t);
    if ('problem' in choice) return choice;
    values.push(choice.value);
  }
  return { value: values };
}

function parseNumber(field: Field, text: string, t: ImportTexts['paste']['problems']): PastedValue {
  const isWhole = ['integer', 'bigInt', 'sort'].includes(field.type);
  if (!(isWhole ? wholePattern : numberPattern).test(text)) return { problem: isWhole ? t.whole : t.number };
  const parsed = parseInputText(field, text);
  if ('problem' in parsed) return { problem: t.number };
  const { min, max } = field;
  if (min !== undefined && Number(text) < Number(min)) return { problem: t.min(String(min)) };
  if (max !== undefined && Number(text) > Number(max)) return { problem: t.max(String(max)) };
  return parsed;
}

function matchText(text: string, pattern: RegExp, problem: string): PastedValue {
  const plain = text.trim();
  return pattern.test(plain) ? { value: plain } : { problem };
}
