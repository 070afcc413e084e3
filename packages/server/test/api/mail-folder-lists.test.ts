/** Conversations of a folder are the same whether each one is tested, or all e-mails of the folder are read first. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateDemoMail } from '../../src/mail/demo/demo-mail.ts';
import { writeMbox } from '../../src/mail/files/mbox-writer.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('conversations of a folder', (engine) => {
  let server: TestServer;

  const list = async (path: string): Promise<Json[]> => server.data(`GET /api/${path}`, { as: 'ann' });
  /** All pages of a list. */
  const listAll = async (query: string): Promise<number[]> => {
    const ids: number[] = [];
    let after: string | null = null;
    do {
      const path = `GET /api/conversations?pageSize=17&${query}${after === null ? '' : `&after=${after}`}`;
      const { body } = await server.call(path, { as: 'ann' });
      ids.push(...body.data.map(({ id }: Json) => id));
      after = body.meta.nextCursor;
    } while (after !== null);
    return ids;
  };
  /** The conversations of the e-mails in a folder, in the order of the list of all conversations. */
  const expected = async (folder: string, condition: (row: Json) => boolean = () => true): Promise<number[]> => {
    const emails = await list(`emails?folder=${folder}&fields=conversationId&pageSize=500`);
    const ids = new Set(emails.map(({ conversationId }) => conversationId));
    const rows = await list('conversations?pageSize=500&filter={"messages":{"$gt":0}}');
    return rows.filter((row) => ids.has(row.id) && condition(row)).map(({ id }) => id);
  };

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    const until = new Date('2026-11-01T12:00:00Z');
    const inbox = { name: 'Shop', address: 'shop@example.com' };
    const mails = generateDemoMail({ seed: 7, count: 260, until, inbox });
    for (const box of ['INBOX', 'Sent'])
      await upload(
        server,
        'ann',
        1,
        writeMbox(mails.filter(({ mailbox }) => mailbox === box)),
        'application/mbox',
        `&mailbox=${box}`,
      );
    const old = generateDemoMail({ seed: 8, count: 5, until: new Date('2020-01-01T00:00:00Z'), inbox });
    await upload(server, 'ann', 1, writeMbox(old), 'application/mbox', '&mailbox=Old');
    const [first] = await list('conversations?folder=inbox&pageSize=1');
    await server.data(`PATCH /api/conversations/${first!.id}`, { as: 'ann', body: { state: 'closed' } });
  });
  afterAll(() => server.stop());

  test.each(['inbox', 'sent', 'Old'])('%s: all conversations are listed page by page, newest first', async (folder) => {
    const ids = await listAll(`folder=${folder}`);
    expect(ids).toEqual(await expected(folder));
    expect(ids.length).toBeGreaterThan(0);
    expect(await listAll(`folder=${folder}&state=open`)).toEqual(
      await expected(folder, ({ state }) => state === 'open'),
    );
    expect(await listAll(`folder=${folder}&unread=true`)).toEqual(await expected(folder, ({ unread }) => unread > 0));
    expect((await listAll(`folder=${folder}&sort=lastEmailId`)).reverse()).toEqual(ids);
  });

  test('the inbox has so many of the newest e-mails that it is tested row by row', async () => {
    const [emails, inbox] = [await list('emails?pageSize=400'), await list('emails?folder=inbox&pageSize=400')];
    expect(inbox.length).toBeGreaterThanOrEqual(100);
    expect(emails.length).toBeLessThan(400);
  });

  test('the row-by-row test of a folder checks the deadline of the read', async () => {
    const { database } = server.running.applications.main;
    const { read } = database;
    const texts: string[] = [];
    database.read = (statements) => {
      texts.push(...statements.map(({ text }) => text));
      return read.call(database, statements);
    };
    await list('conversations?folder=inbox&pageSize=1&count=none');
    database.read = read;
    const text = texts.find((each) => each.includes('CASE WHEN (SELECT count(*)')) ?? '';
    const isTicking = / THEN EXISTS \(SELECT 1 FROM "emails" ("t\d+")(?:(?! ELSE ).)*\(\1\.rowid[^ ]* OR _tick\(\)\)/s;
    if (engine.name === 'sqlite') expect(text).toMatch(isTicking);
    else expect(text).toBe(''); // PostgreSQL limits the time of the whole statement
  });

  test('members of other accounts see none of them', async () => {
    for (const folder of ['inbox', 'Old'])
      expect(await server.data(`GET /api/conversations?folder=${folder}`, { as: 'bob' })).toEqual([]);
  });
});
