import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import { ConversationRebuild } from '../../src/mail/store/rebuild-conversations.ts';
import { partitionIntoThreads } from '../../src/mail/threads/partition.ts';
import {
  ConversationFixture,
  makeParsedMail,
  ownAddress,
  type StoredAccount,
} from '../support/conversation-fixture.ts';
import { describeEngines } from '../support/engines.ts';

const runs = Number(process.env['PROPERTY_RUNS'] ?? 12);

/** The random properties of a message. */
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

function makeMail({ id, references, subject, people, bulk }: Drawn, number: number): ParsedMail {
  const addresses = people.map((person) => ({ name: '', address: `p${person}@example.net` }));
  return makeParsedMail({
    sha256: String(number),
    messageId: id === null ? null : `m${id}@example.net`,
    inReplyTo: references.slice(0, 1).map((each) => `m${each}@example.net`),
    references: references.map((each) => `m${each}@example.net`),
    subject,
    from: addresses.slice(0, 1),
    to: [{ name: '', address: ownAddress }, ...addresses.slice(1)],
    bulk,
  });
}

const receivedAt = ({ day }: Drawn): string => new Date(Date.UTC(2026, 8, 1 + day)).toISOString();

describeEngines('conversations of a store', (engine) => {
  const fixture = ConversationFixture.forSuite(engine);

  /** Stores messages in this order in a new account. */
  function store(all: readonly Drawn[], order: readonly number[], batchSize: number): Promise<StoredAccount> {
    const mails = all.map((each, number) => ({ mail: makeMail(each, number), receivedAt: receivedAt(each) }));
    return fixture.storeMails(mails, { order, batchSize });
  }

  /**
   * The indexes of messages, grouped by the conversations that the API shows. The counts of the conversations are
   * checked too.
   */
  async function readGroups(all: readonly Drawn[], { id, emailKeys }: StoredAccount): Promise<number[][]> {
    const rows = (await fixture.server.data(`GET /api/emails?accountId=${id}&pageSize=100&folder=inbox`, {
      as: 'ann',
    })) as {
      id: number;
      conversationId: number;
    }[];
    const conversations = new Map(rows.map((row) => [row.id, row.conversationId]));
    const found = Map.groupBy(all.keys(), (index) => conversations.get(emailKeys.get(index)!)!);
    const counted = (await fixture.server.data(`GET /api/conversations?accountId=${id}&pageSize=100`, {
      as: 'ann',
    })) as {
      id: number;
      messages: number;
    }[];
    expect(new Map(counted.map((each) => [each.id, each.messages]))).toEqual(
      new Map([...found].map(([conversation, numbers]) => [conversation, numbers.length])),
    );
    return [...found.values()];
  }

  test('follow the specification, in whatever order and batches messages arrive', {
    timeout: 240_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(drawn, { minLength: 2, maxLength: 9 }),
        fc.infiniteStream(fc.nat()),
        fc.integer({ min: 1, max: 9 }),
        async (all, keys, batchSize) => {
          const ranks = all.map(() => keys.next().value as number);
          const order = [...all.keys()].sort((one, other) => ranks[one]! - ranks[other]!);
          const threaded = all.map((each, number) => ({
            ...makeMail(each, number),
            at: Date.parse(receivedAt(each)),
            ownAddresses: [],
          }));
          expect(await readGroups(all, await store(all, order, batchSize))).toEqual(
            partitionIntoThreads(threaded, new Set([ownAddress])),
          );
        },
      ),
      { numRuns: runs },
    );
  });

  /** The stored conversations and thread keys of an account, with the indexes of their messages instead of keys. */
  async function readConversations({ id, emailKeys }: StoredAccount): Promise<unknown> {
    const { database } = fixture.server.running.applications.main;
    const read = async (text: string): Promise<readonly (readonly unknown[])[]> =>
      (await database.read([{ text, values: [] }]))[0]!;
    const indexes = new Map([...emailKeys].map(([index, email]) => [email, index]));
    const emails = await read(`SELECT id,"conversationId" FROM emails WHERE "accountId"=${id}`);
    const listIndexes = (conversation: unknown): unknown =>
      emails.flatMap((row) => (row[1] === conversation ? [indexes.get(Number(row[0]))] : [])).sort();
    const conversations = await read(
      `SELECT id,subject,CAST(participants AS text),messages,unread,starred,attachments,"lastAt",snippet,"mergedInto" IS NULL FROM conversations WHERE "accountId"=${id} AND messages>0`,
    );
    const keys = await read(`SELECT key,"conversationId" FROM "mailThreadKeys" WHERE "accountId"=${id}`);
    return {
      conversations: conversations.map(([key, ...rest]) => JSON.stringify([listIndexes(key), ...rest])).sort(),
      keys: keys.map(([key, conversation]) => JSON.stringify([key, listIndexes(conversation)])).sort(),
    };
  }

  /** Damages conversations, thread keys and counts of an account at random. */
  async function damage({ id, emailKeys }: StoredAccount, draw: () => number): Promise<void> {
    const { database } = fixture.server.running.applications.main;
    const ofAccount = `"accountId"=${id}`;
    const [found] = await database.read([{ text: `SELECT id FROM conversations WHERE ${ofAccount}`, values: [] }]);
    const any = (): number => Number(found![draw() % found!.length]![0]);
    const statements = [...emailKeys.values()].flatMap((email) => [
      `UPDATE emails SET "conversationId"=${draw() % 5 === 0 ? 'NULL' : any()} WHERE id=${email} AND ${draw() % 2}=0`,
      `UPDATE "mailThreadKeys" SET "conversationId"=${any()} WHERE ${ofAccount} AND id%3=${draw() % 3}`,
      `UPDATE conversations SET messages=${draw() % 4},snippet='x',subject='y',participants='[]' WHERE id=${any()}`,
      `UPDATE conversations SET "mergedInto"=${any()} WHERE id=${any()} AND ${draw() % 2}=0`,
    ]);
    statements.push(`DELETE FROM "mailThreadKeys" WHERE ${ofAccount} AND id%4=${draw() % 4}`);
    statements.push(`INSERT INTO "mailThreadKeys" ("accountId",key,"conversationId") VALUES (${id},'stale',${any()})`);
    await database.write(async (transaction) => {
      for (const text of statements) await transaction.run({ text, values: [] });
    });
  }

  test('are rebuilt to the same result as a new import, whatever their previous state', {
    timeout: 240_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(drawn, { minLength: 2, maxLength: 12, selector: ({ day }) => day }),
        fc.infiniteStream(fc.nat()),
        async (all, numbers) => {
          const draw = (): number => numbers.next().value as number;
          const inTime = [...all.keys()].sort((one, other) => all[one]!.day - all[other]!.day);
          const ranks = all.map(draw);
          const arrivalOrder = [...all.keys()].sort((one, other) => ranks[one]! - ranks[other]!);
          const account = await store(all, arrivalOrder, 5);
          await damage(account, draw);
          const threaded = all.map((each, number) => ({
            ...makeMail(each, number),
            at: Date.parse(receivedAt(each)),
            ownAddresses: [],
          }));
          const conversations = partitionIntoThreads(threaded, new Set([ownAddress])).length;
          expect(await fixture.rebuild(account)).toEqual({ conversations, changed: expect.any(Number) });
          expect(await readConversations(account)).toEqual(
            await readConversations(await store(all, inTime, all.length)),
          );
          expect(await fixture.rebuild(account)).toEqual({ conversations, changed: 0 });
        },
      ),
      { numRuns: runs },
    );
  });

  test('are rebuilt while the last e-mail of one of them is destroyed', async () => {
    const all: Drawn[] = [1, 1, 5].map((id, day) => ({
      id,
      references: [],
      subject: 'S',
      people: [day],
      day,
      bulk: false,
    }));
    const account = await store(all, [0, 1, 2], 3);
    const [first, second, third] = [0, 1, 2].map((index) => account.emailKeys.get(index)!);
    const { database, changes, clock } = fixture.server.running.applications.main;
    await database.write(async (transaction) => {
      const text = `UPDATE emails SET "conversationId"=(SELECT "conversationId" FROM emails WHERE id=${third}) WHERE id=${second}`;
      await transaction.run({ text, values: [] });
    });
    let destroyed = false;
    const interruptedDatabase = new Proxy(database, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        if (name !== 'write') return value.bind(target);
        return async (...given: Parameters<typeof database.write>) => {
          if (!destroyed) {
            destroyed = true;
            await fixture.server.data('POST /api/emails:destroy?force=true', { as: 'ann', body: { ids: [first] } });
          }
          return target.write(...given);
        };
      },
    });
    const parts = { database: interruptedDatabase, changes, clock };
    const made = new ConversationRebuild(
      parts,
      { id: account.id, address: ownAddress },
      { actor: null, requestId: null },
    ).run();
    expect(await made).toMatchObject({ conversations: 2 });
    const emails = await fixture.server.data(`GET /api/emails?accountId=${account.id}&folder=inbox`, { as: 'ann' });
    expect(emails).toHaveLength(2);
    expect(new Set(emails.map((each: { conversationId: number }) => each.conversationId)).size).toBe(2);
    const again = await fixture.server.data(`POST /api/accounts:rethread?filterByTk=${account.id}`, { as: 'ann' });
    expect(again).toEqual({ conversations: 2, changed: 0 });
  });
});
