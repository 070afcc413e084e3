import { expect, test } from 'vitest';
import { createReader, createTxRunner } from '../../src/database/run-statement.ts';
import { sql } from '../../src/database/sql.ts';
import { mailCollections } from '../../src/mail/collections/mail-collections.ts';
import { mailResources } from '../../src/mail/collections/mail-resources.ts';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('a store of an earlier version', (engine) => {
  test('gets missing fields and collections of the system when it is opened', async () => {
    const server = await TestServer.start(engine);
    const { token } = await server.data('POST /api/apiKeys:create', { body: { role: 'viewer' } });
    const { database } = server.running.applications.main;
    await database.write(async (transaction) => {
      const of = (name: string): string => `(SELECT id FROM _collections WHERE name='${name}')`;
      for (const text of [
        ...['successorId', 'inactiveReason', 'bound'].flatMap((name) => [
          `DELETE FROM _fields WHERE name='${name}' AND collection_id=${of('apiKeys')}`,
          `ALTER TABLE "apiKeys" DROP COLUMN "${name}"`,
        ]),
        `DELETE FROM _fields WHERE name='lastUsedAt' AND collection_id=${of('logins')}`,
        'ALTER TABLE logins DROP COLUMN "lastUsedAt"',
        `DELETE FROM _fields WHERE collection_id=${of('oneTimeTokens')}`,
        `DELETE FROM _collections WHERE name='oneTimeTokens'`,
        'DROP TABLE "oneTimeTokens"',
      ])
        await transaction.run({ text, values: [] });
    });
    await server.running.stop();
    await server.boot();
    expect((await server.call('GET /api/auth:check', { as: token })).status).toBe(200);
    expect(await server.data('POST /api/apiKeys:rotate?filterByTk=1')).toMatchObject({ id: 2, role: 'viewer' });
    expect(await server.data('GET /api/auth:sessions')).toHaveLength(2);
    await server.data('POST /api/users:create', { body: { email: 'ann@example.com', password: 'correct horse' } });
    await server.data('POST /api/users:update?filterByTk=2', { body: { password: 'another horse' } });
    for (const [name, hidden] of [
      ['successorId', 'apiKeys'],
      ['tokenHash', 'apiKeys'],
    ])
      expect((await server.call(`GET /api/${hidden}:list?fields=${name}`)).status).toBe(403);
    await server.stop();
  });

  test('gets the mail collections, and its built-in roles may use them', async () => {
    const server = await TestServer.start(engine);
    const { database } = server.running.applications.main;
    await database.write(async (transaction) => {
      const run = (text: string): Promise<unknown> => transaction.run({ text, values: [] });
      for (const { name } of [...mailCollections].reverse()) {
        await run(`DELETE FROM _fields WHERE collection_id=(SELECT id FROM _collections WHERE name='${name}')`);
        await run(`DELETE FROM _collections WHERE name='${name}'`);
        await run(`DROP TABLE "${name}"`);
      }
      await run('DROP TABLE _mail_text');
      await run(`DELETE FROM permissions WHERE resource IN (${mailResources.map((each) => `'${each}'`).join()})`);
    });
    await server.running.stop();
    await server.boot();
    const body = { email: 'ann@example.com', password: 'correct horse', roles: ['editor'] };
    await server.data('POST /api/users:create', { body });
    server.tokens.set('ann', await server.signIn(body.email, body.password));
    await server.data('POST /api/accounts:create', { as: 'ann', body: { address: 'shop@example.com' } });
    const report = await upload(server, 'ann', 1, makeRawMail({ subject: 'New here' }));
    expect(report.stored).toBe(1);
    expect(await server.data('GET /api/emails?search=new', { as: 'ann' })).toHaveLength(1);
    await server.stop();
  });

  test('lets conversations be snoozed, and keeps their history from then on', async () => {
    const server = await startMailAccountServer(engine);
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Old' }));
    const { database, registry } = server.running.applications.main;
    const { id, options, byName } = registry.get('conversations');
    const { id: field, definition } = byName.get('state')!;
    const old = { ...definition, pattern: '^(open|closed|archived)$' };
    const text = (value: object): string => JSON.stringify(value).replaceAll("'", "''");
    await database.write(async (transaction) => {
      const run = (statement: string): Promise<unknown> => transaction.run({ text: statement, values: [] });
      await run(`UPDATE _collections SET options='${text({ ...options, logging: false })}' WHERE id=${id}`);
      await run(`UPDATE _fields SET definition='${text(old)}' WHERE id=${field}`);
    });
    await server.running.stop();
    await server.boot();
    const body = { snoozedUntil: new Date(Date.now() + 3_600_000).toISOString() };
    expect(await server.data('PATCH /api/conversations/1', { as: 'ann', body })).toMatchObject({ state: 'snoozed' });
    expect(await server.data('GET /api/conversations:history?filterByTk=1', { as: 'ann' })).toHaveLength(1);
    await server.stop();
  });

  test('gives conversations the labels of their e-mails', async () => {
    const server = await startMailAccountServer(engine);
    const [id] = (await upload(server, 'ann', 1, makeRawMail({ subject: 'Old' }))).ids;
    await server.data(`PATCH /api/emails/${id}`, { as: 'ann', body: { labels: ['Bills'] } });
    const { database, registry } = server.running.applications.main;
    const field = registry.get('emails').byName.get('labels')!;
    const old = JSON.stringify({ ...field.definition, type: 'json' });
    await database.write(async (transaction) => {
      const run = (statement: string): Promise<unknown> => transaction.run({ text: statement, values: [] });
      await run(`UPDATE _fields SET definition='${old}' WHERE id=${field.id}`);
      const { id: collection, byName } = registry.get('conversations');
      const [account, order, labels] = ['accountId', 'lastEmailId', 'labels'].map((name) => byName.get(name)!.id);
      await run(`DELETE FROM _fields WHERE id=${labels}`);
      await run(`DROP INDEX "i_${collection}_${account}_${order}_with_${labels}"`);
      await run('ALTER TABLE conversations DROP COLUMN labels');
      await run('UPDATE accounts SET "threadsVersion"=2');
    });
    await server.running.stop();
    await server.boot();
    const filter = '{"labels":{"$anyOf":["Bills"]}}';
    expect(await server.data(`GET /api/emails?filter=${filter}`, { as: 'ann' })).toMatchObject([{ id }]);
    await expect
      .poll(() => server.data(`GET /api/conversations?filter=${filter}`, { as: 'ann' }), { timeout: 10_000 })
      .toMatchObject([{ labels: ['Bills'] }]);
    await server.stop();
  });

  test('gets missing indexes, even if a Message-ID is too long for an index', async () => {
    const server = await startMailAccountServer(engine);
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Old', id: 'old@example.net' }));
    await upload(
      server,
      'ann',
      1,
      makeRawMail({ subject: 'Old', id: 'old@example.net' }),
      'message/rfc822',
      '&mailbox=Archive',
    );
    const indexed = {
      emails: ['accountId', 'messageId'],
      mailContents: ['accountId', 'rawSha256'],
      mailPlacements: ['mailboxId', 'emailId'],
    };
    const before = await indexNames(server);
    const { database, registry } = server.running.applications.main;
    await database.write(async (transaction) => {
      const run = (text: string): Promise<unknown> => transaction.run({ text, values: [] });
      for (const [name, fields] of Object.entries(indexed)) {
        const { id, byName, options } = registry.get(name);
        await run(`DROP INDEX "i_${id}_${fields.map((each) => byName.get(each)!.id).join('_')}"`);
        const rest = options.indexes!.filter((each) => each.fields.join() !== fields.join());
        await run(`UPDATE _collections SET options='${JSON.stringify({ ...options, indexes: rest })}' WHERE id=${id}`);
      }
      // An earlier version only counted the first mailbox of an e-mail.
      await run(`UPDATE mailboxes SET messages=0,unread=0`);
      await run(`DELETE FROM "mailPlacements" WHERE "mailboxId"=1`);
      // 998 characters of three bytes each that do not repeat: an earlier version accepted them.
      const long = Array.from({ length: 998 }, (_, index) => String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000)));
      await run(`UPDATE emails SET "messageId"='${long.join('')}'`);
    });
    expect(await indexNames(server)).toHaveLength(before.length - 3);
    await server.running.stop();
    await server.boot();
    expect(await indexNames(server)).toEqual(before);
    const [{ messageId }] = await server.data('GET /api/emails', { as: 'ann' });
    expect(messageId).toHaveLength(249);
    for (const folder of ['inbox', 'archive'])
      expect(await server.data(`GET /api/emails?folder=${folder}`, { as: 'ann' }), folder).toHaveLength(1);
    expect(await server.data('GET /api/mailboxes:list?sort=id', { as: 'ann' })).toMatchObject([
      { path: 'INBOX', messages: 1, unread: 1 },
      { path: 'Archive', messages: 1, unread: 1 },
    ]);
    await server.stop();
  });

  test('gets what mail on two sides needs, and its mail stays as it was', async () => {
    const server = await startMailAccountServer(engine);
    const [attachment] = [{ name: 'a.txt', type: 'text/plain', content: 'A file' }];
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Old', id: 'old@example.net', attachments: [attachment!] }));
    const { database, registry } = server.running.applications.main;
    const [{ id: key }] = await server.data('GET /api/emails', { as: 'ann' });
    const before = await server.data(`GET /api/emails/${key}`, { as: 'ann' });
    const fields: Readonly<Record<string, readonly string[]>> = {
      accounts: ['problem', 'retryAt', 'capabilities', 'failures', 'leasedBy', 'leasedUntil'],
      mailboxes: ['delimiter', 'rawPath', 'selectable', 'objectId', 'backfillUid', 'reconciledAt', 'lostAt'],
      emails: ['forwarded', 'deleted', 'keywords', 'providerId', 'providerThreadId'],
      attachments: ['partId', 'state'],
      mailPlacements: ['modseq', 'flags'],
    };
    const internal = ['mailLostPlacements', 'mailOperations', 'mailTombstones'];
    await database.write(async (transaction) => {
      const run = (text: string): Promise<unknown> => transaction.run({ text, values: [] });
      for (const name of internal) {
        await run(`DELETE FROM _fields WHERE collection_id=(SELECT id FROM _collections WHERE name='${name}')`);
        await run(`DELETE FROM _collections WHERE name='${name}'`);
        await run(`DROP TABLE "${name}"`);
      }
      for (const [name, dropped] of Object.entries(fields)) {
        const { id, options, byName } = registry.get(name);
        if (name === 'emails') {
          await run(`DROP INDEX "i_${id}_${byName.get('accountId')!.id}_${byName.get('providerId')!.id}"`);
          const indexes = options.indexes!.filter((each) => !each.fields.includes('providerId'));
          await run(`UPDATE _collections SET options='${JSON.stringify({ ...options, indexes })}' WHERE id=${id}`);
        }
        for (const field of dropped) {
          await run(`DELETE FROM _fields WHERE name='${field}' AND collection_id=${id}`);
          await run(`ALTER TABLE "${name}" DROP COLUMN "${field}"`);
        }
      }
    });
    await server.running.stop();
    await server.boot();
    const after = await server.data(`GET /api/emails/${before.id}`, { as: 'ann' });
    expect(after).toEqual({ ...before, keywords: null });
    expect(await server.data('GET /api/mailboxes', { as: 'ann' })).toMatchObject([
      { path: 'INBOX', selectable: true, rawPath: null },
    ]);
    // The account gets a server, and what is stored is linked to it.
    const imap = { host: 'imap.example.com', port: 993 };
    await server.data('PATCH /api/accounts/1', { as: 'ann', body: { imap } });
    const { mail } = server.running.applications.main;
    const box = { id: 1, address: 'shop@example.com' };
    const listed = { path: 'INBOX', rawPath: 'INBOX', delimiter: '/', role: 'inbox' as const, selectable: true };
    const [inbox] = await mail.server.applyMailboxes(box, [listed]);
    const mailbox = await mail.server.beginNewValidity(box, inbox!, '9');
    const raw = Buffer.from(makeRawMail({ subject: 'Old', id: 'old@example.net', attachments: [attachment!] }));
    const message = { uid: 3, modseq: null, flags: ['\\Seen'], labels: null, providerId: 'M1', providerThreadId: null };
    const [result] = await mail.server.storeMessages(box, mailbox, [{ ...message, internalDate: null, raw }], {
      cursor: {},
    });
    expect(result).toMatchObject({ outcome: 'duplicate', emailId: before.id });
    expect(await server.data('GET /api/emails', { as: 'ann' })).toMatchObject([
      { id: before.id, read: true, providerId: 'M1' },
    ]);
    await server.stop();
  });

  test('indexes its e-mails again in the background, and continues after an interruption', async () => {
    const server = await startMailAccountServer(engine);
    for (const number of [1, 2, 3, 4])
      await upload(
        server,
        'ann',
        1,
        makeRawMail({ subject: `Invoices ${number}`, date: `Fri, 0${number} May 2026 10:00:00 +0000` }),
      );
    const find = async (search: string): Promise<string[]> =>
      (await server.data(`GET /api/emails?search=${encodeURIComponent(search)}`, { as: 'ann' })).map(
        ({ subject }: { subject: string }) => subject,
      );
    const all = [4, 3, 2, 1].map((number) => `Invoices ${number}`);
    expect(await find('invoice ')).toEqual(all);
    const [, , third, fourth] = await server.data('GET /api/emails?fields=id', { as: 'ann' });
    const older = async (statements: readonly string[]): Promise<void> => {
      const { database } = server.running.applications.main;
      await database.write(async (transaction) => {
        const emails = await createReader(database)(sql`SELECT id,subject FROM emails`);
        for (const [id, subject] of emails) {
          const words = String(subject).toLowerCase().split(' ');
          const entry = { id: Number(id), account: 1, subject: words, sender: [], recipients: [], body: [], files: [] };
          await createTxRunner(database, transaction)(database.fullText.replace(entry, sql`1=1`));
        }
        for (const text of statements) await transaction.run({ text, values: [] });
      });
      expect(await find('invoice ')).toEqual([]);
      // Whole words are found all the time.
      const whole = await find('invoices ');
      expect(whole.length).toBeGreaterThan(2);
      await server.running.stop();
      await server.boot();
      expect(await find('invoices ')).toEqual(whole);
      await server.running.applications.main.mail.rebuild.runNow();
    };
    await older(['DELETE FROM _mail_index']);
    expect(await find('invoice ')).toEqual(all);
    // An e-mail that is destroyed during the indexing is not indexed again.
    await server.data(`POST /api/emails:destroy?force=true&filterByTk=${fourth.id}`, { as: 'ann' });
    await older([`UPDATE _mail_index SET position=${third.id + 1}`]);
    expect(await find('invoice ')).toEqual(['Invoices 2']);
    await server.stop();
  });

  test('rebuilds its conversations by the rules of this version while it is used', async () => {
    const server = await TestServer.start(engine);
    const body = { email: 'ann@example.com', password: 'correct horse', roles: ['editor'] };
    await server.data('POST /api/users:create', { body });
    server.tokens.set('ann', await server.signIn(body.email, body.password));
    await server.data('POST /api/accounts:create', { as: 'ann', body: { address: 'shop@example.com' } });
    const message = (from: string, subject: string, minute: number): Promise<unknown> => {
      const [to, date] = ['support@example.com', new Date(Date.UTC(2026, 8, 1, 9, minute)).toUTCString()];
      return upload(
        server,
        'ann',
        1,
        makeRawMail({ from, to, subject, date, headers: ['Delivered-To: support@example.com'] }),
      );
    };
    await message('ada@example.net', 'Order', 1);
    await message('bob@example.net', 'Re: Order', 2);
    const { database } = server.running.applications.main;
    await database.write(async (transaction) => {
      const run = (text: string): Promise<unknown> => transaction.run({ text, values: [] });
      const of = (name: string): string => `(SELECT id FROM _collections WHERE name='${name}')`;
      // Both e-mails were in one conversation, which had no correspondents.
      await run('UPDATE emails SET "conversationId"=1');
      await run(
        `UPDATE conversations SET messages=2,participants='[{"name":"","address":"ada@example.net"},{"name":"","address":"support@example.com"}]' WHERE id=1`,
      );
      await run('DELETE FROM conversations WHERE id<>1');
      for (const [collection, field] of [
        ['accounts', 'aliases'],
        ['accounts', 'threadsVersion'],
        ['emails', 'ownAddresses'],
      ] as const) {
        await run(`DELETE FROM _fields WHERE name='${field}' AND collection_id=${of(collection)}`);
        await run(`ALTER TABLE "${collection}" DROP COLUMN "${field}"`);
      }
      await run(`DELETE FROM _fields WHERE collection_id=${of('mailSubjectParties')}`);
      await run(`DELETE FROM _collections WHERE name='mailSubjectParties'`);
      await run('DROP TABLE "mailSubjectParties"');
    });
    await server.running.stop();
    await server.boot();
    await server.running.applications.main.mail.whenRebuilt;
    const rows = await server.data('GET /api/conversations?sort=id', { as: 'ann' });
    expect(rows).toMatchObject([
      {
        messages: 1,
        participants: [
          { address: 'ada@example.net', wrote: true },
          { address: 'support@example.com', wrote: false },
        ],
      },
      { messages: 1, participants: [{ address: 'bob@example.net', wrote: true }, { wrote: false }] },
    ]);
    await message('ada@example.net', 'Re: Order', 3);
    expect(await server.data('GET /api/conversations/1', { as: 'ann' })).toMatchObject({ messages: 2 });
    await server.stop();
  });
});

async function indexNames({ running }: TestServer): Promise<string[]> {
  const { database } = running.applications.main;
  const text = database.multiNode
    ? 'SELECT indexname FROM pg_indexes WHERE schemaname=current_schema() ORDER BY 1'
    : `SELECT name FROM sqlite_master WHERE type='index' ORDER BY 1`;
  const [rows] = await database.read([{ text, values: [] }]);
  return rows!.map(([name]) => name as string);
}
