import { expect, test } from 'vitest';
import { anonymous } from '../../src/identity/authenticator.ts';
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import { resolveMailbox } from '../../src/mail/store/resolve-mailbox.ts';
import {
  ConversationFixture,
  type IncomingMail,
  makeSubjectMail,
  ownAddress,
} from '../support/conversation-fixture.ts';
import { describeEngines } from '../support/engines.ts';

const moment = (minutes: number): string => new Date(Date.UTC(2026, 8, 1) + minutes * 60_000).toISOString();

describeEngines('conversations by subject', (engine) => {
  const fixture = ConversationFixture.forSuite(engine);

  test('strangers who write to an alias of the account have separate conversations', async () => {
    const [order, answers] = ['support@example.com', 'help@example.com'];
    const all: IncomingMail[] = [
      { mail: makeSubjectMail(0, 'Order', 'ada@example.net', [order]), receivedAt: moment(0) },
      { mail: makeSubjectMail(1, 'Re: Order', 'bob@example.net', [order]), receivedAt: moment(1) },
      { mail: makeSubjectMail(2, 'AW: Order', 'cora@example.net', [order]), receivedAt: moment(2) },
      // Replies from the alias: because they are in the mailbox Sent, the alias is known as one of the account's
      // addresses.
      { mail: makeSubjectMail(3, 'Re: Order', answers, ['ada@example.net']), receivedAt: moment(3), mailbox: 'Sent' },
      { mail: makeSubjectMail(4, 'Re: Order', answers, ['bob@example.net']), receivedAt: moment(4), mailbox: 'Sent' },
      // A message to a colleague, and a message from the alias that was delivered to the alias.
      { mail: makeSubjectMail(5, 'Re: Order', 'cora@example.net', [order, 'ada@example.net']), receivedAt: moment(5) },
      {
        mail: {
          ...makeSubjectMail(6, 'Re: Order', answers, [answers]),
          headers: [['Delivered-To', answers]],
        },
        receivedAt: moment(6),
      },
    ];
    const wanted = [[0, 2, 3, 5], [1, 4], [6]];
    for (const order of [
      [0, 1, 2, 3, 4, 5, 6],
      [6, 5, 4, 3, 2, 1, 0],
      [3, 5, 0, 4, 6, 1, 2],
    ]) {
      const account = await fixture.storeMails(all, { order, batchSize: 2 });
      expect(await fixture.listGroups(account)).toEqual(wanted);
      expect(await fixture.rebuild(account)).toMatchObject({ conversations: 3 });
      expect(await fixture.listGroups(account)).toEqual(wanted);
    }
  });

  test('an alias that the account names does not join conversations', async () => {
    const alias = 'support@example.com';
    const all: IncomingMail[] = ['ada', 'bob', 'cora'].map((name, number) => ({
      mail: makeSubjectMail(number, 'Re: Order', alias, [`${name}@example.net`]),
      receivedAt: moment(number),
    }));
    expect(await fixture.listGroups(await fixture.storeMails(all, { order: [0, 1, 2], batchSize: 1 }))).toEqual([
      [0, 1, 2],
    ]);
    const account = await fixture.storeMails(all, { order: [2, 0, 1], batchSize: 1, aliases: [alias] });
    expect(await fixture.listGroups(account)).toEqual([[0], [1], [2]]);
    // A changed list of aliases takes effect when the conversations are rebuilt.
    await fixture.server.data(`POST /api/accounts:update?filterByTk=${account.id}`, {
      as: 'ann',
      body: { aliases: null },
    });
    expect(await fixture.rebuild(account)).toMatchObject({ conversations: 1 });
    expect(await fixture.listGroups(account)).toEqual([[0, 1, 2]]);
  });

  test('five hundred messages with one subject form the same 250 conversations in every order', {
    timeout: 240_000,
  }, async () => {
    const half = 250;
    const person = (number: number): string => `person${number}@example.net`;
    const all = Array.from({ length: 2 * half }, (_, number): IncomingMail => {
      const mail =
        number < half
          ? makeSubjectMail(number, 'Contact form', person(number), [ownAddress])
          : makeSubjectMail(number, 'Re: Contact form', ownAddress, [person(number - half)]);
      return { mail, receivedAt: moment(number) };
    });
    const wanted = Array.from({ length: half }, (_, number) => [number, number + half]);
    const byDate = [...all.keys()];
    const orders = [byDate, byDate.toReversed(), shuffled(byDate, 7), shuffled(byDate, 11)];
    const pairs = Array.from({ length: half }, (_, number) => [number, number + half]).flat();
    for (const order of [...orders, pairs]) {
      const account = await fixture.storeMails(all, { order: order, batchSize: 50 });
      expect(await fixture.listGroups(account)).toEqual(wanted);
      expect(await fixture.rebuild(account)).toMatchObject({ conversations: half });
      expect(await fixture.listGroups(account)).toEqual(wanted);
    }
  });

  /**
   * Creates an account with one conversation of `count` messages with one subject and sender, the last one a reply.
   * Returns its key.
   */
  async function createAlarmAccount(count: number): Promise<number> {
    const all = ['Alarm', 'Re: Alarm'].map((subject, number) => ({
      mail: makeSubjectMail(number, subject, 'ada@example.net', [ownAddress]),
      receivedAt: moment(number * 5000),
    }));
    const account = await fixture.storeMails(all, { order: [0, 1], batchSize: 2 });
    const first = account.emailKeys.get(0)!;
    const columns = `"accountId","conversationId","mailboxId",folder,"contentId","subjectKey",orphan,"ownAddresses","from","to",cc,subject,"receivedAt",read,starred,answered,draft,outgoing,"hasAttachments"`;
    const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<${count})`;
    const later = (column: string): string => `${column}+CAST(i AS bigint)*10485760`;
    await fixture.server.running.applications.main.database.write(async (transaction) => {
      for (const text of [
        `${numbers} INSERT INTO emails (id,identity,${columns}) SELECT ${later('id')},'copy '||i,${columns} FROM emails,n WHERE id=${first}`,
        `${numbers} INSERT INTO "mailSubjectParties" ("accountId",key,kind,"emailId") SELECT "accountId",key,kind,${later('"emailId"')} FROM "mailSubjectParties",n WHERE "emailId"=${first}`,
      ])
        await transaction.run({ text, values: [] });
    });
    return account.id;
  }

  /** Stores a message. Returns the number of statements and the number of rows that they returned. */
  async function countWork(account: number, mail: ParsedMail, receivedAt: string): Promise<[number, number]> {
    const { main } = fixture.server.running.applications;
    const mailbox = await resolveMailbox(main.recordContext(anonymous, null), account, 'INBOX');
    let [statements, given] = [0, 0];
    const counting = <T extends object>(target: T, name: keyof T, wrapped: unknown): T =>
      new Proxy(target, {
        get: (_, key) => {
          if (key === name) return wrapped;
          const value = Reflect.get(target, key) as unknown;
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
    const ingest = fixture.createIngest({
      database: counting(database, 'write', write),
      changes,
      clock,
      logger,
    } as typeof main);
    const flags = { read: false, starred: false, answered: false, draft: false };
    const incoming = { raw: fixture.makeBytes(mail), mailbox, flags, receivedAt };
    const [stored] = await ingest.store({ id: account, address: ownAddress }, [incoming], {
      actor: null,
      requestId: null,
    });
    expect(stored).toMatchObject({ outcome: 'stored' });
    return [statements, given];
  }

  test('adding a message to ten thousand with the same subject takes as much work as adding it to forty', async () => {
    const costs: [number, number][][] = [];
    for (const count of [40, 10_000]) {
      const account = await createAlarmAccount(count);
      const mail = (number: number, subject: string): ParsedMail =>
        makeSubjectMail(number, subject, 'ada@example.net', [ownAddress]);
      costs.push([
        await countWork(account, mail(7, 'Alarm'), moment(1)),
        await countWork(account, mail(8, 'Re: Alarm'), moment(2)),
        await countWork(account, mail(9, 'Re: Alarm'), moment(5001)),
        await countWork(account, mail(10, 'Alarm'), moment(5002)),
      ]);
    }
    expect(costs[0]!.every(([statements]) => statements > 5)).toBe(true);
    expect(costs[1]).toEqual(costs[0]);
  });
});

/** The numbers in a random order that only depends on the seed. */
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
