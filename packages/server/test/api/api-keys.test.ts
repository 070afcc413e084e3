import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeToken } from '../../src/base/token.ts';
import { describeEngines } from '../support/engines.ts';
import { day, hour, MovingClock } from '../support/moving-clock.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const noPermission = { error: 'No permissions', code: 'NO_PERMISSION' };
const notHeld = { error: 'Forbidden', code: 'ROLE_NOT_HELD' };
const detail = (name: string): unknown => ({ error: 'Validation Error', details: { [name]: expect.any(String) } });

/** The admin created key 1 for the role viewer and key 3 for the role writer; the writer created key 2. */
const scenarios: readonly Scenario[] = [
  {
    name: 'an API key can be renamed, and its token is not shown',
    request: 'POST /api/apiKeys:update?filterByTk=1',
    body: { name: 'the shop' },
    expect: {
      status: 200,
      body: { data: { id: 1, name: 'the shop', role: 'viewer' } },
      absent: ['tbk_', 'tokenHash'],
      events: ['apiKeys.updated'],
    },
  },
  ...['role', 'roleOf', 'expiresAt', 'createdAt', 'creatorId', 'tokenHash', 'token', 'id'].map(
    (member): Scenario => ({
      name: `an update cannot change ${member}`,
      request: 'POST /api/apiKeys:update?filterByTk=1',
      body: { name: 'x', [member]: member === 'role' || member === 'roleOf' ? 'admin' : 5 },
      expect: member === 'id' ? { status: 400, code: 'BODY_INVALID' } : { status: 422, code: 'DEFINITION_INVALID' },
    }),
  ),
  {
    name: 'a name of 256 characters is refused with 422',
    request: 'POST /api/apiKeys:update?filterByTk=1',
    body: { name: 'x'.repeat(256) },
    expect: { status: 422, code: 'VALUE_INVALID', body: detail('name') },
  },
  {
    name: 'a viewer cannot rename an API key',
    request: 'POST /api/apiKeys:update?filterByTk=1',
    as: 'viewer',
    body: { name: 'mine' },
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'rotating an unknown API key is refused with 404',
    request: 'POST /api/apiKeys:rotate?filterByTk=4711',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a role without the permission gets the same reply for an unknown API key',
    request: 'POST /api/apiKeys:rotate?filterByTk=4711',
    as: 'writer',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'rotate needs exactly one API key',
    request: 'POST /api/apiKeys:rotate',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'rotate has no parameter for a role',
    request: 'POST /api/apiKeys:rotate?filterByTk=1',
    body: { role: { name: 'admin' } },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('role') },
  },
  ...['0h', '1x', 'never', 5, '10000y', ''].map(
    (overlap): Scenario => ({
      name: `an overlap of ${JSON.stringify(overlap)} is refused with 422`,
      request: 'POST /api/apiKeys:rotate?filterByTk=1',
      body: { overlap },
      expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('overlap') },
    }),
  ),
  {
    name: 'a user can rotate a key that the user created',
    request: 'POST /api/apiKeys:rotate?filterByTk=2',
    as: 'writer',
    expect: {
      status: 200,
      body: { data: { name: 'own', role: 'writer', token: expect.stringMatching(/^tbk_/) } },
      events: ['apiKeys.created', 'apiKeys.updated'],
    },
  },
  {
    name: 'a user cannot rotate a key that another user created, whatever its role',
    request: 'POST /api/apiKeys:rotate?filterByTk=3',
    as: 'writer',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'an API key cannot rotate any key, not even itself, unless its role may configure',
    request: 'POST /api/apiKeys:rotate?filterByTk=2',
    as: 'writerKey',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a role that may configure cannot rotate the key of an administrator',
    request: 'POST /api/apiKeys:rotate?filterByTk=4',
    as: 'keeper',
    expect: { status: 403, code: 'ROLE_NOT_HELD', body: notHeld },
  },
  {
    name: 'a role that may configure cannot rotate a key that acts for another user',
    request: 'POST /api/apiKeys:rotate?filterByTk=2',
    as: 'keeper',
    expect: { status: 403, code: 'ROLE_NOT_HELD', body: notHeld },
  },
  ...['5 days', '0d', '10000d', '1.5h', '-1d', '1D', 'Never', 5, [], '7974y'].map(
    (expiresIn): Scenario => ({
      name: `an expiresIn of ${JSON.stringify(expiresIn)} is refused with 422`,
      request: 'POST /api/apiKeys:create',
      body: { role: { name: 'viewer' }, expiresIn },
      expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('expiresIn') },
    }),
  ),
  {
    name: 'an API key with expiresIn never has no end',
    request: 'POST /api/apiKeys:create',
    body: { role: 'viewer', expiresIn: 'never' },
    expect: { status: 200, body: { data: { expiresAt: null } }, events: ['apiKeys.created'] },
  },
];

describeEngines('API keys', (engine) => {
  const clock = new MovingClock();
  let server: TestServer;
  const check = (as: string): ReturnType<TestServer['call']> => server.call('GET /api/auth:check', { as });
  const status = async (as: string): Promise<number> => (await check(as)).status;
  const make = async (body: unknown, as = 'admin'): Promise<{ id: number; token: string; expiresAt: string }> =>
    server.data('POST /api/apiKeys:create', { body, as });

  beforeAll(async () => {
    server = await TestServer.start(engine, { clock });
    await server.data('POST /api/roles:create', {
      body: [{ name: 'keeper', allowConfigure: true }, { name: 'writer' }],
    });
    for (const name of ['keeper', 'writer']) {
      const body = { email: `${name}@example.com`, password: 'correct horse', roles: [name] };
      await server.data('POST /api/users:create', { body });
      server.tokens.set(name, await server.signIn(body.email, body.password));
    }
    await server.createKey('viewer');
    server.tokens.set('writerKey', (await make({ role: 'writer', name: 'own' }, 'writer')).token);
    await make({ role: 'writer' });
    await make({ role: 'admin' });
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));

  describe('expiry', () => {
    test('a rotated key works exactly until the end of its overlap, also if it is cached', async () => {
      const former = await make({ role: 'viewer', name: 'deploy', expiresIn: '1d' });
      const rotated = `POST /api/apiKeys:rotate?filterByTk=${former.id}`;
      const next = await server.data(rotated, { body: { overlap: '2h' } });
      const shown = await check(next.token);
      expect(shown.body.data).toMatchObject({ currentRole: 'viewer', id: 1, credential: { name: 'deploy' } });
      const life = Date.parse(next.expiresAt) - Date.parse(next.createdAt);
      expect(life).toBe(day);
      expect(await status(former.token)).toBe(200);
      clock.advance(2 * hour - 60_000);
      expect(await status(former.token)).toBe(200);
      clock.advance(60_000);
      expect([await status(former.token), await status(next.token)]).toEqual([401, 200]);
      expect((await check(former.token)).body.code).toBe('TOKEN_EXPIRED');
      expect((await server.call(rotated)).body).toMatchObject({ error: 'Conflict', code: 'KEY_ENDED' });
    });

    test('without an overlap a rotated key ends immediately, and an overlap does not extend the life of a key', async () => {
      const one = await make({ role: 'viewer' });
      expect(await status(one.token)).toBe(200);
      await server.data(`POST /api/apiKeys:rotate?filterByTk=${one.id}`, { body: { overlap: 'none' } });
      expect(await status(one.token)).toBe(401);
      const brief = await make({ role: 'viewer', expiresIn: '1h' });
      await server.data(`POST /api/apiKeys:rotate?filterByTk=${brief.id}`, { body: { overlap: '5d' } });
      const row = await server.data(`GET /api/apiKeys:get?filterByTk=${brief.id}`);
      expect(row.expiresAt).toBe(brief.expiresAt);
      const forever = await make({ role: 'viewer', expiresIn: 'never' });
      const next = await server.data(`POST /api/apiKeys:rotate?filterByTk=${forever.id}`, { body: { name: null } });
      expect(next).toMatchObject({ expiresAt: null, name: null });
    });

    test('one of several parallel rotations of the same key succeeds', async () => {
      const { id } = await make({ role: 'viewer' });
      const replies = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          server.call(`POST /api/apiKeys:rotate?filterByTk=${id}`, { body: { overlap: `${index + 1}h` } }),
        ),
      );
      expect(replies.map((reply) => reply.status).sort()).toEqual([200, 409, 409, 409, 409]);
    });

    test('a cached key expires on time', async () => {
      const { token } = await make({ role: 'viewer', expiresIn: '1h' });
      expect(await status(token)).toBe(200);
      clock.advance(hour);
      expect((await check(token)).body).toMatchObject({ error: 'Unauthorized', code: 'TOKEN_EXPIRED' });
    });

    test('the last use is stored with a delay of at most one minute', async () => {
      const { id, token } = await make({ role: 'viewer', expiresIn: 'never' });
      const lastUse = async (): Promise<string | null> =>
        (await server.data(`GET /api/apiKeys:get?filterByTk=${id}`)).lastUsedAt;
      expect(await lastUse()).toBeNull();
      const before = clock.now();
      await check(token);
      // The server does this every thirty seconds.
      await server.running.applications.main.authenticator.flushLastUsed();
      expect(Date.parse((await lastUse())!)).toBeGreaterThanOrEqual(before);
    });
  });

  test('a key that is revoked during its lookup is not cached', async () => {
    const { id, token } = await make({ role: 'viewer' });
    const { database } = server.running.applications.main;
    const { read } = database;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let looked = (): void => {};
    const looking = new Promise<void>((resolve) => {
      looked = resolve;
    });
    database.read = async (statements) => {
      const rows = await read.call(database, statements);
      if (/FROM "apiKeys" WHERE.*tokenHash/.test(statements[0]!.text)) {
        looked();
        await held;
      }
      return rows;
    };
    const before = status(token);
    await looking;
    database.read = read;
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`);
    release();
    await before;
    expect(await status(token)).toBe(401);
  });

  describe('a key of a user', () => {
    test('ends at the next request after the user is suspended or destroyed', async () => {
      const person = { email: 'brief@example.com', password: 'correct horse', roles: ['writer'] };
      const { id } = await server.data('POST /api/users:create', { body: person });
      const login = await server.signIn(person.email, person.password);
      const { token } = await make({ role: 'writer' }, login);
      expect((await check(token)).body.data).toMatchObject({ id, email: person.email, roles: ['writer'] });
      await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { status: 'suspended' } });
      expect([await status(token), await status(login)]).toEqual([401, 401]);
      await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { status: 'active' } });
      expect([await status(token), await status(login)]).toEqual([200, 401]);
      await server.data(`POST /api/users:destroy?filterByTk=${id}`);
      expect(await status(token)).toBe(401);
    });
  });

  describe('the Authorization header', () => {
    const good = (): string => server.tokens.get('viewer')!;
    const headers: readonly [string, () => string][] = [
      ['two spaces', () => `Bearer  ${good()}`],
      ['a tab', () => `Bearer\t${good()}`],
      ['lower case', () => `bearer ${good()}`],
      ['upper case', () => `BEARER ${good()}`],
      ['no scheme', () => good()],
      ['another scheme', () => `Token ${good()}`],
      ['basic', () => `Basic ${Buffer.from(`${good()}:`).toString('base64')}`],
      ['a comma', () => `Bearer ${good()}, Bearer ${good()}`],
      ['something behind', () => `Bearer ${good()} x`],
      ['a shortened token', () => `Bearer ${good().slice(0, -1)}`],
      ['a lengthened token', () => `Bearer ${good()}0`],
      ['another prefix', () => `Bearer tbs${good().slice(3)}`],
      ['a prefix in capitals', () => `Bearer TBK${good().slice(3)}`],
      [
        'one character changed',
        () => `Bearer ${good().slice(0, 10)}${good()[10] === 'a' ? 'b' : 'a'}${good().slice(11)}`,
      ],
      ['a token of another kind', () => `Bearer ${makeToken('tbr')}`],
      ['a setup token', () => `Bearer ${makeToken('tbi')}`],
    ];
    test.each(headers)('with %s is refused with 401 without a lookup', async (_name, header) => {
      const { database } = server.running.applications.main;
      const looked: string[] = [];
      const { read } = database;
      database.read = (statements) => {
        looked.push(...statements.map(({ text }) => text));
        return read.call(database, statements);
      };
      const reply = await server.call('GET /api/users:list', { as: `header:${header()}` });
      database.read = read;
      expect(reply.body).toMatchObject({
        error: 'Unauthorized',
        message: expect.stringContaining('invalid or missing token'),
      });
      expect(looked.filter((text) => /apiKeys|logins/.test(text))).toEqual([]);
    });

    test.each(['token', 'access_token', 'apiKey', 'authorization', 'Authorization', 'jwt'])(
      'does not include the URL: a token in %s is never read',
      async (name) => {
        const reply = await server.call(`GET /api/auth:check?${name}=${good()}`, { as: 'nobody' });
        expect(reply.status).toBe(401);
        expect(reply.text).not.toContain(good());
      },
    );

    test('with a well-formed unknown token is refused with 401', async () => {
      for (const kind of ['tbk', 'tbs'] as const) expect(await status(makeToken(kind))).toBe(401);
    });
  });
});
