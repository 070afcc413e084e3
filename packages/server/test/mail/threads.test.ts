import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { baseSubject, isReply } from '../../src/mail/threads/base-subject.ts';
import { groupIntoConversations } from '../../src/mail/threads/conversation-groups.ts';
import { GroupRebuild } from '../../src/mail/threads/group-rebuild.ts';
import { partitionIntoThreads } from '../../src/mail/threads/partition.ts';
import {
  addParties,
  buildPartyEntries,
  type FoundParty,
  findSubjectMatches,
  initialRowLimit,
  type PartyRange,
  type SubjectIndex,
} from '../../src/mail/threads/subject-matches.ts';
import { computeThreadIndexKeys } from '../../src/mail/threads/thread-index-keys.ts';
import { computeThreadKey, joinsBySubject, type ThreadedMail } from '../../src/mail/threads/thread-key.ts';

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
])('the base subject of %j is %j', (subject, base, reply) => {
  expect([baseSubject(subject), isReply(subject)]).toEqual([base, reply]);
});

test('a base subject is its own base subject, and has a bounded length', () => {
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
  ownAddresses: [],
  ...more,
});
const from = (address: string): ThreadedMail['from'] => [{ name: '', address }];

describe('conversations', () => {
  test('a reply belongs to the conversation of its original, even if the original never arrived', () => {
    const mails = [
      mail({ messageId: 'a@x' }),
      mail({ messageId: 'b@x', inReplyTo: ['a@x'], subject: 'Re: Hello' }),
      mail({ messageId: 'c@x', references: ['gone@x'] }),
      mail({ messageId: 'd@x', references: ['gone@x'] }),
    ];
    expect(partitionIntoThreads(mails)).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  test('a different subject starts a new conversation', () => {
    expect(
      partitionIntoThreads([
        mail({ messageId: 'a@x' }),
        mail({ messageId: 'b@x', inReplyTo: ['a@x'], subject: 'Something else' }),
      ]),
    ).toEqual([[0], [1]]);
  });

  test('messages with the same id but different content are grouped by subject', () => {
    const mails = [
      mail({ messageId: 'a@x' }),
      mail({ messageId: 'a@x', subject: 'Other' }),
      mail({ messageId: 'a@x', subject: 'RE: hello' }),
    ];
    expect(partitionIntoThreads(mails)).toEqual([[0, 2], [1]]);
  });

  test('replies to oneself, circular references, and messages without headers are grouped', () => {
    const mails = [
      mail({ messageId: 'a@x', inReplyTo: ['a@x'] }),
      mail({ messageId: 'b@x', inReplyTo: ['c@x'] }),
      mail({ messageId: 'c@x', inReplyTo: ['b@x'] }),
      mail({ subject: '' }),
      mail({ subject: '' }),
    ];
    expect(partitionIntoThreads(mails)).toEqual([[0], [1, 2], [3], [4]]);
  });

  test('of 5,000 references, only the first and the nearest ones are used', () => {
    const references = Array.from({ length: 5000 }, (_, at) => `${at}@x`);
    expect(computeThreadKey(mail({ messageId: 'a@x', references })).ids.length).toBeLessThanOrEqual(102);
  });

  test('replies without references are grouped by subject and correspondents within thirty days, except for lists', () => {
    const asked = mail({ messageId: 'a@x', from: from('ada@x.example'), to: from('shop@y.example') });
    const answer = mail({ messageId: 'b@x', subject: 'AW: hello', from: from('ADA@x.example'), at: 30 * day });
    const own = new Set(['shop@y.example']);
    expect(joinsBySubject(answer, asked, own)).toBe(true);
    expect(partitionIntoThreads([answer, asked], own)).toEqual([[0, 1]]);
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

  test('conversations do not depend on the order of arrival', () => {
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
      ownAddresses: fc.constant([]),
      at: fc.integer({ min: 0, max: 60 }).map((days) => days * day),
    });
    const own = new Set(['own@x']);
    const named = (mails: readonly ThreadedMail[], order: readonly number[]): string =>
      JSON.stringify(
        partitionIntoThreads(
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

  test('a shared recipient does not join conversations; a sender of one of them does, and so does a second message to one person', () => {
    const own = new Set(['shop@y', 'support@y']);
    const message = (subject: string, sender: string, to: readonly string[], more: Partial<ThreadedMail> = {}) =>
      mail({ subject, from: from(sender), to: to.flatMap(from), ...more });
    const order = message('Order', 'ada@x', ['help@y', 'eve@x']);
    const answers: readonly (readonly [ThreadedMail, boolean])[] = [
      [message('Re: Order', 'bob@x', ['help@y', 'eve@x']), false],
      [message('Re: Order', 'bob@x', ['ada@x']), true],
      [message('Re: Order', 'eve@x', ['shop@y']), true],
      [message('Re: Order', 'SHOP@y', ['Ada@x']), true],
      [message('Re: Order', 'shop@y', ['eve@x']), false],
      [message('Re: Order', 'ada@x', ['shop@y'], { ownAddresses: ['ada@x'] }), false],
    ];
    expect(answers.map(([answer]) => joinsBySubject(answer, order, own))).toEqual(answers.map(([, joins]) => joins));
    const sent = message('Order', 'shop@y', ['ada@x', 'help@y'], { ownAddresses: ['help@y'] });
    expect(joinsBySubject(message('Re: Order', 'support@y', ['ada@x']), sent, own)).toBe(true);
    expect(joinsBySubject(message('Re: Order', 'support@y', ['help@y']), sent, own)).toBe(false);
    const copied = { ...sent, to: [], cc: from('ada@x') };
    expect(joinsBySubject(message('Re: Order', 'support@y', ['ada@x']), copied, own)).toBe(false);
  });

  describe('grouping by an index of subjects and correspondents', () => {
    // Many messages are from or to one person, with a different correspondent each time; the others are between other
    // people.
    const sender = fc.oneof(
      { weight: 2, arbitrary: fc.constant('ada@x') },
      { weight: 3, arbitrary: fc.nat(20).map((number) => `p${number}@x`) },
      { weight: 1, arbitrary: fc.constantFrom('own@x', 'alias@x') },
    );
    const random = fc
      .record({
        sender,
        receivers: fc.constantFrom(['ada@x'], ['ada@x'], ['ada@x'], ['own@x', 'p1@x'], ['alias@x', 'p2@x']),
        copies: fc.constantFrom([], [], ['ada@x'], ['alias@x']),
        subject: fc.constantFrom('Hello', 'Hello', 'Re: Hello', 'AW: hello', 'Re: Other'),
        bulk: fc.constantFrom(...Array.from({ length: 9 }, () => false), true),
        ownAddresses: fc.constantFrom([], [], ['alias@x']),
        at: fc.integer({ min: 1, max: 80 }).map((days) => days * day),
      })
      .map(({ sender: writer, receivers, copies, ...rest }) =>
        mail({ ...rest, from: from(writer), to: receivers.flatMap(from), cc: copies.flatMap(from) }),
      );
    const own = new Set(['own@x']);
    const messages = fc.array(random, { minLength: 2, maxLength: 24, size: 'max' });

    test('does not depend on the order of arrival, however many messages a subject has', async () => {
      const arrival = fc.record({
        ranks: fc.array(fc.nat(), { minLength: 24, maxLength: 24 }),
        at: fc.integer({ min: 1, max: 4 }),
        most: fc.integer({ min: 1, max: 2 }),
      });
      await fc.assert(
        fc.asyncProperty(messages, arrival, async (mails, { ranks, at, most }) => {
          const order = [...mails.keys()].sort((one, other) => ranks[one]! - ranks[other]!);
          const store = new IndexedStore(own, most);
          for (let start = 0; start < order.length; start += at)
            await store.add(order.slice(start, start + at).map((place) => [place, mails[place]!]));
          expect(store.groups()).toEqual(partitionIntoThreads(mails, own));
        }),
        { numRuns: 1000 },
      );
    });

    test('gives the same result as a rebuild', () => {
      fc.assert(
        fc.property(messages, (mails) => {
          const inTime = [...mails.entries()].sort((one, other) => one[1].at - other[1].at);
          const regrouping = new GroupRebuild(own);
          for (const [place, each] of inTime)
            regrouping.add({ id: place, conversation: null, threadKeys: computeThreadIndexKeys(each, each.at) });
          const found = [...regrouping.groups()].flatMap((group) =>
            group === null ? [] : [group.misplaced.map(({ id }) => id).sort((one, other) => one - other)],
          );
          expect(found.sort((one, other) => one[0]! - other[0]!)).toEqual(partitionIntoThreads(mails, own));
        }),
        { numRuns: 1000 },
      );
    });

    test('takes as long with ten thousand messages of a subject as with ten', async () => {
      const steps = async (count: number): Promise<number> => {
        const store = new IndexedStore(own, initialRowLimit);
        const many = Array.from({ length: count }, (_, place) =>
          mail({
            subject: place % 2 === 0 ? 'Alarm' : 'Re: Alarm',
            from: from('ada@x'),
            to: from('own@x'),
            at: place * 1000,
          }),
        );
        // The state after these messages have arrived. They are stored without grouping, because their conversation is
        // already known.
        store.fill(many);
        store.rows = 0;
        for (const at of [0, count / 2, count]) {
          const later = { from: from('ada@x'), to: from('bob@x'), at: at * 1000 };
          await store.add([[count + at, mail({ subject: 'Alarm', ...later })]]);
          await store.add([[count + at + 1, mail({ subject: 'Re: Alarm', ...later })]]);
        }
        return store.rows;
      };
      expect(await steps(10_000)).toBeLessThanOrEqual((await steps(100)) + 10);
    });
  });
});

/** In-memory conversations that are only found by the index. */
class IndexedStore implements SubjectIndex {
  /** The number of rows that were read. */
  rows = 0;
  readonly #own: ReadonlySet<string>;
  readonly #most: number;
  readonly #index = new Map<string, { kind: number; second: number; place: number }[]>();
  readonly #conversations = new Map<number, number>();

  constructor(own: ReadonlySet<string>, most: number) {
    this.#own = own;
    this.#most = most;
  }

  /** Adds messages that arrive together, each with its number. */
  async add(arriving: readonly (readonly [place: number, mail: ThreadedMail])[]): Promise<void> {
    const signs = arriving.map(([, each]) => addParties(computeThreadIndexKeys(each, each.at), this.#own));
    const matches = await findSubjectMatches(this, signs, this.#most);
    const { placements, merges } = groupIntoConversations(
      matches.map((links) => ({ keys: [], ...links })),
      new Map(),
    );
    for (const { into, others } of merges)
      for (const [place, conversation] of this.#conversations)
        if (others.includes(conversation)) this.#conversations.set(place, into);
    for (const [index, place] of placements.entries()) {
      const conversation = 'first' in place ? arriving[place.first]![0] : place.conversation;
      this.#store(arriving[index]![0], arriving[index]![1], conversation);
    }
  }

  /** Adds messages that all belong to one conversation. */
  fill(mails: readonly ThreadedMail[]): void {
    for (const [place, each] of mails.entries()) this.#store(place, each, 0);
  }

  #store(place: number, each: ThreadedMail, conversation: number): void {
    this.#conversations.set(place, conversation);
    for (const { key, kind } of buildPartyEntries(addParties(computeThreadIndexKeys(each, each.at), this.#own))) {
      const list = this.#index.get(key) ?? [];
      this.#index.set(key, list);
      list.push({ kind, second: each.at / 1000, place });
    }
  }

  groups(): number[][] {
    const places = [...this.#conversations.keys()].sort((one, other) => one - other);
    return [...Map.groupBy(places, (place) => this.#conversations.get(place)).values()];
  }

  async presentKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(keys.filter((key) => this.#index.has(key)));
  }

  async rowsIn(key: string, ranges: readonly PartyRange[], most: number): Promise<FoundParty[]> {
    const found = ranges.flatMap((range, index) => {
      const near = this.#in(key, range).sort((one, other) => one.second - other.second || one.place - other.place);
      if (range.nearestTo === 'to') near.reverse();
      return near
        .slice(0, most)
        .map(({ second, place }) => ({ range: index, second, conversation: this.#conversations.get(place)! }));
    });
    this.rows += found.length;
    return found;
  }

  async conversationsIn(key: string, range: PartyRange): Promise<number[]> {
    const found = this.#in(key, range).map(({ place }) => this.#conversations.get(place)!);
    this.rows += found.length;
    return found;
  }

  #in(key: string, { kind, from: first, to }: PartyRange) {
    return (this.#index.get(key) ?? []).filter(
      (each) => each.kind === kind && each.second >= first && each.second <= to,
    );
  }
}
