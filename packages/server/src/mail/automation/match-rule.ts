/**
 * Whether messages match rules. Text is compared without case, after Unicode normalisation (NFKC), by searching for fixed texts,
 * so the time is at most proportional to the length of the message times the number of conditions.
 */
import { foldText } from '../../database/text-fold.ts';
import { readWords, searchTokens, textTokens } from '../search/text-words.ts';
import { isListMail } from './automatic-mail.ts';
import type { AddressComparison, RuleCondition, TextComparison } from './rule-conditions.ts';
import type { RuleMessage } from './rule-message.ts';

/** What decides whether a rule matches. */
export interface RuleTest {
  readonly matches: 'all' | 'any';
  readonly conditions: readonly RuleCondition[];
}

/** A message whose texts are prepared for comparison once for all rules. */
export class ComparableMessage {
  readonly message: RuleMessage;
  #subject: string | null = null;
  #tokens: readonly string[] | null = null;
  readonly #headers = new Map<string, readonly string[]>();

  constructor(message: RuleMessage) {
    this.message = message;
  }

  /** The subject, prepared. */
  get subject(): string {
    this.#subject ??= prepareText(this.message.subject);
    return this.#subject;
  }

  /** The words of the text, as the search index has them. */
  get tokens(): readonly string[] {
    this.#tokens ??= textTokens(readWords(this.message.text));
    return this.#tokens;
  }

  /** The values of a header, prepared. @param name in lower case. */
  readHeader(name: string): readonly string[] {
    const known = this.#headers.get(name);
    if (known) return known;
    const values = this.message.headers
      .filter(([each]) => each.toLowerCase() === name)
      .map(([, value]) => prepareText(value));
    this.#headers.set(name, values);
    return values;
  }
}

/** Whether a message matches all or any of the conditions of a rule. */
export function matchesRule({ matches, conditions }: RuleTest, message: ComparableMessage): boolean {
  const test = (condition: RuleCondition): boolean => matchesCondition(condition, message);
  return matches === 'any' ? conditions.some(test) : conditions.every(test);
}

/** The rules that match a message, in their order. */
export function listMatchingRules<T extends RuleTest>(rules: readonly T[], message: RuleMessage): T[] {
  const comparable = new ComparableMessage(message);
  return rules.filter((rule) => matchesRule(rule, comparable));
}

function matchesCondition(condition: RuleCondition, message: ComparableMessage): boolean {
  return testCondition(condition, message) !== condition.negate;
}

function testCondition(condition: RuleCondition, comparable: ComparableMessage): boolean {
  const { message } = comparable;
  switch (condition.field) {
    case 'from':
    case 'to':
    case 'cc':
      return matchesAddresses(message[condition.field], condition.operator, condition.value);
    case 'recipients':
      return matchesAddresses([...message.to, ...message.cc, ...message.bcc], condition.operator, condition.value);
    case 'subject':
      return matchesText(comparable.subject, condition.operator, prepareText(condition.value));
    case 'body':
      return containsPhrase(comparable.tokens, condition.value);
    case 'header': {
      const value = prepareText(condition.value);
      const values = comparable.readHeader(condition.header.toLowerCase());
      return values.some((each) => matchesText(each, condition.operator, value));
    }
    case 'size':
      return condition.operator === 'greater' ? message.size > condition.value : message.size < condition.value;
    case 'hasAttachments':
    case 'isReply':
      return message[condition.field] === condition.value;
    case 'isList':
      return isListMail(message.headers) === condition.value;
  }
}

/** The name is free text of the sender, so only `contains` compares it. */
function matchesAddresses(list: RuleMessage['from'], operator: AddressComparison, given: string): boolean {
  const value = prepareText(given);
  return list.some(({ name, address }) => {
    const text = prepareText(address);
    if (operator === 'matchesDomain') return isInDomain(text, value);
    if (operator === 'contains' && prepareText(name).includes(value)) return true;
    return matchesText(text, operator, value);
  });
}

/** Whether an address is of a domain or of a subdomain. */
function isInDomain(address: string, domain: string): boolean {
  const own = address.slice(address.lastIndexOf('@') + 1);
  return address.includes('@') && (own === domain || own.endsWith(`.${domain}`));
}

function matchesText(text: string, operator: TextComparison, value: string): boolean {
  switch (operator) {
    case 'is':
      return text === value;
    case 'contains':
      return text.includes(value);
    case 'startsWith':
      return text.startsWith(value);
    case 'endsWith':
      return text.endsWith(value);
  }
}

/** Whether the words of a phrase follow each other. A phrase without words is in no text. */
function containsPhrase(tokens: readonly string[], phrase: string): boolean {
  const { tokens: wanted, isPart } = searchTokens([...readWords(phrase)]);
  // The last token may be the beginning of a longer one.
  const last = isPart ? wanted.at(-1) : undefined;
  const exact = last === undefined ? wanted : wanted.slice(0, -1);
  if (exact.length === 0) return last !== undefined && tokens.some((token) => token.startsWith(last));
  const borders = computeBorders(exact);
  let length = 0;
  for (const [index, token] of tokens.entries()) {
    while (length > 0 && exact[length] !== token) length = borders[length - 1] ?? 0;
    if (exact[length] === token) length += 1;
    if (length < exact.length) continue;
    if (last === undefined || tokens[index + 1]?.startsWith(last)) return true;
    length = borders[length - 1] ?? 0;
  }
  return false;
}

/** For each prefix of a list the length of its longest proper prefix that is also its end (Knuth, Morris, Pratt). */
function computeBorders(wanted: readonly string[]): number[] {
  const borders = [0];
  let length = 0;
  for (let index = 1; index < wanted.length; index += 1) {
    while (length > 0 && wanted[length] !== wanted[index]) length = borders[length - 1] ?? 0;
    if (wanted[length] === wanted[index]) length += 1;
    borders.push(length);
  }
  return borders;
}

/** Without case and differences of width, and without spaces at the ends. */
function prepareText(text: string): string {
  return foldText(text.normalize('NFKC')).trim();
}
