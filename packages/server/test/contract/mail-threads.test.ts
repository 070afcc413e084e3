import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { anonymous } from '../../src/identity/authenticator.ts';
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import { MailIngest } from '../../src/mail/store/ingest.ts';
import { mailboxPlace } from '../../src/mail/store/mailbox-place.ts';
import { Rethreading } from '../../src/mail/store/rethread.ts';
import { partition } from '../../src/mail/threads/partition.ts';
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
  async function stored(all: readonly Drawn[], order: readonly number[], at: number): Promise<Stored> {
    const { main } = server.running.applications;
    const { database, changes, clock, logger } = main;
    const { id } = await server.data('POST /api/accounts:create', { as: 'ann', body: { address: own } });
    const mailbox = await mailboxPlace(main.recordContext(anonymous, null), id, 'INBOX');
    const mails = new Map<Uint8Array, ParsedMail>();
    const parser = fakeParser((raw) => mails.get(raw)!);
    const ingest = new MailIngest({ database, changes, clock, logger, parser, blobs: noBlobs });
    const flags = { read: false, starred: false, answered: false, draft: false };
    const emailOf = new Map<number, number>();
    for (let start = 0; start < order.length; start += at) {
      const numbers = order.slice(start, start + at);
      const incoming = numbers.map((number) => {
        const raw = Buffer.from(`message ${number}`);
        mails.set(raw, mailOf(all[number]!, number));
        return { raw, mailbox, flags, receivedAt: receivedAt(all[number]!) };
      });
      const results = await ingest.store({ id, address: own }, incoming, { actor: null, requestId: null });
      for (const [index, { emailId }] of results.entries()) emailOf.set(numbers[index]!, emailId!);
    }
    return { id, emailOf };
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
          const threaded = all.map((each, number) => ({ ...mailOf(each, number), at: Date.parse(receivedAt(each)) }));
          expect(await groups(all, await stored(all, order, at))).toEqual(partition(threaded, new Set([own])));
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
          const threaded = all.map((each, number) => ({ ...mailOf(each, number), at: Date.parse(receivedAt(each)) }));
          const conversations = partition(threaded, new Set([own])).length;
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
    const made = new Rethreading(parts, { id: account.id, address: own }, { actor: null, requestId: null }).run();
    expect(await made).toMatchObject({ conversations: 2 });
    const emails = await server.data(`GET /api/emails?accountId=${account.id}&folder=inbox`, { as: 'ann' });
    expect(emails).toHaveLength(2);
    expect(new Set(emails.map((each: { conversationId: number }) => each.conversationId)).size).toBe(2);
    const again = await server.data(`POST /api/accounts:rethread?filterByTk=${account.id}`, { as: 'ann' });
    expect(again).toEqual({ conversations: 2, changed: 0 });
  });
});
