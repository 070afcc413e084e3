import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { anonymous } from '../../src/identity/authenticator.ts';
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import { MailIngest } from '../../src/mail/store/ingest.ts';
import { ConversationRebuild } from '../../src/mail/store/rebuild-conversations.ts';
import { resolveMailbox } from '../../src/mail/store/resolve-mailbox.ts';
import { partitionIntoThreads } from '../../src/mail/threads/partition.ts';
import { describeEngines } from '../support/engines.ts';
import { fakeParser, noBlobs } from '../support/mail-copies.ts';
import { openMailWorld } from '../support/mail-world.ts';
import type { TestServer } from '../support/scenario.ts';

const runs = Number(process.env['PROPERTY_RUNS'] ?? 12);
const own = 'shop@example.com';

interface Drawn {
  readonly id: number | null;
  readonly references: readonly number[];
  readonly subject: string;
  readonly people: readonly number[];
  readonly day: number;
  readonly bulk: boolean;
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  id: fc.option(fc.nat(9), { freq: 8 }),
  references: fc.array(fc.nat(9), { maxLength: 3 }),
  subject: fc.constantFrom('Order', 'Re: Order', 'AW: order', 'Fwd: Order', 'Other', 'Re: Other', ''),
  people: fc.array(fc.nat(3), { minLength: 1, maxLength: 2 }),
  day: fc.nat(60),
  bulk: fc.constantFrom(false, false, false, true),
});

function mailOf({ id, references, subject, people, bulk }: Drawn, number: number): ParsedMail {
  const addresses = people.map((person) => ({ name: '', address: `p${person}@example.net` }));
  return {
    sha256: String(number),
    size: 1,
    messageId: id === null ? null : `m${id}@example.net`,
    inReplyTo: references.slice(0, 1).map((each) => `m${each}@example.net`),
    references: references.map((each) => `m${each}@example.net`),
    subject,
    from: addresses.slice(0, 1),
    to: [{ name: '', address: own }, ...addresses.slice(1)],
    cc: [],
    bcc: [],
    replyTo: [],
    sentAt: null,
    tracedAt: null,
    snippet: '',
    text: '',
    bodyWords: [],
    html: null,
    headers: [],
    attachments: [],
    bulk,
    authentication: null,
    warnings: [],
    bodyState: 'complete',
  };
}

/** A message on its way in. */
interface Arriving {
  readonly mail: ParsedMail;
  readonly receivedAt: string;
  readonly mailbox?: 'INBOX' | 'Sent';
}

/** An account, and the keys of its e-mails by their places. */
interface Stored {
  readonly id: number;
  readonly emailOf: ReadonlyMap<number, number>;
}

describeEngines('conversations of a store', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openMailWorld(engine);
  });
  afterAll(() => server.stop());

  /** Stores messages in an order, some at a time, in an account of their own; gives their keys, by their places. */
  function stored(all: readonly Drawn[], order: readonly number[], at: number): Promise<Stored> {
    return storedMails(
      all.map((each, number) => ({ mail: mailOf(each, number), receivedAt: receivedAt(each) })),
      order,
      at,
    );
  }

  async function storedMails(
    all: readonly Arriving[],
    order: readonly number[],
    at: number,
    aliases?: readonly string[],
  ): Promise<Stored> {
    const { main } = server.running.applications;
    const body = { address: own, ...(aliases && { aliases }) };
    const { id } = await server.data('POST /api/accounts:create', { as: 'ann', body });
    const context = main.recordContext(anonymous, null);
    const mailboxes = {
      INBOX: await resolveMailbox(context, id, 'INBOX'),
      Sent: await resolveMailbox(context, id, 'Sent'),
    };
    const ingest = ingestOf(main);
    const flags = { read: false, starred: false, answered: false, draft: false };
    const emailOf = new Map<number, number>();
    for (let start = 0; start < order.length; start += at) {
      const numbers = order.slice(start, start + at);
      const incoming = numbers.map((number) => {
        const { mail, receivedAt: moment, mailbox = 'INBOX' } = all[number]!;
        return { raw: rawOf(mail), mailbox: mailboxes[mailbox], flags, receivedAt: moment };
      });
      const results = await ingest.store({ id, address: own }, incoming, { actor: null, requestId: null });
      for (const [index, { emailId }] of results.entries()) emailOf.set(numbers[index]!, emailId!);
    }
    return { id, emailOf };
  }

  const mails = new WeakMap<Uint8Array, ParsedMail>();
  const rawOf = (mail: ParsedMail): Uint8Array => {
    const raw = Buffer.from(`message ${mail.sha256}`);
    mails.set(raw, mail);
    return raw;
  };
  /** The way into a store, without a parser. */
  function ingestOf({ database, changes, clock, logger }: TestServer['running']['applications']['main']): MailIngest {
    const parser = fakeParser((raw) => mails.get(raw)!);
    return new MailIngest({ database, changes, clock, logger, parser, blobs: noBlobs });
  }

  /** The groups of the places of messages. */
  async function groups(all: readonly Drawn[], { id, emailOf }: Stored): Promise<number[][]> {
    const rows = (await server.data(`GET /api/emails?accountId=${id}&pageSize=100&folder=inbox`, { as: 'ann' })) as {
      id: number;
      conversationId: number;
    }[];
    const conversationOf = new Map(rows.map((row) => [row.id, row.conversationId]));
    const found = Map.groupBy(all.keys(), (number) => conversationOf.get(emailOf.get(number)!)!);
    const counted = (await server.data(`GET /api/conversations?accountId=${id}&pageSize=100`, { as: 'ann' })) as {
      id: number;
      messages: number;
    }[];
    expect(new Map(counted.map((each) => [each.id, each.messages]))).toEqual(
      new Map([...found].map(([conversation, numbers]) => [conversation, numbers.length])),
    );
    return [...found.values()];
  }

  const receivedAt = ({ day }: Drawn): string => new Date(Date.UTC(2026, 8, 1 + day)).toISOString();

  test('are those of the rule, in whatever order and in how many steps messages come', {
    timeout: 240_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(drawn, { minLength: 2, maxLength: 9 }),
        fc.infiniteStream(fc.nat()),
        fc.integer({ min: 1, max: 9 }),
        async (all, keys, at) => {
          const ranks = all.map(() => keys.next().value as number);
          const order = [...all.keys()].sort((one, other) => ranks[one]! - ranks[other]!);
          const threaded = all.map((each, number) => ({
            ...mailOf(each, number),
            at: Date.parse(receivedAt(each)),
            ownAddresses: [],
          }));
          expect(await groups(all, await stored(all, order, at))).toEqual(
            partitionIntoThreads(threaded, new Set([own])),
          );
        },
      ),
      { numRuns: runs },
    );
  });

  /** Conversations as they show themselves, each with the places of its messages. */
  async function shown({ id, emailOf }: Stored): Promise<unknown> {
    const { database } = server.running.applications.main;
    const read = async (text: string): Promise<readonly (readonly unknown[])[]> =>
      (await database.read([{ text, values: [] }]))[0]!;
    const placeOf = new Map([...emailOf].map(([place, email]) => [email, place]));
    const emails = await read(`SELECT id,"conversationId" FROM emails WHERE "accountId"=${id}`);
    const places = (conversation: unknown): unknown =>
      emails.flatMap((row) => (row[1] === conversation ? [placeOf.get(Number(row[0]))] : [])).sort();
    const conversations = await read(
      `SELECT id,subject,CAST(participants AS text),messages,unread,starred,attachments,"lastAt",snippet,"mergedInto" IS NULL FROM conversations WHERE "accountId"=${id} AND messages>0`,
    );
    const keys = await read(`SELECT key,"conversationId" FROM "mailThreadKeys" WHERE "accountId"=${id}`);
    return {
      conversations: conversations.map(([key, ...rest]) => JSON.stringify([places(key), ...rest])).sort(),
      keys: keys.map(([key, conversation]) => JSON.stringify([key, places(conversation)])).sort(),
    };
  }

  /** Puts e-mails, keys, counts and what is shown where dice have it. */
  async function spoil({ id, emailOf }: Stored, dice: () => number): Promise<void> {
    const { database } = server.running.applications.main;
    const of = `"accountId"=${id}`;
    const [found] = await database.read([{ text: `SELECT id FROM conversations WHERE ${of}`, values: [] }]);
    const any = (): number => Number(found![dice() % found!.length]![0]);
    const statements = [...emailOf.values()].flatMap((email) => [
      `UPDATE emails SET "conversationId"=${dice() % 5 === 0 ? 'NULL' : any()} WHERE id=${email} AND ${dice() % 2}=0`,
      `UPDATE "mailThreadKeys" SET "conversationId"=${any()} WHERE ${of} AND id%3=${dice() % 3}`,
      `UPDATE conversations SET messages=${dice() % 4},snippet='x',subject='y',participants='[]' WHERE id=${any()}`,
      `UPDATE conversations SET "mergedInto"=${any()} WHERE id=${any()} AND ${dice() % 2}=0`,
    ]);
    statements.push(`DELETE FROM "mailThreadKeys" WHERE ${of} AND id%4=${dice() % 4}`);
    statements.push(`INSERT INTO "mailThreadKeys" ("accountId",key,"conversationId") VALUES (${id},'stale',${any()})`);
    await database.write(async (transaction) => {
      for (const text of statements) await transaction.run({ text, values: [] });
    });
  }

  test('are made anew as a fresh import has them, whatever became of them', { timeout: 240_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(drawn, { minLength: 2, maxLength: 12, selector: ({ day }) => day }),
        fc.infiniteStream(fc.nat()),
        async (all, numbers) => {
          const dice = (): number => numbers.next().value as number;
          const inTime = [...all.keys()].sort((one, other) => all[one]!.day - all[other]!.day);
          const ranks = all.map(dice);
          const asTheyCame = [...all.keys()].sort((one, other) => ranks[one]! - ranks[other]!);
          const account = await stored(all, asTheyCame, 5);
          await spoil(account, dice);
          const rethread = (): Promise<unknown> =>
            server.data(`POST /api/accounts:rethread?filterByTk=${account.id}`, { as: 'ann' });
          const threaded = all.map((each, number) => ({
            ...mailOf(each, number),
            at: Date.parse(receivedAt(each)),
            ownAddresses: [],
          }));
          const conversations = partitionIntoThreads(threaded, new Set([own])).length;
          expect(await rethread()).toEqual({ conversations, changed: expect.any(Number) });
          expect(await shown(account)).toEqual(await shown(await stored(all, inTime, all.length)));
          expect(await rethread()).toEqual({ conversations, changed: 0 });
        },
      ),
      { numRuns: runs },
    );
  });

  test('are made anew while the last e-mail of one of them is destroyed', async () => {
    const all: Drawn[] = [1, 1, 5].map((id, day) => ({
      id,
      references: [],
      subject: 'S',
      people: [day],
      day,
      bulk: false,
    }));
    const account = await stored(all, [0, 1, 2], 3);
    const [first, second, third] = [0, 1, 2].map((place) => account.emailOf.get(place)!);
    const { database, changes, clock } = server.running.applications.main;
    await database.write(async (transaction) => {
      const text = `UPDATE emails SET "conversationId"=(SELECT "conversationId" FROM emails WHERE id=${third}) WHERE id=${second}`;
      await transaction.run({ text, values: [] });
    });
    let destroyed = false;
    const beside = new Proxy(database, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        if (name !== 'write') return value.bind(target);
        return async (...given: Parameters<typeof database.write>) => {
          if (!destroyed) {
            destroyed = true;
            await server.data('POST /api/emails:destroy?force=true', { as: 'ann', body: { ids: [first] } });
          }
          return target.write(...given);
        };
      },
    });
    const parts = { database: beside, changes, clock };
    const made = new ConversationRebuild(
      parts,
      { id: account.id, address: own },
      { actor: null, requestId: null },
    ).run();
    expect(await made).toMatchObject({ conversations: 2 });
    const emails = await server.data(`GET /api/emails?accountId=${account.id}&folder=inbox`, { as: 'ann' });
    expect(emails).toHaveLength(2);
    expect(new Set(emails.map((each: { conversationId: number }) => each.conversationId)).size).toBe(2);
    const again = await server.data(`POST /api/accounts:rethread?filterByTk=${account.id}`, { as: 'ann' });
    expect(again).toEqual({ conversations: 2, changed: 0 });
  });

  /** The places of messages by their conversations, without a limit on their number. */
  async function places({ id, emailOf }: Stored): Promise<number[][]> {
    const text = `SELECT id,"conversationId" FROM emails WHERE "accountId"=${id}`;
    const [rows] = await server.running.applications.main.database.read([{ text, values: [] }]);
    const conversationOf = new Map(rows!.map((row) => [Number(row[0]), Number(row[1])]));
    const sorted = [...emailOf.keys()].sort((one, other) => one - other);
    return [...Map.groupBy(sorted, (place) => conversationOf.get(emailOf.get(place)!)).values()];
  }

  const written = (number: number, subject: string, from: string, to: readonly string[]): ParsedMail => ({
    ...mailOf({ id: 100 + number, references: [], subject, people: [], day: 0, bulk: false }, number),
    from: [{ name: '', address: from }],
    to: to.map((address) => ({ name: '', address })),
  });
  const rethread = ({ id }: Stored): Promise<unknown> =>
    server.data(`POST /api/accounts:rethread?filterByTk=${id}`, { as: 'ann' });
  const moment = (minutes: number): string => new Date(Date.UTC(2026, 8, 1) + minutes * 60_000).toISOString();

  test('strangers who write to an alias of the account are of conversations of their own', async () => {
    const [order, answers] = ['support@example.com', 'help@example.com'];
    const all: Arriving[] = [
      { mail: written(0, 'Order', 'ada@example.net', [order]), receivedAt: moment(0) },
      { mail: written(1, 'Re: Order', 'bob@example.net', [order]), receivedAt: moment(1) },
      { mail: written(2, 'AW: Order', 'cora@example.net', [order]), receivedAt: moment(2) },
      // Answers in the name of the alias: that it is one shows the mailbox that they arrive in.
      { mail: written(3, 'Re: Order', answers, ['ada@example.net']), receivedAt: moment(3), mailbox: 'Sent' },
      { mail: written(4, 'Re: Order', answers, ['bob@example.net']), receivedAt: moment(4), mailbox: 'Sent' },
      // A message to a colleague, and one that was delivered by the name of the alias that it was written in.
      { mail: written(5, 'Re: Order', 'cora@example.net', [order, 'ada@example.net']), receivedAt: moment(5) },
      {
        mail: {
          ...written(6, 'Re: Order', answers, [answers]),
          headers: [['Delivered-To', answers]],
        },
        receivedAt: moment(6),
      },
    ];
    const wanted = [[0, 2, 3, 5], [1, 4], [6]];
    for (const turned of [
      [0, 1, 2, 3, 4, 5, 6],
      [6, 5, 4, 3, 2, 1, 0],
      [3, 5, 0, 4, 6, 1, 2],
    ]) {
      const account = await storedMails(all, turned, 2);
      expect(await places(account)).toEqual(wanted);
      expect(await rethread(account)).toMatchObject({ conversations: 3 });
      expect(await places(account)).toEqual(wanted);
    }
  });

  test('an alias that the account names joins nobody either', async () => {
    const alias = 'support@example.com';
    const all: Arriving[] = ['ada', 'bob', 'cora'].map((name, number) => ({
      mail: written(number, 'Re: Order', alias, [`${name}@example.net`]),
      receivedAt: moment(number),
    }));
    expect(await places(await storedMails(all, [0, 1, 2], 1))).toEqual([[0, 1, 2]]);
    const account = await storedMails(all, [2, 0, 1], 1, [alias]);
    expect(await places(account)).toEqual([[0], [1], [2]]);
    // What it names later counts when the conversations are made anew.
    await server.data(`POST /api/accounts:update?filterByTk=${account.id}`, { as: 'ann', body: { aliases: null } });
    expect(await rethread(account)).toMatchObject({ conversations: 1 });
    expect(await places(account)).toEqual([[0, 1, 2]]);
  });

  test('five hundred messages of one subject are the same 250 conversations in every order', {
    timeout: 240_000,
  }, async () => {
    const half = 250;
    const person = (number: number): string => `person${number}@example.net`;
    const all = Array.from({ length: 2 * half }, (_, number): Arriving => {
      const mail =
        number < half
          ? written(number, 'Contact form', person(number), [own])
          : written(number, 'Re: Contact form', own, [person(number - half)]);
      return { mail, receivedAt: moment(number) };
    });
    const wanted = Array.from({ length: half }, (_, number) => [number, number + half]);
    const byDate = [...all.keys()];
    const orders = [byDate, byDate.toReversed(), shuffled(byDate, 7), shuffled(byDate, 11)];
    const pairs = Array.from({ length: half }, (_, number) => [number, number + half]).flat();
    for (const order of [...orders, pairs]) {
      const account = await storedMails(all, order, 50);
      expect(await places(account)).toEqual(wanted);
      expect(await rethread(account)).toMatchObject({ conversations: half });
      expect(await places(account)).toEqual(wanted);
    }
  });

  /** An account with messages of one subject and sender, ten seconds apart, all of one conversation, the last an answer. */
  async function alarms(count: number): Promise<number> {
    const all = ['Alarm', 'Re: Alarm'].map((subject, number) => ({
      mail: written(number, subject, 'ada@example.net', [own]),
      receivedAt: moment(number * 5000),
    }));
    const account = await storedMails(all, [0, 1], 2);
    const first = account.emailOf.get(0)!;
    const columns = `"accountId","conversationId","mailboxId",folder,"contentId","subjectKey",orphan,"ownAddresses","from","to",cc,subject,"receivedAt",read,starred,answered,draft,outgoing,"hasAttachments"`;
    const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<${count})`;
    const later = (column: string): string => `${column}+CAST(i AS bigint)*10485760`;
    await server.running.applications.main.database.write(async (transaction) => {
      for (const text of [
        `${numbers} INSERT INTO emails (id,identity,${columns}) SELECT ${later('id')},'copy '||i,${columns} FROM emails,n WHERE id=${first}`,
        `${numbers} INSERT INTO "mailSubjectParties" ("accountId",key,kind,"emailId") SELECT "accountId",key,kind,${later('"emailId"')} FROM "mailSubjectParties",n WHERE "emailId"=${first}`,
      ])
        await transaction.run({ text, values: [] });
    });
    return account.id;
  }

  /** Stores a message; gives how many statements that took, and how many rows they gave. */
  async function costOf(account: number, mail: ParsedMail, receivedAt: string): Promise<[number, number]> {
    const { main } = server.running.applications;
    const mailbox = await resolveMailbox(main.recordContext(anonymous, null), account, 'INBOX');
    let [statements, given] = [0, 0];
    const counting = <T extends object>(target: T, name: keyof T, wrapped: unknown): T =>
      new Proxy(target, {
        get: (_, asked) => {
          if (asked === name) return wrapped;
          const value = Reflect.get(target, asked) as unknown;
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    const { database } = main;
    const write: typeof database.write = (work, options) =>
      database.write((transaction) => {
        const run: typeof transaction.run = async (statement) => {
          const rows = await transaction.run(statement);
          [statements, given] = [statements + 1, given + rows.length];
          return rows;
        };
        return work(counting(transaction, 'run', run));
      }, options);
    const { changes, clock, logger } = main;
    const ingest = ingestOf({ database: counting(database, 'write', write), changes, clock, logger } as typeof main);
    const flags = { read: false, starred: false, answered: false, draft: false };
    const incoming = { raw: rawOf(mail), mailbox, flags, receivedAt };
    const [stored] = await ingest.store({ id: account, address: own }, [incoming], { actor: null, requestId: null });
    expect(stored).toMatchObject({ outcome: 'stored' });
    return [statements, given];
  }

  test('one more of ten thousand messages of a subject takes as much work as one more of forty', async () => {
    const costs: [number, number][][] = [];
    for (const count of [40, 10_000]) {
      const account = await alarms(count);
      const mail = (number: number, subject: string): ParsedMail => written(number, subject, 'ada@example.net', [own]);
      costs.push([
        await costOf(account, mail(7, 'Alarm'), moment(1)),
        await costOf(account, mail(8, 'Re: Alarm'), moment(2)),
        await costOf(account, mail(9, 'Re: Alarm'), moment(5001)),
        await costOf(account, mail(10, 'Alarm'), moment(5002)),
      ]);
    }
    expect(costs[0]!.every(([statements]) => statements > 5)).toBe(true);
    expect(costs[1]).toEqual(costs[0]);
  });
});

/** An order that a seed gives. */
function shuffled(numbers: readonly number[], seed: number): number[] {
  let state = seed;
  const dice = (): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  };
  return numbers
    .map((number) => [dice(), number] as const)
    .sort((one, other) => one[0] - other[0])
    .map(([, number]) => number);
}
