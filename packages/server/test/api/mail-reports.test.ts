/** The figures of conversations that reports are made of: when a message arrived, was answered, and was settled. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

const start = Date.parse('2026-11-02T08:00:00.000Z');
const minute = 60_000;

describeEngines('figures of conversations', (engine) => {
  let server: TestServer;
  let time = start;
  const clock = { now: () => time };
  const receive = async (id: string, minutes: number, more: object = {}): Promise<number> => {
    const receivedAt = new Date(start + minutes * minute).toISOString();
    const raw = makeRawMail({ id: `${id}@example.net`, subject: 'Order', ...more });
    const { ids } = await upload(server, 'ann', 1, raw, 'message/rfc822', `&receivedAt=${receivedAt}`);
    return ids[0] as number;
  };
  const own = { from: 'shop@example.com', to: 'cora@example.net' };
  const findConversation = async (email: number): Promise<Json> => {
    const { conversationId } = await server.data(`GET /api/emails/${email}`, { as: 'ann' });
    const fields = 'firstReceivedAt,respondedAt,responseSeconds,closedAt,resolutionSeconds,state';
    return server
      .data(`GET /api/conversations?filter={"id":${conversationId}}&fields=id,${fields}`, { as: 'ann' })
      .then(([each]) => each);
  };

  beforeAll(async () => {
    server = await startMailAccountServer(engine, {}, { clock });
  });
  afterAll(() => server.stop());

  test('the first answer counts, whatever the order in which messages are stored', async () => {
    const late = await receive('late', 90, { ...own, references: ['first@example.net'], subject: 'Re: Order' });
    expect(await findConversation(late)).toMatchObject({
      firstReceivedAt: null,
      respondedAt: null,
      responseSeconds: null,
    });
    await receive('before', -5, { ...own, references: ['first@example.net'], subject: 'Re: Order' });
    await receive('first', 0);
    expect(await findConversation(late)).toMatchObject({
      firstReceivedAt: '2026-11-02T08:00:00.000Z',
      respondedAt: '2026-11-02T09:30:00.000Z',
      responseSeconds: 5400,
      closedAt: null,
      resolutionSeconds: null,
    });
    const answer = await receive('answer', 30, { ...own, references: ['first@example.net'], subject: 'Re: Order' });
    expect(await findConversation(late)).toMatchObject({ responseSeconds: 1800 });
    await server.data(`POST /api/emails:destroy?filterByTk=${answer}`, { as: 'ann' });
    expect(await findConversation(late)).toMatchObject({ responseSeconds: 5400 });
  });

  test('a conversation is settled when it is closed, and again after it was opened', async () => {
    const email = await receive('settled', 0, { subject: 'Refund' });
    const { id } = await findConversation(email);
    const change = (body: object): Promise<Json> => server.data(`PATCH /api/conversations/${id}`, { as: 'ann', body });
    time = start + 120 * minute;
    await change({ state: 'closed' });
    const closed = { state: 'closed', closedAt: '2026-11-02T10:00:00.000Z', resolutionSeconds: 7200 };
    expect(await findConversation(email)).toMatchObject(closed);
    time = start + 180 * minute;
    await change({ state: 'closed', muted: true });
    expect(await findConversation(email)).toMatchObject(closed);
    await change({ state: 'open' });
    expect(await findConversation(email)).toMatchObject({ state: 'open', closedAt: null, resolutionSeconds: null });
    await change({ state: 'closed' });
    expect(await findConversation(email)).toMatchObject({
      closedAt: '2026-11-02T11:00:00.000Z',
      resolutionSeconds: 10_800,
    });
    const refused = await server.call(`PATCH /api/conversations/${id}`, { as: 'ann', body: { closedAt: null } });
    expect([refused.status, refused.body.code]).toEqual([403, 'SYSTEM_PROTECTED']);
  });

  test('a query reports the figures by account, member and day, for callers who see the conversations', async () => {
    const body = {
      measures: [
        { aggregation: 'count', alias: 'conversations' },
        { field: 'responseSeconds', aggregation: 'avg', alias: 'response' },
        { field: 'resolutionSeconds', aggregation: 'avg', alias: 'resolution' },
      ],
      dimensions: [{ field: 'accountId' }, { field: 'firstReceivedAt', format: 'YYYY-MM-DD', alias: 'day' }],
      filter: { firstReceivedAt: { $dateOn: '2026-11-02' } },
    };
    expect(await server.data('POST /api/conversations:query', { as: 'ann', body })).toEqual([
      { accountId: 1, day: '2026-11-02', conversations: 2, response: 5400, resolution: 10_800 },
    ]);
    expect(await server.data('POST /api/conversations:query', { as: 'bob', body })).toEqual([]);
  });

  test('rebuilding the conversations restores figures that are wrong', async () => {
    const { database } = server.running.applications.main;
    const text = 'UPDATE conversations SET "firstReceivedAt"=NULL,"responseSeconds"=5';
    await database.write((transaction) => transaction.run({ text, values: [] }));
    await server.data('POST /api/accounts:rethread?filterByTk=1', { as: 'ann' });
    const rows = await server.data('GET /api/conversations?fields=id,firstReceivedAt,responseSeconds&sort=id', {
      as: 'ann',
    });
    expect(rows.map(({ responseSeconds }: Json) => responseSeconds).sort()).toEqual([5400, null].sort());
    expect(rows.every(({ firstReceivedAt }: Json) => firstReceivedAt !== null)).toBe(true);
  });
});
