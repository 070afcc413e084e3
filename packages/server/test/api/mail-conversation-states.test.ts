import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { upload } from '../support/mail-account-server.ts';
import { hour } from '../support/moving-clock.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';
import { TwoServerInbox } from '../support/two-server-inbox.ts';

describeEngines('the state of conversations', (engine) => {
  const inbox = new TwoServerInbox();
  const { clock, inHours, patch, get, runDue, listNotified, listChanges, answer } = inbox;
  let server: TestServer;

  beforeAll(async () => {
    await inbox.start(engine, 5);
    ({ server } = inbox);
  });
  afterAll(() => inbox.stop());

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
    await runDue();
    expect(await get(1)).toMatchObject({ state: 'snoozed' });
    expect(await server.running.applications.main.mail.nextDue()).toBe(Date.parse((await get(1)).snoozedUntil));
    clock.advance(2 * hour + 1000);
    await Promise.all([runDue(), runDue()]);
    expect(await get(1)).toMatchObject({ state: 'open', snoozedUntil: null, snoozedById: null });
    expect(await get(2)).toMatchObject({ state: 'snoozed' });
    expect(await listNotified('returned')).toEqual([1]);
    expect(await listChanges(1, 'state')).toEqual([
      ['snoozed', 'open', null],
      ['open', 'snoozed', 'user:2'],
    ]);
    clock.advance(3 * hour);
    await server.running.stop();
    await server.boot();
    server.tokens.set('ann', await server.signIn('ann@example.com', 'correct horse'));
    await expect.poll(async () => (await get(2)).state).toBe('open');
    expect(await listNotified('returned')).toEqual([1, 2]);
  });

  test('an answer opens closed and snoozed conversations, but not muted ones', async () => {
    await patch(1, { state: 'closed' });
    await patch(2, { snoozedUntil: inHours(2) });
    await patch(3, { state: 'closed', muted: true });
    await patch(4, { state: 'closed' });
    for (const id of [1, 2, 3]) await answer(id);
    await answer(4, { from: 'shop@example.com' });
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
    expect((await listChanges(1, 'state'))[0]).toEqual(['closed', 'open', null]);
    expect(await listNotified('returned')).toEqual([1, 2, 2]);
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
