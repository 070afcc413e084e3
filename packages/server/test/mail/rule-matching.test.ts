import { expect, test } from 'vitest';
import { foldText } from '../../src/database/text-fold.ts';
import { isAutomaticMail, isListMail } from '../../src/mail/automation/automatic-mail.ts';
import { listMatchingRules, type RuleTest } from '../../src/mail/automation/match-rule.ts';
import type { RuleCondition } from '../../src/mail/automation/rule-conditions.ts';
import type { RuleMessage } from '../../src/mail/automation/rule-message.ts';
import { measureProcessorTime } from '../support/timing.ts';

const message: RuleMessage = {
  from: [{ name: 'Cora Lind', address: 'cora@Sales.Example.NET' }],
  to: [{ name: '', address: 'shop@example.com' }],
  cc: [{ name: 'boss@example.org', address: 'dan@example.net' }],
  bcc: [{ name: '', address: 'eve@example.net' }],
  subject: 'Straße 7: your ORDER №12',
  text: 'Dear shop,\nthe Café in Zürich ordered 東京都 twice. Kind regards',
  headers: [
    ['X-Spam-Flag', 'NO'],
    ['X-Tag', 'one'],
    ['x-tag', 'Two three'],
  ],
  size: 1000,
  hasAttachments: true,
  isReply: false,
};
const matches = (condition: object, more: Partial<RuleMessage> = {}): boolean => {
  const rule = { matches: 'all', conditions: [{ negate: false, ...condition } as RuleCondition] } as const;
  return listMatchingRules([rule], { ...message, ...more }).length > 0;
};

test.each([
  [{ field: 'from', operator: 'is', value: 'CORA@sales.example.net' }, true],
  [{ field: 'from', operator: 'is', value: 'Cora Lind' }, false],
  [{ field: 'from', operator: 'contains', value: 'cora l' }, true],
  [{ field: 'from', operator: 'matchesDomain', value: 'example.net' }, true],
  [{ field: 'from', operator: 'matchesDomain', value: 'ample.net' }, false],
  [{ field: 'cc', operator: 'endsWith', value: '@example.org' }, false],
  [{ field: 'cc', operator: 'matchesDomain', value: 'example.org' }, false],
  [{ field: 'cc', operator: 'contains', value: 'boss@example.org' }, true],
  [{ field: 'to', operator: 'startsWith', value: 'shop@' }, true],
  [{ field: 'recipients', operator: 'is', value: 'eve@example.net' }, true],
  [{ field: 'to', operator: 'is', value: 'eve@example.net' }, false],
  [{ field: 'subject', operator: 'contains', value: 'order no12' }, true],
  [{ field: 'subject', operator: 'startsWith', value: 'STRASSE' }, false],
  [{ field: 'subject', operator: 'endsWith', value: ' no12 ' }, true],
  [{ field: 'body', operator: 'contains', value: 'cafe IN zurich' }, true],
  [{ field: 'body', operator: 'contains', value: 'in cafe' }, false],
  [{ field: 'body', operator: 'contains', value: 'caf' }, false],
  [{ field: 'body', operator: 'contains', value: '京都' }, true],
  [{ field: 'body', operator: 'contains', value: '都' }, true],
  [{ field: 'body', operator: 'contains', value: '…' }, false],
  [{ field: 'header', header: 'x-TAG', operator: 'is', value: 'two THREE' }, true],
  [{ field: 'header', header: 'X-Missing', operator: 'contains', value: 'a' }, false],
  [{ field: 'size', operator: 'greater', value: 999 }, true],
  [{ field: 'size', operator: 'greater', value: 1000 }, false],
  [{ field: 'size', operator: 'less', value: 1000 }, false],
  [{ field: 'hasAttachments', operator: 'is', value: false }, false],
  [{ field: 'isReply', operator: 'is', value: false }, true],
  [{ field: 'isList', operator: 'is', value: true }, false],
])('%j matches: %j, and negated the opposite', (condition, expected) => {
  expect(matches(condition)).toBe(expected);
  expect(matches({ ...condition, negate: true })).toBe(!expected);
});

test.each([
  [['List-Id', '<a.example.net>'], true, true],
  [['list-unsubscribe', '<mailto:x@example.net>'], true, true],
  [['Precedence', ' LIST (x)'], true, true],
  [['Precedence', 'bulk'], false, true],
  [['Precedence', 'first-class'], false, false],
  [['Auto-Submitted', 'auto-generated; owner=x'], false, true],
  [['Auto-Submitted', 'no'], false, false],
  [['X-Auto-Response-Suppress', 'OOF'], false, true],
  [['Content-Type', 'multipart/report; report-type=delivery-status'], false, true],
  [['X-Spam-Flag', 'YES'], false, true],
  [['Subject', 'bulk'], false, false],
] as const)('the header %j marks list mail: %j, and automatic mail: %j', (header, isList, isAutomatic) => {
  expect([isListMail([header]), isAutomaticMail([header])]).toEqual([isList, isAutomatic]);
});

/** Random texts over few letters, so that conditions often match. */
class Dice {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  number(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }
  pick<T>(list: readonly T[]): T {
    return list[this.number(list.length)] as T;
  }
  text(maxLength: number): string {
    return Array.from({ length: this.number(maxLength) + 1 }, () => this.pick(['a', 'B', 'b', ' ', '.', 'A'])).join('');
  }
  address(): string {
    return `${this.pick(['a', 'b', 'ab'])}@${this.pick(['x.example', 'y.x.example', 'xx.example', 'X.example'])}`;
  }
}

function randomMessage(dice: Dice): RuleMessage {
  const list = (): RuleMessage['to'] =>
    Array.from({ length: dice.number(3) }, () => ({ name: dice.text(4), address: dice.address() }));
  const headers = Array.from(
    { length: dice.number(3) },
    () => [dice.pick(['X-A', 'x-a', 'List-Id']), dice.text(5)] as const,
  );
  return {
    from: list(),
    to: list(),
    cc: list(),
    bcc: list(),
    subject: dice.text(8),
    text: dice.text(30),
    headers,
    size: dice.number(5),
    hasAttachments: dice.number(2) === 0,
    isReply: dice.number(2) === 0,
  };
}

function randomCondition(dice: Dice): RuleCondition {
  const field = dice.pick(['from', 'to', 'cc', 'recipients', 'subject', 'body', 'header', 'size', 'isReply', 'isList']);
  const negate = dice.number(3) === 0;
  if (field === 'size')
    return { field, operator: dice.pick(['greater', 'less'] as const), value: dice.number(5), negate };
  if (field === 'isReply' || field === 'isList') return { field, operator: 'is', value: dice.number(2) === 0, negate };
  if (field === 'body') return { field, operator: 'contains', value: dice.text(4), negate };
  const operators = ['is', 'contains', 'startsWith', 'endsWith'];
  if (field === 'subject' || field === 'header')
    return { field, operator: dice.pick(operators), value: dice.text(3), negate, header: 'X-A' } as RuleCondition;
  const operator = dice.pick([...operators, 'matchesDomain']);
  const value = operator === 'matchesDomain' ? 'x.example' : dice.pick([dice.address(), 'a', '@x.example', 'b@']);
  return { field, operator, value, negate } as RuleCondition;
}

/** A second implementation of the documented rules, as simple as possible. */
function oracle(condition: RuleCondition, message: RuleMessage): boolean {
  const low = (text: string): string => foldText(text).trim();
  const compare = (text: string, operator: string, value: string): boolean => {
    if (operator === 'is') return text === value;
    const index = text.indexOf(value);
    if (operator === 'contains') return index >= 0;
    if (operator === 'startsWith') return index === 0;
    return text.slice(-value.length) === value || value === '';
  };
  const words = (text: string): string[] => text.toLowerCase().match(/[ab]+/g) ?? [];
  const test = (): boolean => {
    const { value } = condition;
    switch (condition.field) {
      case 'from':
      case 'to':
      case 'cc':
      case 'recipients': {
        const { operator } = condition;
        const fields = condition.field === 'recipients' ? (['to', 'cc', 'bcc'] as const) : ([condition.field] as const);
        for (const { name, address } of fields.flatMap((each) => message[each])) {
          const domain = address.toLowerCase().split('@')[1] ?? '';
          if (operator === 'matchesDomain') {
            if (`.${domain}`.endsWith(`.${low(String(value))}`)) return true;
          } else if (compare(low(address), operator, low(String(value)))) return true;
          if (operator === 'contains' && low(name).includes(low(String(value)))) return true;
        }
        return false;
      }
      case 'subject':
        return compare(low(message.subject), condition.operator, low(condition.value));
      case 'body': {
        const wanted = words(condition.value);
        return wanted.length > 0 && ` ${words(message.text).join(' ')} `.includes(` ${wanted.join(' ')} `);
      }
      case 'header': {
        const values = message.headers.filter(([name]) => name.toLowerCase() === 'x-a').map(([, text]) => low(text));
        return values.some((each) => compare(each, condition.operator, low(condition.value)));
      }
      case 'size':
        return condition.operator === 'greater' ? message.size > condition.value : message.size < condition.value;
      case 'isList':
        return message.headers.some(([name]) => name === 'List-Id') === value;
      default:
        return message[condition.field] === value;
    }
  };
  return test() !== condition.negate;
}

test('20,000 random rules and messages are evaluated as by the oracle', () => {
  const dice = new Dice(18);
  let matched = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const conditions = Array.from({ length: 1 + dice.number(4) }, () => randomCondition(dice));
    const rule: RuleTest = { matches: dice.pick(['all', 'any'] as const), conditions };
    const example = randomMessage(dice);
    const results = conditions.map((each) => oracle(each, example));
    const expected = rule.matches === 'all' ? !results.includes(false) : results.includes(true);
    const found = listMatchingRules([rule], example).length > 0;
    if (found) matched += 1;
    if (found !== expected) expect({ rule, example, found }).toEqual({ rule, example, found: expected });
  }
  // Both outcomes occur often.
  expect(matched).toBeGreaterThan(5000);
  expect(matched).toBeLessThan(15_000);
});

test('hostile texts are matched in linear time', async () => {
  const text = 'a '.repeat(50_000);
  const value = 'a '.repeat(249).trim();
  const conditions = Array.from({ length: 50 }, () => ({
    field: 'body' as const,
    operator: 'contains' as const,
    value: `${value} b`,
    negate: false,
  }));
  const taken = await measureProcessorTime(() =>
    expect(listMatchingRules([{ matches: 'any', conditions }], { ...message, text, subject: text })).toEqual([]),
  );
  expect(taken).toBeLessThan(1000);
});
