import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, type Store, shareStore } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { deliverRawMail } from '../support/mail-arrivals.ts';
import { hour, MovingClock } from '../support/moving-clock.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

describeEngines('the state of conversations', (engine) => {
  const clock = new MovingClock();
  let store: Store;
  let server: TestServer;
  /** Another server on the same store; the same one where only one process can use the store. */
  let second: TestServer;

  const inHours = (hours: number): string => new Date(clock.now() + hours * hour).toISOString();
  const patch = (id: number, body: object): Promise<Json> =>
    server.data(`PATCH /api/conversations/${id}`, { as: 'ann', body });
  const get = (id: number): Promise<Json> => server.data(`GET /api/conversations/${id}`, { as: 'ann' });
  const returns = (): Promise<unknown> =>
    Promise.all([server, second].map(({ running }) => running.applications.main.mail.snoozes.runNow()));
  const stateChanges = async (id: number): Promise<unknown[]> =>
    (await server.data(`GET /api/conversations:history?filterByTk=${id}`, { as: 'ann' })).flatMap(
      ({ changes, actor }: Json) =>
        changes.filter(({ field }: Json) => field === 'state').map(({ before, after }: Json) => [before, after, actor]),
    );
  const returned = async (): Promise<number[]> =>
    (await server.data('GET /api/mailNotifications?sort=id', { as: 'ann' }))
      .filter(({ kind }: Json) => kind === 'returned')
      .map(({ conversationId }: Json) => conversationId);
  const answer = (id: number, from = 'Zoe <zoe@example.net>'): Promise<number> =>
    deliverRawMail(
      server,
      makeRawMail({
        subject: `Re: Number ${id}`,
        from,
        references: [`${id}@example.net`],
        id: `${crypto.randomUUID()}@x`,
      }),
    );

  beforeAll(async () => {
    store = await engine.store();
    const shared = shareStore(engine, store);
    server = await startMailAccountServer(shared, {}, { clock });
    second = engine.name === 'sqlite' ? server : await TestServer.start(shared, { clock, signIn: false });
    for (let number = 1; number <= 5; number++)
      await upload(server, 'ann', 1, makeRawMail({ subject: `Number ${number}`, id: `${number}@example.net` }));
  });
  afterAll(async () => {
    if (second !== server) await second.stop();
    await server.stop();
    await store.remove();
  });

  const refused = (name: string, body: object): Scenario => ({
    name,
    request: 'PATCH /api/conversations/1',
    as: 'ann',
    body,
    expect: { status: 422, code: 'VALUE_INVALID' },
  });
  const scenarios: readonly Scenario[] = [
    refused('A snooze needs its end.', { state: 'snoozed' }),
    refused('A snooze ends in the future.', { snoozedUntil: '2020-01-01T00:00:00Z' }),
    refused('A snooze ends within five years.', { snoozedUntil: '2040-01-01T00:00:00Z' }),
    refused('A snooze ends at a time.', { snoozedUntil: 'tomorrow' }),
    refused('No other state has an end.', { state: 'closed', snoozedUntil: '2030-01-01T00:00:00Z' }),
    refused('There is no state without an end that a null could set.', { snoozedUntil: null }),
    refused('There is no other state.', { state: 'lost' }),
    {
      name: 'The server knows who snoozed.',
      request: 'PATCH /api/conversations/1',
      as: 'ann',
      body: { snoozedById: 1 },
      expect: { status: 403, code: 'SYSTEM_PROTECTED' },
    },
    {
      name: 'A list has no other state.',
      request: 'GET /api/conversations?state=lost',
      as: 'ann',
      expect: { status: 400, code: 'PARAMETER_INVALID' },
    },
  ];
  test.each(scenarios)('$name', async (scenario) => {
    await server.play(scenario);
  });

  test('a snoozed conversation returns at its time, once, also after a restart', async () => {
    expect(await patch(1, { snoozedUntil: inHours(2) })).toMatchObject({ state: 'snoozed', snoozedById: 2 });
    await patch(2, { state: 'snoozed', snoozedUntil: inHours(4) });
    await returns();
    expect(await get(1)).toMatchObject({ state: 'snoozed' });
    expect(await server.running.applications.main.mail.nextDue()).toBe(Date.parse((await get(1)).snoozedUntil));
    clock.advance(2 * hour + 1000);
    await Promise.all([returns(), returns()]);
    expect(await get(1)).toMatchObject({ state: 'open', snoozedUntil: null, snoozedById: null });
    expect(await get(2)).toMatchObject({ state: 'snoozed' });
    expect(await returned()).toEqual([1]);
    expect(await stateChanges(1)).toEqual([
      ['snoozed', 'open', null],
      ['open', 'snoozed', 'user:2'],
    ]);
    clock.advance(3 * hour);
    await server.running.stop();
    await server.boot();
    server.tokens.set('ann', await server.signIn('ann@example.com', 'correct horse'));
    await expect.poll(async () => (await get(2)).state).toBe('open');
    expect(await returned()).toEqual([1, 2]);
  });

  test('an answer opens closed and snoozed conversations, but no muted one', async () => {
    await patch(1, { state: 'closed' });
    await patch(2, { snoozedUntil: inHours(2) });
    await patch(3, { state: 'closed', muted: true });
    await patch(4, { state: 'closed' });
    for (const id of [1, 2, 3]) await answer(id);
    await answer(4, 'shop@example.com');
    await upload(
      server,
      'ann',
      1,
      makeRawMail({ subject: 'Re: Number 4', references: ['4@example.net'], id: 'old@x' }),
    );
    const states = [];
    for (const id of [1, 2, 3, 4]) states.push((await get(id)).state);
    expect(states).toEqual(['open', 'open', 'closed', 'closed']);
    expect((await get(4)).messages).toBe(3);
    expect((await stateChanges(1))[0]).toEqual(['closed', 'open', null]);
    expect(await returned()).toEqual([1, 2, 2]);
  });

  test('lists filter by state, assignee and mute', async () => {
    await patch(5, { assigneeId: 2, snoozedUntil: inHours(9) });
    const ids = async (query: string): Promise<number[]> =>
      (await server.data(`GET /api/conversations?${query}&sort=id`, { as: 'ann' })).map(({ id }: Json) => id);
    expect(await ids('folder=inbox&state=open')).toEqual([1, 2]);
    expect(await ids('state=closed,snoozed')).toEqual([3, 4, 5]);
    expect(await ids('state=snoozed&assigneeId=2')).toEqual([5]);
    expect(await ids('assigneeId=none')).toEqual([1, 2, 3, 4]);
    expect(await ids('muted=true')).toEqual([3]);
    expect(await ids('muted=false&state=closed')).toEqual([4]);
    expect(await server.data('GET /api/emails?state=snoozed', { as: 'ann' })).toHaveLength(1);
    const load = await server.data('POST /api/conversations:query', {
      as: 'ann',
      body: {
        measures: [{ field: 'id', aggregation: 'count', alias: 'open' }],
        dimensions: [{ field: 'assigneeId' }],
        filter: { state: 'open' },
      },
    });
    expect(load).toEqual([{ open: 2, assigneeId: null }]);
  });
});
