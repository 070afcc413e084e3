import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { listAuditEntries } from '../support/audit-entries.ts';
import { describeEngines, describeSharedStores, shareStore, sqlite } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';
import { rootEmail } from '../support/server-settings.ts';
import { SmtpReceiver } from '../support/smtp-receiver.ts';

const secretUrl = 'smtp://mailer:very-secret@127.0.0.1:1';

const refusals: readonly Scenario[] = [
  {
    name: 'every problem is named, and a valid setting next to it is not stored',
    request: 'POST /api/systemSettings:update',
    body: { EVENTS_DAYS: 0, AUDIT_DAYS: 'x', EVENTS_ENTRIES: 500, OUTBOUND_ALLOW: 'not a host' },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: {
        details: {
          EVENTS_DAYS: 'EVENTS_DAYS must be a whole number from 1 to 36500.',
          AUDIT_DAYS: expect.stringContaining('AUDIT_DAYS must be'),
          OUTBOUND_ALLOW: expect.stringContaining('OUTBOUND_ALLOW'),
        },
      },
    },
  },
  {
    name: 'a setting of the environment is refused',
    request: 'POST /api/systemSettings:update',
    body: { LIMIT_FIELDS: 50 },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: { details: { LIMIT_FIELDS: expect.stringContaining('environment') } },
    },
  },
  {
    name: 'settings that need a restart, unknown names and wrong types are refused',
    request: 'POST /api/systemSettings:update',
    body: { PORT: 1, APP_KEY: 'x', toString: 'x', EVENTS_DAYS: [1], MCP: 'admin\n' },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: {
        details: {
          PORT: expect.stringContaining('restart'),
          APP_KEY: expect.stringContaining('restart'),
          toString: expect.stringContaining('no setting'),
          EVENTS_DAYS: expect.stringContaining('Give text'),
          MCP: expect.stringContaining('control'),
        },
      },
    },
  },
  {
    name: 'a mail server without its sender is refused',
    request: 'POST /api/systemSettings:update',
    body: { SMTP_URL: secretUrl },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: { details: { SMTP_URL: expect.stringContaining('SMTP_FROM is missing') } },
      absent: ['very-secret'],
    },
  },
  {
    name: 'a list is refused',
    request: 'POST /api/systemSettings:update',
    body: [],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'a key of __proto__ is refused',
    request: 'POST /api/systemSettings:update',
    body: '{"__proto__":{"EVENTS_DAYS":1}}',
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'a role that may configure is not enough',
    request: 'GET /api/systemSettings:get',
    as: 'configurer',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'other roles cannot change settings',
    request: 'POST /api/systemSettings:update',
    as: 'configurer',
    body: { EVENTS_DAYS: 5 },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'settings need a credential',
    request: 'GET /api/systemSettings:get',
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'a GET does not change settings',
    request: 'GET /api/systemSettings:update',
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
  },
];

const find = (reports: Json, name: string): Json => reports.find((each: Json) => each.name === name);

describeEngines('settings that change while the server runs', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { LIMIT_FIELDS: '40', RATE_LIMIT_SIGN_IN: '' } });
    await server.data('POST /api/roles:create', { body: { name: 'configurer', allowConfigure: true } });
    await server.createKey('configurer');
  });
  afterAll(() => server.stop());

  const update = (changes: Record<string, unknown>): Promise<Json> =>
    server.data('POST /api/systemSettings:update', { body: changes });

  test('each has its value, source, limits and meaning', async () => {
    const reports = await server.data('GET /api/systemSettings:get');
    expect(find(reports, 'EVENTS_DAYS')).toEqual({
      name: 'EVENTS_DAYS',
      value: '30',
      source: 'default',
      secret: false,
      isSet: false,
      group: 'retention',
      changeable: true,
      default: '30',
      description: expect.stringContaining('events are kept'),
      unit: 'days',
      minimum: 1,
      maximum: 36_500,
      choices: null,
    });
    expect(find(reports, 'LIMIT_FIELDS')).toMatchObject({ value: '40', source: 'environment', changeable: false });
    expect(find(reports, 'MCP')).toMatchObject({ choices: ['off', 'read', 'write'] });
    expect(find(reports, 'APP_KEY')).toMatchObject({
      value: null,
      secret: true,
      isSet: true,
      group: null,
      changeable: false,
    });
  });

  test.each(refusals)('$name', async (scenario) => {
    const before = await server.data('GET /api/systemSettings:get');
    await server.play(scenario);
    expect(await server.data('GET /api/systemSettings:get')).toEqual(before);
  });

  test('other applications have no settings', async () => {
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
    const reply = await server.call('GET /api/systemSettings:get', { as: token, headers: { 'x-app': 'shop' } });
    expect(reply).toMatchObject({ status: 403, body: { code: 'SYSTEM_PROTECTED' } });
  });

  test('sign-up opens and closes at once', async () => {
    const signUp = (email: string): ReturnType<TestServer['call']> =>
      server.call('POST /api/auth:signUp', { as: 'nobody', body: { email, password: 'correct horse' } });
    expect((await signUp('one@example.com')).body.code).toBe('SIGN_UP_CLOSED');
    expect(find(await update({ ALLOW_SIGN_UP: ' main ' }), 'ALLOW_SIGN_UP')).toMatchObject({
      value: 'main',
      source: 'stored',
    });
    expect((await signUp('one@example.com')).status).toBe(200);
    await update({ ALLOW_SIGN_UP: null });
    expect((await signUp('two@example.com')).body.code).toBe('SIGN_UP_CLOSED');
  });

  test('a changed limit of collections applies to the next collection', async () => {
    const create = (name: string): ReturnType<TestServer['call']> =>
      server.call('POST /api/collections:create', { body: { name, fields: [{ name: 'a', type: 'string' }] } });
    expect((await create('first')).status).toBe(200);
    await update({ LIMIT_COLLECTIONS: 1 });
    expect(await create('later')).toMatchObject({ status: 400, body: { code: 'LIMIT_EXCEEDED' } });
    await update({ LIMIT_COLLECTIONS: '' });
    expect((await create('later')).status).toBe(200);
  });

  test('a changed size limit of files applies to the next upload', async () => {
    const upload = async (): Promise<number> => {
      const form = new FormData();
      form.append('file', new Blob(['x'.repeat(1_500_000)]), 'a.txt');
      const headers = { authorization: `Bearer ${server.tokens.get('admin')}` };
      return (await fetch(`${server.running.url}/api/files:upload`, { method: 'POST', body: form, headers })).status;
    };
    await update({ LIMIT_FILE_MB: 1 });
    expect(await upload()).toBe(413);
    await update({ LIMIT_FILE_MB: null });
    expect(await upload()).toBe(200);
  });

  test('failed sign-ins are counted with the new limit', async () => {
    const attempt = async (): Promise<number> =>
      (
        await server.call('POST /api/auth:signIn', {
          as: 'nobody',
          body: { email: 'x@example.com', password: 'wrong' },
        })
      ).status;
    await update({ RATE_LIMIT_SIGN_IN: '1/60s' });
    expect([await attempt(), await attempt()]).toEqual([401, 429]);
    await update({ RATE_LIMIT_SIGN_IN: 'off' });
    expect(await attempt()).toBe(401);
    await update({ RATE_LIMIT_SIGN_IN: null });
  });

  test('webhooks may be sent to hosts that are allowed now', async () => {
    const webhook = { url: 'http://127.0.0.1:1/hook', events: ['*'], role: 'admin' };
    const create = async (): Promise<number> =>
      (await server.call('POST /api/webhooks:create', { body: webhook })).status;
    expect(await create()).toBe(422);
    await update({ OUTBOUND_ALLOW: '127.0.0.1' });
    expect(await create()).toBe(200);
    await update({ OUTBOUND_ALLOW: null });
    expect(await create()).toBe(422);
  });

  test('events are deleted by the new limit', async () => {
    await update({ EVENTS_ENTRIES: 100 });
    await server.data('POST /api/first:create', { body: Array.from({ length: 300 }, () => ({ a: 'x' })) });
    const { main } = server.running.applications;
    // Events are kept until the webhook of the test above has been queued for them.
    const count = async (): Promise<number> => {
      await main.pruneEvents();
      return (await main.changes.read(null, 1000)).length;
    };
    await expect.poll(count, { interval: 100, timeout: 8000 }).toBeLessThanOrEqual(101);
    await update({ EVENTS_ENTRIES: null });
  });

  test('tools of AI assistants are switched off', async () => {
    const status = async (): Promise<number> =>
      (
        await fetch(`${server.running.url}/mcp`, {
          method: 'POST',
          body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
          headers: {
            authorization: `Bearer ${server.tokens.get('admin')}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
        })
      ).status;
    await update({ MCP: 'off' });
    expect(await status()).toBe(404);
    await update({ MCP: null });
    expect(await status()).toBe(200);
  });

  test('links for new passwords are sent by the stored mail server, whose address is secret', async () => {
    const receiver = await SmtpReceiver.open();
    const lost = (): ReturnType<TestServer['call']> =>
      server.call('POST /api/auth:lostPassword', { as: 'nobody', body: { email: rootEmail } });
    expect((await lost()).body.code).toBe('MAIL_OFF');
    const mail = { SMTP_URL: receiver.url, SMTP_FROM: 'no-reply@example.com', PUBLIC_URL: 'https://data.example.com' };
    const reply = await server.call('POST /api/systemSettings:update', { body: mail });
    expect(find(reply.body.data, 'SMTP_URL')).toMatchObject({
      value: null,
      secret: true,
      source: 'stored',
      isSet: true,
    });
    expect(reply.text).not.toContain(receiver.url);
    expect((await lost()).status).toBe(200);
    await receiver.until(1);
    expect(receiver.texts[0]).toContain('https://data.example.com/reset-password#token=');
    const { database } = server.running.applications.main;
    const [rows] = await database.read([{ text: "SELECT value FROM _settings WHERE name='SMTP_URL'", values: [] }]);
    expect(String(rows![0]![0])).not.toContain('smtp');
    await update({ SMTP_URL: null, SMTP_FROM: null, PUBLIC_URL: null });
    expect((await lost()).body.code).toBe('MAIL_OFF');
    await receiver.close();
  });

  test('a backup schedule starts when it is stored, and is fully validated', async () => {
    const { status, body } = await server.call('POST /api/systemSettings:update', {
      body: { BACKUP_SCHEDULE: '0 25 * * *', BACKUP_KEEP: 0 },
    });
    expect([status, body.details]).toEqual([
      422,
      {
        BACKUP_SCHEDULE: expect.stringContaining('is not a cron expression'),
        BACKUP_KEEP: expect.stringContaining('from 1 to 1000'),
      },
    ]);
    const meta = async (): Promise<Json> => (await server.call('GET /api/backups:list')).body.meta;
    expect(await meta()).toMatchObject({ schedule: null, nextAt: null, keep: 7 });
    await update({ BACKUP_SCHEDULE: '0 3 * * *', BACKUP_KEEP: 3 });
    expect(await meta()).toMatchObject({ schedule: '0 3 * * *', nextAt: expect.any(String), keep: 3 });
    await expect
      .poll(async () => (await server.data('GET /api/backups:list')).map(({ reason }: Json) => reason), {
        timeout: 8000,
      })
      .toEqual(['schedule']);
    await update({ BACKUP_SCHEDULE: '30 4 * * 1' });
    expect((await meta()).nextAt).toMatch(/T04:30:00/);
    await update({ BACKUP_SCHEDULE: null, BACKUP_KEEP: null });
    expect(await meta()).toMatchObject({ schedule: null, nextAt: null, keep: 7 });
  });

  test('the accent colour is known before the sign-in', async () => {
    const readColor = async (): Promise<Json> =>
      (await server.data('POST /api/auth:resume', { as: 'nobody', headers: { 'x-requested-with': 'tablinum' } }))
        .accentColor;
    expect(await readColor()).toBeNull();
    await update({ ACCENT_COLOR: '#7A3cC2' });
    expect(await readColor()).toBe('#7a3cc2');
    const { status, body } = await server.call('POST /api/systemSettings:update', { body: { ACCENT_COLOR: 'red' } });
    expect([status, body.details.ACCENT_COLOR]).toEqual([422, expect.stringContaining('six hexadecimal digits')]);
    await update({ ACCENT_COLOR: null });
  });

  test('the audit journal can only be shortened to a minimum', async () => {
    const { status, body } = await server.call('POST /api/systemSettings:update', {
      body: { AUDIT_DAYS: 89, AUDIT_ENTRIES: 99_999 },
    });
    expect([status, body.details]).toEqual([
      422,
      {
        AUDIT_DAYS: expect.stringContaining('from 90 to'),
        AUDIT_ENTRIES: expect.stringContaining('from 100000 to'),
      },
    ]);
    const reports = await server.data('GET /api/systemSettings:get');
    expect(find(reports, 'AUDIT_DAYS')).toMatchObject({ minimum: 90, value: '365' });
    expect(readConfig({ AUDIT_DAYS: '1' }).auditDays).toBe(1);
  });

  test('a change is in the audit journal, without its value', async () => {
    const since = (await listAuditEntries(server)).at(-1)!.id;
    await update({ EVENTS_DAYS: 77, AUDIT_DAYS: 188 });
    await update({});
    const entries = (await listAuditEntries(server)).filter(({ id }) => id > since);
    expect(entries.map(({ action, target }) => [action, target])).toEqual([
      ['systemSettings:update', 'EVENTS_DAYS'],
      ['systemSettings:update', 'AUDIT_DAYS'],
    ]);
    expect(entries[0]).toMatchObject({ actor: 'user:1', role: 'admin', outcome: 'done' });
  });

  test('concurrent changes are all stored', async () => {
    const names = ['EVENTS_DAYS', 'AUDIT_DAYS', 'LIMIT_COLLECTIONS', 'LIMIT_FILE_MB', 'LIMIT_UPLOAD_MB'];
    await Promise.all(names.map((name, index) => update({ [name]: 100 + index })));
    const reports = await server.data('GET /api/systemSettings:get');
    expect(names.map((name) => find(reports, name).value)).toEqual(['100', '101', '102', '103', '104']);
  });

  test('stored values survive a restart, and the environment has priority over them', async () => {
    await update({ EVENTS_DAYS: 12, AUDIT_DAYS: 134 });
    await server.running.stop();
    await server.boot({ EVENTS_DAYS: '56' });
    const reports = await server.data('GET /api/systemSettings:get');
    expect(find(reports, 'EVENTS_DAYS')).toMatchObject({ value: '56', source: 'environment', changeable: false });
    expect(find(reports, 'AUDIT_DAYS')).toMatchObject({ value: '134', source: 'stored', changeable: true });
  });
});

describeSharedStores('settings of several servers on one store', (engine) => {
  test('a change on one server takes effect on the other', async () => {
    const store = await engine.store(true);
    const one = await TestServer.start(shareStore(engine, store));
    const other = await TestServer.start(shareStore(engine, store));
    await one.data('POST /api/systemSettings:update', { body: { ALLOW_SIGN_UP: '*' } });
    const body = { email: 'new@example.com', password: 'correct horse' };
    const signUp = async (): Promise<number> =>
      (await other.call('POST /api/auth:signUp', { as: 'nobody', body })).status;
    await expect.poll(signUp, { interval: 200, timeout: 8000 }).toBe(200);
    await Promise.all([one.running.stop(), other.running.stop()]);
    await store.remove();
  });
});

test('a stored value that does not fit the environment of a later start is left out', async () => {
  const server = await TestServer.start(sqlite, {
    env: { SMTP_FROM: 'no-reply@example.com', PUBLIC_URL: 'https://a.example.com' },
  });
  await server.data('POST /api/systemSettings:update', { body: { SMTP_URL: secretUrl, EVENTS_DAYS: 9 } });
  await server.running.stop();
  await server.boot({ SMTP_FROM: '' });
  const reports = await server.data('GET /api/systemSettings:get');
  expect(find(reports, 'SMTP_URL')).toMatchObject({ source: 'default', isSet: false });
  expect(find(reports, 'EVENTS_DAYS')).toMatchObject({ source: 'stored', value: '9' });
  await server.stop();
});
