import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { postgres, sqlite } from '../../support/engines.ts';
import { SyncWorld, waitFor } from '../../support/sync-world.ts';

describe.skipIf(!hasDovecot()).each([
  ['full capabilities', false, sqlite],
  ['only IMAP4rev1', true, sqlite],
  ['full capabilities, on PostgreSQL', false, postgres],
] as const)('mailboxes of a server with %s', (_, poor, engine) => {
  let world: SyncWorld;
  const readIds = async (): Promise<Map<string, number>> =>
    new Map((await world.listEmails()).map(({ subject, id }) => [subject, id]));

  beforeAll(async () => {
    world = await SyncWorld.open(engine, { dovecot: { poor } });
    for (let number = 1; number <= 4; number += 1) await world.deliver(`message ${number}`);
    await world.createAccount();
    await world.untilLive();
  });
  afterAll(() => world?.close());

  test('a changed UIDVALIDITY loses nothing, and e-mails keep their ids', async () => {
    const before = await readIds();
    const email = before.get('message 2');
    await world.server.data(`PATCH /api/emails/${email}`, { body: { starred: true } });
    await world.untilSame();
    await world.dovecot.setUidValidity(world.dovecot.users['alice']!.address, 'INBOX', 4_000_000_000);
    await world.deliver('after the change');
    await waitFor(async () => (await world.findEmail('after the change')) !== undefined, 'the message after it');
    await world.untilSame();
    const after = await readIds();
    for (const [subject, id] of before) expect(after.get(subject)).toBe(id);
    expect((await world.findEmail('message 2'))!.starred).toBe(true);
  });

  test('a mailbox that is renamed on the server keeps its id and its e-mails', async () => {
    const client = await world.openClient();
    await client.mailboxCreate('Orders');
    await client.mailboxOpen('INBOX');
    await client.messageMove('1', 'Orders');
    const isFiled = async (path: string): Promise<boolean> =>
      (await world.listEmails()).some(({ folder }) => folder === path);
    await waitFor(() => isFiled('Orders'), 'the message in Orders');
    await world.untilSame();
    const before = await readIds();
    const [mailbox] = await world.server.data('GET /api/mailboxes:list?filter={"path":"Orders"}');
    await client.mailboxRename('Orders', 'Old orders');
    await waitFor(() => isFiled('Old orders'), 'the new name');
    const [renamed] = await world.server.data('GET /api/mailboxes:list?filter={"path":"Old orders"}');
    expect(renamed.id).toBe(mailbox.id);
    expect(await readIds()).toEqual(before);
    await world.untilSame();
  });

  // For a server that does not report expunged messages, the number of messages is compared with the number that was
  // stored.
  test.skipIf(poor)('a message that was missed is detected by the number of messages', async () => {
    const before = await readIds();
    const { database } = world.server.running.applications.main;
    const text = `DELETE FROM "mailPlacements" WHERE "emailId"=${before.get('message 4')}`;
    await database.write((transaction) => transaction.run({ text, values: [] }));
    await world.deliver('shows that one is missing');
    await waitFor(async () => (await world.findEmail('shows that one is missing')) !== undefined, 'the new message');
    const look = setInterval(() => {
      void world.server.call(`POST /api/accounts:sync?filterByTk=${world.account}`, { body: {} });
    }, 500);
    await world.untilSame(30_000).finally(() => clearInterval(look));
    expect((await readIds()).get('message 4')).toBe(before.get('message 4'));
  });

  test('mailboxes are created, renamed and deleted here', async () => {
    const client = await world.openClient();
    const listPaths = async (): Promise<string[]> => (await client.list()).map(({ path }) => path);
    const body = { accountId: world.account, path: 'Invoices' };
    const { id } = await world.server.data('POST /api/mailboxes:create', { body });
    await waitFor(async () => (await listPaths()).includes('Invoices'), 'the new mailbox');
    const email = (await readIds()).get('message 3');
    await world.server.data('POST /api/emails:move', { body: { ids: [email], mailbox: 'Invoices' } });
    await world.untilSame();
    await world.server.data(`PATCH /api/mailboxes/${id}`, { body: { path: 'Paid' } });
    await waitFor(async () => (await listPaths()).includes('Paid'), 'the new name');
    await world.untilSame();
    await world.server.data('POST /api/emails:move', { body: { ids: [email], mailbox: 'inbox' } });
    await world.untilSame();
    await world.server.data(`DELETE /api/mailboxes/${id}`);
    await waitFor(async () => !(await listPaths()).includes('Paid'), 'the deletion');
    await world.untilSame();
    expect((await readIds()).get('message 3')).toBe(email);
  });

  // A draft is only sent some seconds after its last change, so one engine and server are enough.
  test.runIf(engine === postgres)('a draft is stored on the server, and replaced by its next version', async () => {
    const body = { account: world.account, to: ['bob@example.test'], subject: 'Draft', text: 'First' };
    const { id } = await world.server.data('POST /api/emails:saveDraft', { body });
    await world.untilSame();
    const changed = { text: 'Second' };
    await world.server.data(`POST /api/emails:saveDraft?filterByTk=${id}`, { body: changed });
    await world.untilSame();
    const client = await world.openClient();
    await client.mailboxOpen('Drafts');
    const drafts = await client.fetchAll('1:*', { uid: true, source: true, flags: true });
    expect(drafts).toHaveLength(1);
    expect(String(drafts[0]!.source)).toContain('Second');
    expect(drafts[0]!.flags!.has('\\Draft')).toBe(true);
  });

  test('a mailbox that another program empties is emptied here', async () => {
    const client = await world.openClient();
    await client.mailboxOpen('INBOX');
    await client.messageDelete('1:*');
    await waitFor(async () => (await world.listEmails('&folder=inbox')).length === 0, 'the empty inbox');
    await world.untilSame();
  });
});
