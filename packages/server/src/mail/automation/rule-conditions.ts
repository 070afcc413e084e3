/** The conditions of a rule, and how they are read from a request. No condition is a regular expression. */
import { isObject } from '../../protocol/json-text.ts';
import { automationLimits } from './automation-limits.ts';
import type { InputProblems } from './input-problems.ts';

const textOperators = ['is', 'contains', 'startsWith', 'endsWith'] as const;
const addressOperators = [...textOperators, 'matchesDomain'] as const;
const sizeOperators = ['greater', 'less'] as const;

/** How a condition compares text. */
export type TextComparison = (typeof textOperators)[number];
/** How a condition compares e-mail addresses. */
export type AddressComparison = (typeof addressOperators)[number];

/** The fields with addresses. `recipients` are To, Cc and Bcc. */
export const addressFields = ['from', 'to', 'cc', 'recipients'] as const;
/** The fields that are true or false. */
export const flagFields = ['hasAttachments', 'isReply', 'isList'] as const;

/** One condition. `negate` reverses it. */
export type RuleCondition = { readonly negate: boolean } & (
  | {
      readonly field: (typeof addressFields)[number];
      readonly operator: AddressComparison;
      readonly value: string;
    }
  | { readonly field: 'subject'; readonly operator: TextComparison; readonly value: string }
  /** The words of the value follow each other in the text. */
  | { readonly field: 'body'; readonly operator: 'contains'; readonly value: string }
  | { readonly field: 'header'; readonly header: string; readonly operator: TextComparison; readonly value: string }
  /** Bytes of the raw message. */
  | { readonly field: 'size'; readonly operator: 'greater' | 'less'; readonly value: number }
  | { readonly field: (typeof flagFields)[number]; readonly operator: 'is'; readonly value: boolean }
);

/** Every field with its operators, for messages and for the OpenAPI document. */
export const operatorsByField: Readonly<Record<RuleCondition['field'], readonly string[]>> = {
  from: addressOperators,
  to: addressOperators,
  cc: addressOperators,
  recipients: addressOperators,
  subject: textOperators,
  body: ['contains'],
  header: textOperators,
  size: sizeOperators,
  hasAttachments: ['is'],
  isReply: ['is'],
  isList: ['is'],
};

const knownFields = Object.keys(operatorsByField);
const members = ['field', 'operator', 'value', 'negate', 'header'];

/**
 * Reads the conditions of a request.
 *
 * @param problems collects what is wrong, under `conditions.<index>.<member>`.
 * @returns those that are right.
 */
export function parseConditions(input: unknown, problems: InputProblems): RuleCondition[] {
  const { conditions: max } = automationLimits;
  if (!Array.isArray(input) || input.length === 0 || input.length > max) {
    problems.add(
      'conditions',
      `Give a list of 1 to ${max} conditions. For every message, give {"field": "size", "operator": "greater", "value": 0}.`,
    );
    return [];
  }
  return input.flatMap((each: unknown, index) => parseCondition(each, `conditions.${index}`, problems) ?? []);
}

function parseCondition(input: unknown, path: string, problems: InputProblems): RuleCondition | null {
  if (!isObject(input)) {
    problems.add(path, 'Give {"field", "operator", "value"}, such as {"field": "from", "operator": "is", "value": …}.');
    return null;
  }
  const { field, operator, value, negate = false, header } = input;
  problems.addUnknown(path, input, members);
  if (typeof negate !== 'boolean') problems.add(`${path}.negate`, 'Give true or false, or leave it out.');
  const operators = typeof field === 'string' && Object.hasOwn(operatorsByField, field) ? listOperators(field) : null;
  if (operators === null) {
    problems.add(`${path}.field`, `Give one of ${knownFields.join(', ')}.`);
    return null;
  }
  if (typeof operator !== 'string' || !operators.includes(operator))
    problems.add(`${path}.operator`, `For ${field as string}, give ${operators.join(' or ')}.`);
  const problem = findValueProblem(field as string, operator, value);
  if (problem !== null) problems.add(`${path}.value`, problem);
  const condition = { field, operator, value, negate };
  if (field !== 'header') {
    if (header !== undefined) problems.add(`${path}.header`, 'Only a condition on the field "header" names a header.');
    return condition as RuleCondition;
  }
  if (!isHeaderName(header))
    problems.add(`${path}.header`, 'Give the name of a header, such as X-Spam-Flag, without the colon.');
  return { ...condition, header } as RuleCondition;
}

function listOperators(field: string): readonly string[] {
  return operatorsByField[field as RuleCondition['field']];
}

function findValueProblem(field: string, operator: unknown, value: unknown): string | null {
  if (field === 'size')
    return Number.isSafeInteger(value) && (value as number) >= 0 ? null : 'Give a number of bytes, such as 1000000.';
  if ((flagFields as readonly string[]).includes(field))
    return typeof value === 'boolean' ? null : 'Give true or false.';
  const { valueLength } = automationLimits;
  if (typeof value !== 'string' || value.trim() === '' || value.length > valueLength || !isPlainText(value))
    return `Give a text of 1 to ${valueLength} characters.`;
  if (operator === 'matchesDomain' && !isDomain(value))
    return 'Give a domain, such as example.com; its subdomains match too.';
  return null;
}

/** Whether a text has neither control characters nor halves of surrogate pairs. */
export function isPlainText(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text);
}

function isDomain(text: string): boolean {
  return !/[\s@,;<>]/.test(text.trim()) && !text.startsWith('.');
}

function isHeaderName(name: unknown): name is string {
  return (
    typeof name === 'string' && name.length <= automationLimits.headerNameLength && /^[\x21-\x39\x3b-\x7e]+$/.test(name)
  );
}
