import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { baseSubject, isReply } from '../../src/mail/threads/base-subject.ts';
import { partition } from '../../src/mail/threads/partition.ts';
import { joinsBySubject, type ThreadedMail, threadKey } from '../../src/mail/threads/thread-key.ts';

test.each([
  ['Hello', 'hello', false],
  ['Re: Hello', 'hello', true],
  ['RE: FW: Re[2]: Hello', 'hello', true],
  ['Fwd: hello (fwd)', 'hello', true],
  ['[Fwd: Re: Hello]', 'hello', true],
  ['[list] Re: [list] Hello', 'hello', true],
  ['Re: [list 12] Hello', 'hello', true],
  ['[list]', '[list]', false],
  ['Re: [list]', '[list]', true],
  ['AW: WG: Hallo', 'hallo', true],
  ['Antw.: x', 'antw.: x', false],
  ['SV: VS: Hej', 'hej', true],
  ['回复：你好', '你好', true],
  ['答复: 转发: 你好', '你好', true],
  ['Отв: Привет', 'привет', true],
  ['Re : Bonjour', 'bonjour', true],
  ['Ｒｅ：\u3000Ｈｅｌｌｏ', 'hello', true],
  ['Re (3): x', 'x', true],
  ['Re^2: x', 'x', true],
  ['Regarding: x', 'regarding: x', false],
  ['Re', 're', false],
  ['  a \t\r\n b  ', 'a b', false],
  ['RE:', '', true],
  ['', '', false],
  ['constructor: x', 'constructor: x', false],
])('the base of %j is %j', (subject, base, reply) => {
  expect([baseSubject(subject), isReply(subject)]).toEqual([base, reply]);
});

test('a base is its own base, of bounded length, whatever the subject', () => {
  const pieces = fc.constantFrom(
    'Re:',
    'Fwd: ',
    '[a]',
    '[',
    ']',
    '(fwd)',
    ' ',
    'AW:',
    '[Fwd:',
    'x',
    '\ud800',
    'İ',
    'ß',
    '：',
    '\u0000',
  );
  const subject = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.array(pieces, { maxLength: 40 }).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(subject, (text) => {
      const base = baseSubject(text);
      expect(base.isWellFormed()).toBe(true);
      expect(baseSubject(`Re: ${base}`)).toBe(baseSubject(base));
      expect(baseSubject(base)).toBe(base);
    }),
    { numRuns: 1000 },
  );
  expect(baseSubject('Re:'.repeat(1_000_000)).length).toBeLessThanOrEqual(1000);
  expect(baseSubject(`${'[a]'.repeat(300)}x`)).toBe('x');
});

const day = 24 * 3_600_000;
const mail = (more: Partial<ThreadedMail>): ThreadedMail => ({
  messageId: null,
  inReplyTo: [],
  references: [],
  subject: 'Hello',
  from: [],
  to: [],
  cc: [],
  bulk: false,
  at: 0,
  ...more,
});
const from = (address: string): ThreadedMail['from'] => [{ name: '', address }];

describe('conversations', () => {
  test('an answer belongs to what it answers, also when that was never seen', () => {
    const mails = [
      mail({ messageId: 'a@x' }),
      mail({ messageId: 'b@x', inReplyTo: ['a@x'], subject: 'Re: Hello' }),
      mail({ messageId: 'c@x', references: ['gone@x'] }),
      mail({ messageId: 'd@x', references: ['gone@x'] }),
    ];
    expect(partition(mails)).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  test('another subject is another conversation', () => {
    expect(
      partition([
        mail({ messageId: 'a@x' }),
        mail({ messageId: 'b@x', inReplyTo: ['a@x'], subject: 'Something else' }),
      ]),
    ).toEqual([[0], [1]]);
  });

  test('one id twice with another content: by the subject', () => {
    const mails = [
      mail({ messageId: 'a@x' }),
      mail({ messageId: 'a@x', subject: 'Other' }),
      mail({ messageId: 'a@x', subject: 'RE: hello' }),
    ];
    expect(partition(mails)).toEqual([[0, 2], [1]]);
  });

  test('who answers themselves, circles, and messages without anything', () => {
    const mails = [
      mail({ messageId: 'a@x', inReplyTo: ['a@x'] }),
      mail({ messageId: 'b@x', inReplyTo: ['c@x'] }),
      mail({ messageId: 'c@x', inReplyTo: ['b@x'] }),
      mail({ subject: '' }),
      mail({ subject: '' }),
    ];
    expect(partition(mails)).toEqual([[0], [1, 2], [3], [4]]);
  });

  test('of 5,000 references the first and the nearest count', () => {
    const references = Array.from({ length: 5000 }, (_, at) => `${at}@x`);
    expect(threadKey(mail({ messageId: 'a@x', references })).ids.length).toBeLessThanOrEqual(102);
  });

  test('without references by subject: an answer, the same people, thirty days, no lists', () => {
    const asked = mail({ messageId: 'a@x', from: from('ada@x.example'), to: from('shop@y.example') });
    const answer = mail({ messageId: 'b@x', subject: 'AW: hello', from: from('ADA@x.example'), at: 30 * day });
    const own = new Set(['shop@y.example']);
    expect(joinsBySubject(answer, asked, own)).toBe(true);
    expect(partition([answer, asked], own)).toEqual([[0, 1]]);
    const others: ThreadedMail[] = [
      mail({ ...answer, at: 30 * day + 1 }),
      mail({ ...answer, at: -1 }),
      mail({ ...answer, subject: 'hello' }),
      mail({ ...answer, subject: 'AW: hello you' }),
      mail({ ...answer, bulk: true }),
      mail({ ...answer, references: ['gone@x'] }),
      mail({ ...answer, from: from('bob@x.example'), to: from('shop@y.example') }),
    ];
    expect(others.map((each) => joinsBySubject(each, asked, own))).toEqual(others.map(() => false));
    expect(joinsBySubject(answer, mail({ ...asked, bulk: true }), own)).toBe(false);
    const empty = mail({ subject: '', from: from('ada@x.example') });
    expect(joinsBySubject(mail({ ...answer, subject: 'Re:' }), empty, own)).toBe(false);
  });

  test('the order in which messages arrive decides nothing', () => {
    const ids = fc.constantFrom('a@x', 'b@x', 'c@x', 'd@x', 'e@x', 'f@x');
    const people = fc.array(
      fc.constantFrom('ada@x', 'bob@x', 'own@x').map((address) => ({ name: '', address })),
      { maxLength: 2 },
    );
    const random = fc.record({
      messageId: fc.option(ids),
      inReplyTo: fc.array(ids, { maxLength: 1 }),
      references: fc.array(ids, { maxLength: 3 }),
      subject: fc.constantFrom('Hello', 'Re: Hello', 'AW: hello', 'Other', '', 'Re:'),
      from: people,
      to: people,
      cc: fc.constant([]),
      bulk: fc.boolean(),
      at: fc.integer({ min: 0, max: 60 }).map((days) => days * day),
    });
    const own = new Set(['own@x']);
    const named = (mails: readonly ThreadedMail[], order: readonly number[]): string =>
      JSON.stringify(
        partition(
          order.map((at) => mails[at]!),
          own,
        )
          .map((group) => group.map((at) => order[at]!).sort((a, b) => a - b))
          .sort((a, b) => a[0]! - b[0]!),
      );
    fc.assert(
      fc.property(
        fc.array(random, { minLength: 2, maxLength: 12 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (mails, dice) => {
          const straight = mails.map((_, at) => at);
          const mixed = straight
            .map((at) => [dice.next().value as number, at] as const)
            .sort((a, b) => a[0] - b[0])
            .map(([, at]) => at);
          expect(named(mails, mixed)).toBe(named(mails, straight));
        },
      ),
      { numRuns: 500 },
    );
  });
});
