import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { sqlite } from '../../support/engines.ts';
import { type FaultyImap, startFaultyImap } from '../../support/faulty-imap.ts';
import type { Json } from '../../support/json.ts';
import { BodyGate, makeLargeMail, parseUids } from '../../support/large-mail.ts';
import { SyncWorld, waitFor } from '../../support/sync-world.ts';

const inInbox = ['moved to the archive', 'expunged', 'deleted here', 'moved here', 'read', 'kept'];
const uids = [1, 2, 3, 4, 5, 6];

/** Changes of a message while its body is still on the mail server. */
describe.skipIf(!hasDovecot()).each([
  ['full capabilities', false],
  ['only IMAP4rev1', true],
] as const)('a large message that changes before its body is downloaded, on a server with %s', (_, poor) => {
  let world: SyncWorld;
  let proxy: FaultyImap;
  let gate: BodyGate;
  const ids = new Map<string, number>();
  beforeAll(async () => {
    world = await SyncWorld.open(sqlite, { dovecot: { poor } });
    proxy = await startFaultyImap({ upstreamPort: world.dovecot.imapPort, security: 'none' });
    gate = new BodyGate(proxy, uids);
    const client = await world.openClient();
    for (const subject of inInbox) await client.append('INBOX', makeLargeMail(subject));
    await client.append('Archive', makeLargeMail('moved to the inbox'));
    await world.createAccount(proxy.port);
    await world.untilLive();
    const emails = await world.listEmails();
    expect(emails.map(({ bodyState }) => bodyState)).toEqual(Array(7).fill('partial'));
    for (const { subject, id } of emails) ids.set(subject, id);
  });
  afterAll(async () => {
    await world?.close();
    await proxy?.stop();
  });

  const run = async (text: string): Promise<unknown[][]> =>
    (await world.server.running.applications.main.database.read([{ text, values: [] }]))[0] as unknown[][];
  const move = async (from: string, subject: string, to: string): Promise<void> => {
    const client = await world.openClient();
    await client.mailboxOpen(from);
    const found = await client.search({ subject }, { uid: true });
    await client.messageMove(found as number[], to, { uid: true });
    await client.logout();
  };

  test('a message that is moved on the server stays the same e-mail, and its body is still missing', async () => {
    await move('INBOX', 'moved to the archive', 'Archive');
    await waitFor(async () => (await world.findEmail('moved to the archive'))?.folder === 'archive', 'the move');
    await world.untilSame();
    expect(await world.findEmail('moved to the archive')).toMatchObject({
      id: ids.get('moved to the archive'),
      bodyState: 'partial',
    });
  });

  test('a message that is moved into a mailbox that is read earlier gets its body', async () => {
    await move('Archive', 'moved to the inbox', 'INBOX');
    await waitFor(async () => (await world.findEmail('moved to the inbox'))?.folder === 'inbox', 'the move');
    await waitFor(async () => (await world.findEmail('moved to the inbox'))?.bodyState === 'complete', 'its body');
    await world.untilSame();
    expect(await world.findEmail('moved to the inbox')).toMatchObject({ id: ids.get('moved to the inbox') });
    expect(await world.listEmails()).toHaveLength(7);
  });

  test('a message that is expunged, or that is deleted here, is gone, and no download of its body remains', async () => {
    const client = await world.openClient();
    await client.mailboxOpen('INBOX');
    await client.messageDelete((await client.search({ subject: 'expunged' }, { uid: true })) as number[], {
      uid: true,
    });
    await world.server.data(`DELETE /api/emails/${ids.get('deleted here')}?force=true`);
    await waitFor(async () => (await world.findEmail('expunged')) === undefined, 'the deletion');
    await world.untilSame();
    const waiting = (await run('SELECT "emailId" FROM "mailMissingBodies"')).map(([id]) => Number(id));
    const partial = (await world.listEmails()).filter(({ bodyState }) => bodyState === 'partial');
    expect(waiting.sort()).toEqual(partial.map(({ id }) => id).sort());
    expect(waiting).toHaveLength(4);
    await waitFor(async () => (await world.readAccount()).bodiesWaiting === 4, 'the number of bodies');
  });

  test('a message that is moved here stays the same e-mail', async () => {
    const body = { ids: [ids.get('moved here')], mailbox: 'archive' };
    await world.server.data('POST /api/emails:move', { body });
    await world.untilSame();
    expect(await world.findEmail('moved here')).toMatchObject({ id: ids.get('moved here'), folder: 'archive' });
  });

  test('while the server refuses the body, a reader gets the reason and nothing changes', async () => {
    const state = (): Promise<unknown> => run('SELECT id,_v,"bodyState",identity FROM emails ORDER BY id');
    const before = await state();
    const reply = await world.server.call(`GET /api/emails/${ids.get('read')}`);
    expect([reply.status, reply.body.code]).toEqual([503, 'MAIL_BODY_REMOTE']);
    expect(await state()).toEqual(before);
  });

  test('if a mailbox gets new UIDs, its e-mails stay the same and all bodies are downloaded', async () => {
    await world.dovecot.setUidValidity(world.dovecot.users['alice']!.address, 'INBOX', 99_999);
    await world.dovecot.dropConnections(world.dovecot.users['alice']!.address);
    await world.untilSame();
    gate.open();
    await waitFor(async () => (await world.readAccount()).bodiesWaiting === 0, 'all bodies');
    await world.untilSame();
    const emails = await world.listEmails();
    expect(emails.map(({ subject, id, bodyState }) => [subject, id, bodyState]).sort()).toEqual(
      ['kept', 'moved here', 'moved to the archive', 'moved to the inbox', 'read'].map((subject) => [
        subject,
        ids.get(subject),
        'complete',
      ]),
    );
    expect(await world.listEmails('&search=needle')).toHaveLength(5);
  });

  test('a message that was imported before the account was connected is not stored twice', async () => {
    world.user = 'bob';
    const client = await world.openClient();
    const raw = makeLargeMail('imported');
    await client.append('INBOX', raw);
    const { address } = world.dovecot.users['bob']!;
    const { id } = await world.server.data('POST /api/accounts:create', { body: { name: 'bob', address } });
    const imported = await fetch(`${world.server.running.url}/api/emails:import?account=${id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.server.tokens.get('admin')}`, 'content-type': 'message/rfc822' },
      body: raw.replaceAll('\r\n', '\n'),
    });
    expect(imported.status).toBe(200);
    world.account = id;
    const before = await world.listEmails();
    const imap = { host: '127.0.0.1', port: world.dovecot.imapPort, security: 'none', user: address };
    await world.server.data(`PATCH /api/accounts/${id}`, {
      body: { imap, password: world.dovecot.users['bob']!.password },
    });
    await world.untilLive();
    await world.untilSame();
    expect(await world.listEmails()).toMatchObject([{ id: before[0].id, bodyState: 'complete' }]);
  });

  test('a reader and the background download share one fetch', async () => {
    world.user = 'carol';
    const slow = await startFaultyImap({ upstreamPort: world.dovecot.imapPort, security: 'none' });
    try {
      const client = await world.openClient();
      await client.append('INBOX', makeLargeMail('shared', { text: 'The shared needle.\r\n'.repeat(20_000) }));
      const countFetches = (): number =>
        slow.commands.filter(
          (each) => /^UID FETCH .*BODY\.PEEK\[\]/.test(each) && parseUids(each.split(' ')[2]!).includes(1),
        ).length;
      // The body arrives only seconds after it is requested.
      slow.script = ({ name, args }) => {
        if (name === 'UID FETCH' && /BODY\.PEEK\[\]/.test(args)) slow.bytesPerSecond = 250_000;
        return undefined;
      };
      await world.createAccount(slow.port);
      await waitFor(() => countFetches() > 0, 'the background download');
      const list: Json[] = await world.listEmails();
      const email = await world.server.data(`GET /api/emails/${list[0].id}`);
      expect(email).toMatchObject({ bodyState: 'complete', text: expect.stringContaining('shared needle') });
      expect(countFetches()).toBe(1);
    } finally {
      await slow.stop();
    }
  });
});
