import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { describeEngines, type Engine, sqlite } from '../../support/engines.ts';
import { type FaultyImap, startFaultyImap } from '../../support/faulty-imap.ts';
import type { Json } from '../../support/json.ts';
import { BodyGate, makeLargeMail } from '../../support/large-mail.ts';
import { SyncWorld, waitFor } from '../../support/sync-world.ts';

/** UIDs of the large messages in the inbox: three small ones come first. */
const largeUids = [4, 5, 6, 7];
const large = ['budget', 'contract', 'photos'];

/** Large messages of a first synchronisation, before and after their bodies are downloaded. */
function describeWorld(engine: Engine, poor: boolean): void {
  let world: SyncWorld;
  let proxy: FaultyImap;
  let gate: BodyGate;
  beforeAll(async () => {
    world = await SyncWorld.open(engine, { dovecot: { poor } });
    proxy = await startFaultyImap({ upstreamPort: world.dovecot.imapPort, security: 'none' });
    gate = new BodyGate(proxy, largeUids);
    const client = await world.openClient();
    for (const subject of ['small 1', 'small 2', 'small 3']) await world.deliver(subject);
    for (const subject of large) await client.append('INBOX', makeLargeMail(subject));
    await client.append(
      'INBOX',
      makeLargeMail('Re: budget', { id: 'reply@large.test', inReplyTo: 'budget@large.test' }),
    );
    // A copy in another mailbox is the same e-mail.
    await client.append('Archive', makeLargeMail('photos'));
    await client.append('Drafts', makeLargeMail('unfinished'), ['\\Draft']);
    await client.append('Drafts', `Subject: without an id\r\n\r\n${'Text\r\n'.repeat(20_000)}`);
    await world.createAccount(proxy.port);
    await world.untilLive();
  });
  afterAll(async () => {
    await world?.close();
    await proxy?.stop();
  });

  const query = async (text: string): Promise<unknown[][]> =>
    (await world.server.running.applications.main.database.read([{ text, values: [] }]))[0] as unknown[][];
  const countWaiting = async (): Promise<number> => Number((await world.readAccount()).bodiesWaiting);
  const readConversation = async (subject: string): Promise<Json> => {
    const id = (await world.findEmail(subject))!.conversationId;
    const list: Json[] = await world.server.data(`GET /api/conversations:list?accountId=${world.account}`);
    return list.find((each) => each.id === id)!;
  };
  const listEvents = async (): Promise<string[]> => {
    const events: Json[] = await world.server.data('GET /api/changes:list?resource=emails&pageSize=1000');
    return events.map(({ name, type }) => name ?? type);
  };
  let ids: Json = {};

  test('all messages are listed, threaded, counted and found by their headers before their bodies are downloaded', async () => {
    expect(await world.readAccount()).toMatchObject({
      status: 'live',
      problem: null,
      backfillDone: 10,
      backfillTotal: 10,
    });
    await waitFor(async () => (await countWaiting()) === 4, 'the number of bodies');
    const emails = await world.listEmails();
    expect(emails).toHaveLength(7);
    const partial = emails.filter(({ bodyState }) => bodyState === 'partial');
    expect(partial.map(({ subject }) => subject).sort()).toEqual(['Re: budget', ...large].sort());
    for (const { subject, size, hasAttachments, snippet, messageId } of partial) {
      expect([subject, hasAttachments, snippet]).toEqual([
        subject,
        true,
        expect.stringContaining(`The needle of ${subject}.`),
      ]);
      const id = messageId === 'reply@large.test' ? { id: messageId, inReplyTo: 'budget@large.test' } : {};
      expect(size).toBe(makeLargeMail(subject, id).length);
    }
    ids = Object.fromEntries(emails.map(({ subject, id }) => [subject, id]));
    expect(await readConversation('budget')).toMatchObject({ messages: 2, attachments: 2, subject: 'budget' });
    const boxes: Json[] = await world.server.data(`GET /api/mailboxes:list?filter={"accountId":${world.account}}`);
    expect(boxes.map(({ path, messages }) => [path, messages])).toEqual(
      expect.arrayContaining([
        ['INBOX', 7],
        ['Archive', 1],
        ['Drafts', 2],
      ]),
    );
    expect((await world.listEmails('&search=contract')).map(({ subject }) => subject)).toEqual(['contract']);
    expect(await world.listEmails('&search=plan.pdf')).toHaveLength(5);
    // The draft is stored completely.
    expect(await world.listEmails('&search=needle')).toHaveLength(1);
    const files: Json[] = await world.server.data(`GET /api/attachments:list?filter={"emailId":${ids['contract']}}`);
    expect(files).toMatchObject([
      { filename: 'plan.pdf', contentType: 'application/pdf', partId: '2', state: 'remote' },
    ]);
    await world.untilSame();
  });

  test('drafts and messages without a Message-ID are stored completely', async () => {
    const drafts = await world.listEmails('&folder=drafts');
    expect(drafts.map(({ subject, bodyState }) => [subject, bodyState]).sort()).toEqual([
      ['unfinished', 'complete'],
      ['without an id', 'complete'],
    ]);
  });

  test('flags and new mail are synchronised while bodies are missing', async () => {
    await world.deliver('news');
    await waitFor(async () => (await world.findEmail('news')) !== undefined, 'the new message');
    await world.server.data(`PATCH /api/emails/${ids['contract']}`, { body: { read: true, starred: true } });
    await world.untilSame();
    expect(await world.findEmail('contract')).toMatchObject({
      id: ids['contract'],
      bodyState: 'partial',
      starred: true,
    });
  });

  test('the bodies are downloaded in the background, without an event for each, and without rules', async () => {
    await world.server.data('POST /api/mailRules:create', {
      body: {
        accountId: world.account,
        name: 'Needles',
        conditions: [{ field: 'body', operator: 'contains', value: 'needle' }],
        actions: [{ type: 'addLabel', label: 'Found' }],
      },
    });
    const before = (await listEvents()).length;
    const files: Json[] = await world.server.data(`GET /api/attachments:list?filter={"emailId":${ids['contract']}}`);
    gate.open();
    await waitFor(async () => (await countWaiting()) === 0, 'all bodies');
    const emails = await world.listEmails();
    expect(emails.map(({ bodyState }) => bodyState)).toEqual(emails.map(() => 'complete'));
    expect(Object.fromEntries(emails.map(({ subject, id }) => [subject, id]))).toMatchObject(ids);
    expect(emails.flatMap(({ labels }) => labels)).toEqual([]);
    for (const { subject, snippet, hasAttachments } of emails.filter((each) => large.includes(each.subject)))
      expect([hasAttachments, snippet]).toEqual([true, expect.stringContaining(`The needle of ${subject}.`)]);
    expect(await world.listEmails('&search=needle')).toHaveLength(5);
    expect(await readConversation('budget')).toMatchObject({
      messages: 2,
      attachments: 2,
      snippet: expect.stringContaining('needle'),
    });
    expect(await world.findEmail('contract')).toMatchObject({ read: true, starred: true });
    const after: Json[] = await world.server.data(`GET /api/attachments:list?filter={"emailId":${ids['contract']}}`);
    expect(after).toMatchObject([{ id: files[0].id, filename: 'plan.pdf', partId: '2', state: 'stored' }]);
    expect((await listEvents()).slice(before)).toEqual([]);
    expect(await query('SELECT id FROM "mailMissingBodies"')).toEqual([]);
    // Each body was fetched once, also that of the message with two copies.
    expect([...gate.fetched].sort()).toEqual(largeUids);
    await world.untilSame();
  });
}

describe.skipIf(!hasDovecot())('a first synchronisation with large messages', () => {
  describeEngines('on a server with all extensions', (engine) => describeWorld(engine, false));
  describe('on a server with only IMAP4rev1', () => describeWorld(sqlite, true));
});
