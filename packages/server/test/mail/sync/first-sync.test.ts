import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { sqlite } from '../../support/engines.ts';
import { SyncWorld, waitFor } from '../../support/sync-world.ts';
import { measureFastest } from '../../support/timing.ts';

describe.skipIf(!hasDovecot()).each([
  ['full capabilities', false],
  ['only IMAP4rev1', true],
] as const)('a server with %s', (_, poor) => {
  let world: SyncWorld;
  beforeAll(async () => {
    world = await SyncWorld.open(sqlite, { dovecot: { poor } });
    const client = await world.openClient();
    for (let number = 1; number <= 5; number += 1) await world.deliver(`old ${number}`);
    await client.mailboxCreate('Projects/Café');
    await client.append('Projects/Café', 'Subject: in a folder\r\nMessage-ID: <folder@test>\r\n\r\nText\r\n', [
      '\\Seen',
    ]);
  });
  afterAll(() => world?.close());

  test('the first synchronisation stores all messages of all mailboxes', async () => {
    await world.createAccount();
    await world.untilLive();
    await world.untilSame();
    const account = await world.readAccount();
    expect(account).toMatchObject({ status: 'live', problem: null, backfillDone: 6, backfillTotal: 6 });
    expect(account.lastSyncAt).not.toBeNull();
    const email = await world.findEmail('in a folder');
    expect(email).toMatchObject({ folder: 'Projects/Café', read: true });
  });

  test('a message that arrives is shown soon', async () => {
    let made = 0;
    const shown = await measureFastest(async () => {
      made += 1;
      const subject = `news ${made}`;
      const begun = performance.now();
      await world.deliver(subject);
      await waitFor(async () => (await world.findEmail(subject)) !== undefined, 'the message');
      return performance.now() - begun;
    }, 3);
    expect(shown).toBeLessThan(poor ? 5000 : 1500);
  });

  test('flags that are changed on either side are changed on the other', async () => {
    const email = await world.findEmail('old 1');
    await world.server.data(`PATCH /api/emails/${email!.id}`, { body: { read: true, starred: true } });
    await world.untilSame();
    const client = await world.openClient();
    await client.mailboxOpen('INBOX');
    await client.messageFlagsAdd('2', ['\\Flagged'], { uid: true });
    await waitFor(async () => (await world.findEmail('old 2'))!.starred === true, 'the flag of the server');
    await world.untilSame();
    await client.logout();
  });

  test('messages that are moved on either side are moved on the other, and keep their ids', async () => {
    const before = await world.findEmail('old 3');
    await world.server.data('POST /api/emails:move', { body: { ids: [before!.id], mailbox: 'archive' } });
    await world.untilSame();
    const client = await world.openClient();
    await client.mailboxOpen('Archive');
    await client.messageMove('1:*', 'INBOX', { uid: true });
    await waitFor(async () => (await world.findEmail('old 3'))!.folder === 'inbox', 'the move of the server');
    expect((await world.findEmail('old 3'))!.id).toBe(before!.id);
    await world.untilSame();
    await client.logout();
  });

  test('messages that are deleted on either side are deleted on the other', async () => {
    const email = await world.findEmail('old 4');
    await world.server.data(`DELETE /api/emails/${email!.id}?force=true`);
    await world.untilSame();
    const client = await world.openClient();
    await client.mailboxOpen('INBOX');
    const uids = await client.search({ subject: 'old 5' }, { uid: true });
    await client.messageDelete(uids as number[], { uid: true });
    await waitFor(async () => (await world.findEmail('old 5')) === undefined, 'the deletion of the server');
    await world.untilSame();
    await client.logout();
  });
});
