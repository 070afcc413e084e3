import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, type Store, shareStore } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';
import { parseCorpus, storeMailCopies } from '../support/stored-mail-copies.ts';

const mails = Number(process.env['REMOVED_MAILS'] ?? 600);
const flags = { read: false, starred: false, answered: false, draft: false };
const tables = ['emails', 'conversations', 'mailboxes', '"mailContents"', '"mailThreadKeys"', '"mailPlacements"'];

describeEngines('a destroyed mail account', (engine) => {
  let server: TestServer;
  let store: Store;
  let id: number;
  beforeAll(async () => {
    store = await engine.store(true);
    server = await startMailAccountServer(shareStore(engine, store));
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Stays', id: 'stays@example.net' }));
    id = (await server.data('POST /api/accounts:create', { as: 'ann', body: { address: 'big@example.com' } })).id;
    await storeMailCopies(server, { id, address: 'big@example.com' }, await parseCorpus(null, 100), mails);
    const attached = { name: 'a.txt', type: 'text/plain', content: 'attached' };
    await upload(server, 'ann', id, makeRawMail({ subject: 'Goes', id: 'goes@example.net', attachments: [attached] }));
  }, 300_000);
  afterAll(async () => {
    await server.stop();
    await store.remove();
  });

  const count = async (table: string): Promise<number> => {
    const { database } = server.running.applications.main;
    const [rows] = await database.read([{ text: `SELECT count(*) FROM ${table}`, values: [] }]);
    return Number(rows![0]![0]);
  };

  test('is invisible at once and deleted even after kill -9, while other requests are served', {
    timeout: 300_000,
  }, async () => {
    const [{ id: email }] = await server.data(`GET /api/emails?accountId=${id}`, { as: 'ann' });
    await server.data(`PATCH /api/emails/${email}`, { as: 'ann', body: { starred: true } });
    await server.stop();
    const child = await ServerProcess.start(store);
    expect(await child.data(`accounts:destroy?filterByTk=${id}`)).toBe(1);
    await child.kill();

    await server.boot();
    const { mail } = server.running.applications.main;
    expect(await count('emails')).toBeGreaterThan(1); // otherwise the kill interrupted nothing
    expect(await server.data('GET /api/accounts', { as: 'ann' })).toHaveLength(1);
    expect(await server.data('GET /api/accounts:list')).toHaveLength(1);
    expect(await server.call(`GET /api/accounts:get/${id}`)).toMatchObject({ status: 404 });
    expect(await server.call(`GET /api/emails/${email}`, { as: 'ann' })).toMatchObject({ status: 403 });
    expect(await server.data('GET /api/emails', { as: 'ann' })).toMatchObject([{ subject: 'Stays' }]);
    expect(await server.data('GET /api/emails?search=goes', { as: 'ann' })).toEqual([]);
    expect(await server.data('GET /api/conversations', { as: 'ann' })).toHaveLength(1);
    // An import that is still running can no longer store messages.
    const late = {
      raw: Buffer.from('Subject: late\r\n\r\n'),
      mailbox: { id: 1, folder: 'inbox' },
      receivedAt: null,
      flags,
    };
    const stored = await mail.ingest.store({ id, address: 'big@example.com' }, [late], {
      actor: null,
      requestId: null,
    });
    expect(stored).toMatchObject([{ outcome: 'failed', reason: expect.stringContaining('deleted') }]);
    const again = await server.call(`POST /api/accounts:destroy?filterByTk=${id}`);
    expect(again).toMatchObject({ status: 404 });

    const taken: number[] = [];
    let done = false;
    const removed = mail.accountDeletion.wake().then(() => {
      done = true;
    });
    while (!done) {
      const begun = performance.now();
      await server.data('GET /api/emails', { as: 'ann' });
      taken.push(performance.now() - begun);
    }
    await removed;
    taken.sort((one, other) => one - other);
    const at = (share: number): string => taken[Math.floor(taken.length * share)]!.toFixed(1);
    process.stdout.write(
      `${engine.name}: lists beside the removal of ${mails}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms\n`,
    );
    expect(taken[Math.floor(taken.length / 2)]).toBeLessThan(1500);
    for (const table of [...tables, 'accounts', '_mail_text']) expect(await count(table), table).toBe(1);
    expect(await count('attachments')).toBe(0);
    expect(await count('_history')).toBe(0);
    expect(await mail.blobs.findStoredBefore(id, Date.now() + 60_000)).toEqual([]);
  });

  test('stays if a record refers to its content', async () => {
    const field = { name: 'email', type: 'belongsTo', target: 'emails', onDelete: 'restrict' };
    await server.data('POST /api/collections:create', { body: { name: 'tasks', fields: [field] } });
    const [{ id: email }] = await server.data('GET /api/emails', { as: 'ann' });
    await server.data('POST /api/tasks:create', { as: 'ann', body: { emailId: email } });
    await server.play({
      name: 'the destroy is refused',
      request: 'POST /api/accounts:destroy?filterByTk=1',
      as: 'ann',
      expect: { status: 409, code: 'DEPENDANTS_EXIST' },
    });
  });

  test('that cannot be deleted yet does not delay others', async () => {
    const { database, mail } = server.running.applications.main;
    const make = async (address: string): Promise<number> =>
      (await server.data('POST /api/accounts:create', { as: 'ann', body: { address } })).id;
    const [held, free] = [await make('held@example.com'), await make('free@example.com')];
    const field = { name: 'account', type: 'belongsTo', target: 'accounts', onDelete: 'restrict' };
    await server.data('POST /api/collections:create', { body: { name: 'holds', fields: [field] } });
    await server.data('POST /api/holds:create', { as: 'ann', body: { accountId: held } });
    // Simulates a record that began to refer to the account while it was being destroyed.
    await database.write((transaction) =>
      transaction.run({ text: `UPDATE accounts SET status='destroying' WHERE id=${held}`, values: [] }),
    );
    const link = { name: 'account', type: 'belongsTo', target: 'accounts', onDelete: 'setNull' };
    await server.data('POST /api/collections:create', { body: { name: 'links', fields: [link] } });
    await server.data('POST /api/links:create', { as: 'ann', body: { accountId: free } });
    const since = await server.lastCursor();
    await server.data(`POST /api/accounts:destroy?filterByTk=${free}`, { as: 'ann' });
    await mail.accountDeletion.wake();
    expect(await server.eventNames(since, 'links.updated')).toContain('links.updated');
    const [rows] = await database.read([{ text: `SELECT id FROM accounts WHERE id IN (${held},${free})`, values: [] }]);
    expect(rows!.map(([id]) => Number(id))).toEqual([held]);
  });
});
