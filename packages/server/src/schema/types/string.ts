import { loadLater } from '../../base/load-later.ts';
import { isWellFormedText } from '../../base/well-formed.ts';
import { limits } from '../../protocol/limits.ts';
import {
  type FieldType,
  fieldType,
  invalidOperand,
  operatorSets,
  optionChecks,
  type ValidationSchema,
} from '../field-type.ts';

/** The engine of regular expressions, loaded with the first pattern. */
export const loadRe2 = loadLater<typeof import('re2js')>('re2js');

/** Short text. */
export const stringType = defineTextType('string', 1_000_000);

/** A type for text whose definition may limit its length, counted in code points, and require a linear-time pattern. */
export function defineTextType(name: FieldType['name'], maxLength: number): FieldType {
  return fieldType({
    name,
    storage: 'text',
    operators: operatorSets.text,
    options: { maxLength: optionChecks.wholeNumber(1, maxLength), pattern: checkPattern },
    validationSchema: textSchema,
    readOperand: readTextOperand,
  });
}

/** The rules for text with an optional maximum length and pattern. */
export function textSchema({ maxLength, pattern }: { maxLength?: number; pattern?: string }): ValidationSchema {
  return {
    type: 'string',
    wellFormed: true,
    ...(maxLength !== undefined && { maxLength }),
    ...(pattern !== undefined && { pattern }),
  };
}

/** A text operand of a filter. Numbers and booleans are not converted to text. */
export function readTextOperand(value: unknown): unknown {
  return typeof value === 'string' && isWellFormedText(value) ? value : invalidOperand;
}

/** Checks a regular expression of a definition. */
export function checkPattern(value: unknown): string | null {
  if (typeof value !== 'string') return 'Give a regular expression as text.';
  if (value.length > limits.patternLength)
    return `The pattern has more than ${limits.patternLength} characters. Shorten it.`;
  try {
    loadRe2().RE2JS.compile(value);
    return null;
  } catch {
    return 'The pattern is not a regular expression in RE2 syntax, which has no look-around and no back-references.';
  }
}
