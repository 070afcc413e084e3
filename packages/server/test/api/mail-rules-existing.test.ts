import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { readOutbox } from '../support/mail-compose-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';
import { readStoreSnapshot } from '../support/store-snapshot.ts';
import { waitFor } from '../support/sync-world.ts';

describeEngines('rules on existing mail', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    for (let index = 0; index < 12; index += 1)
      await upload(
        server,
        'ann',
        1,
        makeRawMail({
          subject: index % 3 === 0 ? `Bill ${index}` : `Letter ${index}`,
          id: `m${index}@example.net`,
          from: 'cora@example.net',
          date: `Fri, 20 Nov 2026 10:00:${String(index).padStart(2, '0')} +0000`,
          headers: index === 3 ? ['Auto-Submitted: auto-generated'] : [],
        }),
      );
    await upload(
      server,
      'ann',
      1,
      makeRawMail({ subject: 'Bill in Later', id: 'later@example.net' }),
      'message/rfc822',
      '&mailbox=Later',
    );
  });
  afterAll(() => server?.stop());

  const conditions = [{ field: 'subject', operator: 'startsWith', value: 'bill' }];
  const actions = [{ type: 'star' }, { type: 'markRead' }, { type: 'webhook' }, { type: 'reply', text: 'Thanks' }];
  const tryRule = (body: object): Promise<Json> => server.data('POST /api/mailRules:try', { as: 'ann', body });
  const listSubjects = (found: Json): string[] => found.emails.map(({ subject }: Json) => subject);

  test('a rule that is not saved is tried page by page, and nothing changes', async () => {
    // The senders of the messages are verified in the background.
    await expect.poll(() => server.running.applications.main.mail.isBusy).toBe(false);
    const before = await readStoreSnapshot(server.running.applications.main);
    const given = { account: 'shop@example.com', rule: { conditions, actions } };
    const first = await tryRule({ ...given, limit: 5 });
    expect(listSubjects(first)).toEqual(['Bill 9']);
    expect(first.scanned).toBe(5);
    const second = await tryRule({ ...given, limit: 5, cursor: first.nextCursor });
    expect(listSubjects(second)).toEqual(['Bill 6', 'Bill 3']);
    expect(second.emails[1]).toMatchObject({
      folder: 'inbox',
      effects: [
        { type: 'star' },
        { type: 'markRead' },
        { type: 'webhook' },
        { type: 'reply', refusal: 'A program or a mailing list sent the message.' },
      ],
    });
    expect(second.emails[0].effects[3]).toEqual({ type: 'reply', to: 'cora@example.net' });
    const third = await tryRule({ ...given, limit: 5, cursor: second.nextCursor });
    expect(listSubjects(third)).toEqual(['Bill 0']);
    expect([third.scanned, third.nextCursor]).toEqual([2, null]);
    const later = await tryRule({ ...given, folder: 'Later' });
    expect(listSubjects(later)).toEqual(['Bill in Later']);
    const all = await tryRule({ ...given, folder: null });
    expect(all.scanned).toBe(13);
    expect(await readStoreSnapshot(server.running.applications.main)).toBe(before);
  });

  test('a saved rule is applied in batches, without replies, and leaves other e-mails alone', async () => {
    const body = {
      accountId: 1,
      name: 'Bills',
      conditions,
      actions: [...actions, { type: 'move', mailbox: 'archive' }],
    };
    const { id } = await server.data('POST /api/mailRules:create', { as: 'ann', body });
    const dry = await server.data('POST /api/mailRules:apply?dryRun=true', { as: 'ann', body: { id } });
    expect(dry.ids).toHaveLength(4);
    expect(await server.data('GET /api/emails?starred=true', { as: 'ann' })).toEqual([]);
    const first = await server.data('POST /api/mailRules:apply', { as: 'ann', body: { id, limit: 6 } });
    expect(first).toMatchObject({ ids: [expect.any(Number), expect.any(Number)], scanned: 6 });
    const cursor = first.nextCursor;
    const second = await server.data('POST /api/mailRules:apply', { as: 'ann', body: { id, limit: 100, cursor } });
    expect(second).toMatchObject({ ids: [expect.any(Number), expect.any(Number)], scanned: 6, nextCursor: null });
    const starred = await server.data('GET /api/emails?starred=true', { as: 'ann' });
    expect(starred.map(({ subject, folder, read }: Json) => [subject, folder, read])).toEqual(
      ['Bill 9', 'Bill 6', 'Bill 3', 'Bill 0'].map((subject) => [subject, 'archive', true]),
    );
    expect(await readOutbox(server)).toEqual([]);
    const tried = await tryRule({ id, folder: 'archive' });
    expect(tried.emails[0].effects.map(({ type }: Json) => type)).toEqual(['webhook', 'reply']);
  });

  test('the same request with an idempotency key applies a rule once', async () => {
    const body = { accountId: 1, name: 'Hook', conditions, actions: [{ type: 'webhook' }] };
    const { id } = await server.data('POST /api/mailRules:create', { as: 'ann', body });
    const headers = { 'idempotency-key': `once-${id}` };
    const request = { as: 'ann', body: { id, folder: 'archive' }, headers };
    const replies = [
      await server.data('POST /api/mailRules:apply', request),
      await server.data('POST /api/mailRules:apply', request),
    ];
    expect(replies[0].ids).toHaveLength(4);
    expect(replies[1]).toEqual(replies[0]);
    // On PostgreSQL, an event can be read when all older transactions have ended. Events keep their order, so the
    // event of a later change shows that none of the rule is still to come.
    const last = replies[0].ids[0];
    await server.data(`POST /api/emails:update/${last}`, { as: 'ann', body: { starred: false } });
    let events: Json[] = [];
    const isOfRule = ({ payload }: Json): boolean => payload?.rule?.id === id;
    const isComplete = async (): Promise<boolean> => {
      events = await server.data('GET /api/changes:list?resource=emails&pageSize=1000', { as: 'ann' });
      const isLast = ({ name, tk }: Json): boolean => name === 'emails.updated' && String(tk) === String(last);
      const ofRule = events.findLastIndex(isOfRule);
      return ofRule >= 0 && events.findLastIndex(isLast) > ofRule;
    };
    await waitFor(isComplete, () => `the event of the last change: ${JSON.stringify(events.at(-1))}`, 10_000);
    expect(events.filter(isOfRule)).toHaveLength(4);
  });
});
