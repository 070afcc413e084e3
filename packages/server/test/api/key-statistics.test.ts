import { afterAll, beforeAll, expect, test } from 'vitest';
import { runOnJournalStore } from '../support/audit-entries.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

let now = Date.parse('2026-11-20T12:00:00.000Z');
const clock = { now: () => now };

const refusals: readonly Scenario[] = [
  {
    name: 'no API key is named',
    request: 'GET /api/apiKeys:stats',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'the key is not an id',
    request: 'GET /api/apiKeys:stats?filterByTk=abc',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'another parameter is given',
    request: 'GET /api/apiKeys:stats?filterByTk=1&page=1',
    expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
  },
  {
    name: 'the API key does not exist',
    request: 'GET /api/apiKeys:stats?filterByTk=99',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'the caller may not list API keys',
    request: 'GET /api/apiKeys:stats?filterByTk=1',
    as: 'clerk',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'the caller has no credential',
    request: 'GET /api/apiKeys:stats?filterByTk=1',
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
];

describeEngines('statistics of API keys', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine, { clock });
    await server.data('POST /api/collections:create', {
      body: { name: 'things', fields: [{ name: 'n', type: 'integer' }] },
    });
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    await server.data('POST /api/permissions:create', {
      body: { role: 'clerk', resource: 'things', actions: ['list', 'create'] },
    });
    await server.createKey('clerk');
  });
  afterAll(() => server.stop());

  const made = (more: object = {}): Promise<{ id: number; token: string }> =>
    server.data('POST /api/apiKeys:create', { body: { role: { name: 'clerk' }, ...more } });
  const statsOf = (id: number): Promise<Json> => server.data(`GET /api/apiKeys:stats?filterByTk=${id}`);

  for (const scenario of refusals)
    test(`statistics are refused: ${scenario.name}`, () => server.play(scenario).then(() => {}));

  test('an API key that was never used has empty statistics', async () => {
    const { id } = await made();
    expect(await statsOf(id)).toEqual({
      id,
      requests: 0,
      failedAttempts: 0,
      firstUsedAt: null,
      lastUsedAt: null,
      endpoints: [],
    });
  });

  test('statistics show requests, failed attempts, first and last use, and the most used endpoints', async () => {
    const { id, token } = await made();
    const first = new Date(now).toISOString();
    for (let time = 0; time < 3; time += 1) await server.data('GET /api/things:list', { as: token });
    await server.data('POST /api/things:create', { as: token, body: { n: 1 } });
    expect((await server.call('GET /api/things:get?filterByTk=1', { as: token })).status).toBe(403);
    expect((await server.call('GET /api/things:list?page=x', { as: token })).status).toBe(400);
    now += 5000;
    await server.data('GET /api/auth:check', { as: token });
    expect(await statsOf(id)).toEqual({
      id,
      requests: 7,
      failedAttempts: 1,
      firstUsedAt: first,
      lastUsedAt: new Date(now).toISOString(),
      endpoints: [
        { endpoint: 'things:list', requests: 3 },
        { endpoint: 'auth:check', requests: 1 },
        { endpoint: 'things:create', requests: 1 },
      ],
    });
    await server.data('GET /api/things:list', { as: token });
    expect((await statsOf(id)).endpoints[0]).toEqual({ endpoint: 'things:list', requests: 4 });
  });

  test('attempts with an expired key count as failed and not as a use', async () => {
    const { id, token } = await made({ expiresIn: '1h' });
    await server.data('GET /api/things:list', { as: token });
    const used = new Date(now).toISOString();
    now += 2 * 3_600_000;
    expect((await server.call('GET /api/things:list', { as: token })).body.code).toBe('TOKEN_EXPIRED');
    expect(await statsOf(id)).toMatchObject({ requests: 2, failedAttempts: 1, firstUsedAt: used, lastUsedAt: used });
  });

  test('ten endpoints are shown, and at most fifty are stored', async () => {
    const { id, token } = await made({ role: { name: 'admin' } });
    await server.data('GET /api/things:list', { as: token });
    const { keyUse } = server.running.applications.main.journal;
    for (let n = 0; n < 5000; n += 1) keyUse.countSuccess(id, `made${n}:list`, now);
    for (let n = 0; n < 300; n += 1) keyUse.countSuccess(id, 'things:list', now);
    const { endpoints, requests } = await statsOf(id);
    expect(requests).toBe(5301);
    expect(endpoints).toHaveLength(10);
    expect(endpoints[0].endpoint).toBe('things:list');
    const [row] = await runOnJournalStore(server, `SELECT count(*) FROM _key_endpoints WHERE key_id=${id}`);
    expect(Number(row![0])).toBeLessThanOrEqual(50);
  });

  test('statistics survive a restart and are deleted with their key', async () => {
    const { id, token } = await made();
    await server.data('GET /api/things:list', { as: token });
    await server.running.stop();
    await server.boot();
    expect(await statsOf(id)).toMatchObject({ requests: 1, endpoints: [{ endpoint: 'things:list', requests: 1 }] });
    await server.data('GET /api/things:list', { as: token });
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`);
    expect((await server.call(`GET /api/apiKeys:stats?filterByTk=${id}`)).status).toBe(404);
    for (const table of ['_key_use', '_key_endpoints'])
      expect(await runOnJournalStore(server, `SELECT 1 FROM ${table} WHERE key_id=${id}`)).toEqual([]);
  });
});
