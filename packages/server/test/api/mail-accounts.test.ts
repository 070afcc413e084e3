import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const imap = { host: 'imap.example.com', port: 993, security: 'tls', user: 'shop' };
const secret = 'hunter2 and more';

describeEngines('mail accounts', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMailAccountServer(engine, { MAIL_ALLOWED_PRIVATE_HOSTS: 'mail.internal,10.1.0.0/16' });
    await upload(server, 'ann', 1, makeRawMail({ subject: 'For the shop', id: 'a@example.net' }));
    await server.data('POST /api/users:create', {
      body: { email: 'vera@example.com', password: 'correct horse', roles: ['viewer'] },
    });
    server.tokens.set('vera', await server.signIn('vera@example.com', 'correct horse'));
    server.tokens.set('annsKey', await keyOf('ann', 'editor'));
  });
  afterAll(() => server.stop());

  async function keyOf(as: string, role: string): Promise<string> {
    const { token } = await server.data('POST /api/apiKeys:create', { as, body: { role: { name: role } } });
    return token as string;
  }

  async function storedSecrets(): Promise<string> {
    const { database } = server.running.applications.main;
    const [rows] = await database.read([{ text: 'SELECT secrets FROM accounts WHERE id=1', values: [] }]);
    return String(rows![0]![0]);
  }

  const scenarios: Scenario[] = [
    {
      name: 'the creator of an account owns it',
      request: 'GET /api/accounts/1',
      as: 'ann',
      expect: { status: 200, body: { data: { address: 'shop@example.com', ownerId: 2, status: 'disabled' } } },
    },
    {
      name: 'other users do not see the account',
      request: 'GET /api/accounts/1',
      as: 'bob',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'an administrator sees the account',
      request: 'GET /api/accounts:get/1?appends=members',
      expect: { status: 200, body: { data: { ownerId: 2, members: [{ id: 2 }] } } },
    },
    {
      name: 'an API key sees what its creator sees',
      request: 'GET /api/emails',
      as: 'annsKey',
      expect: { status: 200, body: { data: [{ subject: 'For the shop' }] } },
    },
    {
      name: 'a member reads what the account has not sent yet',
      request: 'GET /api/accounts:waiting?filterByTk=1',
      as: 'ann',
      expect: {
        status: 200,
        body: {
          data: {
            changes: { count: 0, failing: 0, oldestAt: null },
            messages: { queued: 0, sending: 0, unknown: 0, nextAt: null },
          },
        },
      },
    },
    {
      name: 'what an account has not sent yet is hidden from other users',
      request: 'GET /api/accounts:waiting?filterByTk=1',
      as: 'bob',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'what an account has not sent yet is hidden from administrators who are not members',
      request: 'GET /api/accounts:waiting?filterByTk=1',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'the account of accounts:waiting must be named',
      request: 'GET /api/accounts:waiting',
      as: 'ann',
      expect: { status: 400, code: 'TARGET_MISSING' },
    },
    {
      name: 'a viewer cannot create an account',
      request: 'POST /api/accounts:create',
      as: 'vera',
      body: { address: 'vera@example.com' },
      expect: { status: 403, code: 'NO_PERMISSION', body: { error: 'No permissions' } },
    },
    {
      name: 'an address is required',
      request: 'POST /api/accounts:create',
      as: 'bob',
      body: { name: 'x' },
      expect: { status: 422, code: 'VALUE_INVALID', body: { details: { address: expect.any(String) } } },
    },
    {
      name: 'an address with a line break is refused with 422',
      request: 'POST /api/accounts:create',
      as: 'bob',
      body: { address: 'a@b.example\r\nBcc: c@d.example' },
      expect: { status: 422, code: 'VALUE_INVALID', body: { details: { address: expect.any(String) } } },
    },
    {
      name: 'nobody can create an account for another user',
      request: 'POST /api/accounts:create',
      as: 'bob',
      body: { address: 'trap@example.com', ownerId: 2 },
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'a password is stored and never shown',
      request: 'PATCH /api/accounts/1',
      as: 'ann',
      body: { imap, password: secret },
      expect: { status: 200, body: { data: { imap } }, absent: [secret, 'secrets'], events: ['accounts.updated'] },
    },
    {
      name: 'a password cannot be requested',
      request: 'GET /api/accounts:list?fields=id,secrets',
      as: 'ann',
      expect: { status: 403, code: 'FIELD_DENIED' },
    },
    {
      name: 'an account stores further own addresses once each and in lower case',
      request: 'PATCH /api/accounts/1',
      as: 'ann',
      body: { aliases: ['Support@example.com', ' support@example.com', 'sales@example.com'] },
      expect: {
        status: 200,
        body: { data: { aliases: ['support@example.com', 'sales@example.com'] } },
        events: ['accounts.updated'],
      },
    },
    ...(
      [
        ['a text', 'support@example.com', 'aliases'],
        ['a text that is not an address', ['support@example.com', 'support'], 'aliases.1'],
        ['two addresses in one text', ['a@example.com, b@example.com'], 'aliases.0'],
        ['an address with a line break', ['a@example.com\r\nBcc: x@example.com'], 'aliases.0'],
        ['too many', Array.from({ length: 101 }, (_, number) => `a${number}@example.com`), 'aliases'],
      ] as const
    ).map(
      ([name, aliases, field]): Scenario => ({
        name: `aliases are refused: ${name}`,
        request: 'PATCH /api/accounts/1',
        as: 'ann',
        body: { aliases },
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { [field]: expect.stringContaining('support@example.com') } },
        },
      }),
    ),
    ...[
      ['loopback by name', { host: 'localhost' }],
      ['loopback by address', { host: '127.0.0.1' }],
      ['loopback as IPv6', { host: '::1' }],
      ['loopback in a short form', { host: '127.1' }],
      ['link-local', { host: '169.254.169.254' }],
      ['mapped into IPv6', { host: '::ffff:127.0.0.1' }],
      ['a URL', { host: 'http://imap.example.com' }],
      ['an invalid port', { port: 70_000 }],
      ['an invalid security mode', { security: 'maybe' }],
      ['an unknown property', { proxy: 'x' }],
    ].map(
      ([name, change]): Scenario => ({
        name: `a server is refused: ${name as string}`,
        request: 'PATCH /api/accounts/1',
        as: 'ann',
        body: { imap: { ...imap, ...(change as object) } },
        expect: { status: 422, code: 'VALUE_INVALID' },
      }),
    ),
  ];
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test('secrets are stored encrypted, and are removed when another server is named', async () => {
    expect(await storedSecrets()).toContain('password');
    expect(await storedSecrets()).not.toContain(secret);
    await server.data('PATCH /api/accounts/1', { as: 'ann', body: { imap, name: 'The shop' } });
    expect(await storedSecrets()).toContain('password');
    await server.data('PATCH /api/accounts/1', { as: 'ann', body: { imap: { ...imap, host: 'mail.internal' } } });
    expect(await storedSecrets()).toBe('null');
  });

  test('a member sees the mail from the next request on, and no longer after being removed', async () => {
    await server.data('POST /api/accounts:update?filterByTk=1', { body: { members: [3] } });
    expect(await server.data('GET /api/emails', { as: 'bob' })).toHaveLength(1);
    expect(await server.data('GET /api/emails', { as: 'ann' })).toHaveLength(1);
    await server.data('POST /api/accounts/1/members:remove', { body: [3] });
    expect(await server.data('GET /api/emails', { as: 'bob' })).toHaveLength(0);
    await server.data('POST /api/accounts/1/members:remove', { body: [2] });
    expect(await server.data('GET /api/emails', { as: 'ann' })).toHaveLength(1);
  });

  test('a role that may only write flags neither moves nor imports e-mails, and e-mails cannot be moved out of a row filter', async () => {
    for (const name of ['flagger', 'sorter'])
      await server.data('POST /api/roles:create', { body: { name, title: name } });
    for (const row of [
      { role: 'flagger', actions: ['update', 'create'], fields: ['read'] },
      { role: 'sorter', actions: ['update'], filter: { folder: 'inbox' } },
    ])
      await server.data('POST /api/permissions:create', { body: { resource: 'emails', ...row } });
    const [{ id }] = await server.data('GET /api/emails', { as: 'ann' });
    const box = { accountId: 1, path: 'Away' };
    const away = await server.data('POST /api/mailboxes:create', { as: 'ann', body: box });
    for (const [name, code] of [
      ['flagger', 'FIELD_DENIED'],
      ['sorter', 'NO_PERMISSION'],
    ] as const) {
      const body = { email: `${name}@example.com`, password: 'correct horse', roles: [name] };
      const user = await server.data('POST /api/users:create', { body });
      server.tokens.set(name, await server.signIn(body.email, body.password));
      await server.data('POST /api/accounts:update?filterByTk=1', { body: { members: [user.id] } });
      for (const request of ['POST /api/emails:move', 'POST /api/emails:move?dryRun=true'])
        await server.play({
          name,
          request,
          as: name,
          body: { ids: [id], mailbox: 'Away' },
          expect: { status: 403, code },
        });
      await server.data(`PATCH /api/emails/${id}`, { as: name, body: { read: true } });
    }
    await server.play({
      name: 'the role cannot import e-mails',
      request: 'POST /api/emails:import?account=1',
      as: 'flagger',
      headers: { 'content-type': 'message/rfc822' },
      body: makeRawMail({ subject: 'Whole' }),
      expect: { status: 403, code: 'FIELD_DENIED' },
    });
    await server.data('POST /api/accounts:update?filterByTk=1', { body: { members: [] } });
    await server.data(`DELETE /api/mailboxes/${away.id}`, { as: 'ann' });
  });

  test.each([
    ['emails', 'text'],
    ['emails', 'html'],
    ['emails', 'references'],
    ['accounts', 'password'],
  ])('a custom field of %s cannot be named %s, because the name is reserved', async (collectionName, name) => {
    const expect = { status: 409, code: 'FIELD_EXISTS' } as const;
    for (const [request, body] of [
      ['POST /api/fields:create', { collectionName, name, type: 'string' }],
      [
        'POST /api/collections:create',
        { name: 'x', fields: [{ name: 'y', type: 'hasMany', target: collectionName, foreignKey: name }] },
      ],
    ] as const)
      await server.play({ name, request, body, expect });
    await server.data('POST /api/fields:create', { body: { collectionName, name: 'own', type: 'string' } });
    const renamed = { collectionName, name: 'own', newName: name };
    await server.play({ name, request: 'POST /api/fields:update', body: renamed, expect });
    await server.data('POST /api/fields:destroy', { body: { collectionName, name: 'own' } });
  });

  const rethread = 'POST /api/accounts:rethread?filterByTk=1';
  const rethreading: Scenario[] = [
    {
      name: 'a member can rebuild the conversations',
      request: rethread,
      as: 'ann',
      expect: { status: 200, body: { data: { conversations: 1, changed: 0 } } },
    },
    {
      name: 'a user who is no member cannot rebuild the conversations',
      request: rethread,
      as: 'bob',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'an administrator who is no member cannot rebuild the conversations',
      request: rethread,
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'a viewer cannot rebuild the conversations',
      request: rethread,
      as: 'vera',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'the account must be named',
      request: 'POST /api/accounts:rethread',
      as: 'ann',
      expect: { status: 400, code: 'TARGET_MISSING' },
    },
    {
      name: 'a dry run of the rebuild is refused',
      request: `${rethread}&dryRun=true`,
      as: 'ann',
      expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
    },
  ];
  test('a caller who may update the account can rebuild its conversations', async () => {
    for (const scenario of rethreading) await server.play(scenario);
    const { database } = server.running.applications.main;
    await database.tryWithLock('rethread 1', async () => {
      await server.play({
        name: 'a second rebuild at the same time is refused',
        request: rethread,
        as: 'ann',
        expect: { status: 409, code: 'RETHREAD_RUNNING' },
      });
    });
    await database.write((transaction) => transaction.run({ text: 'UPDATE conversations SET messages=7', values: [] }));
    await server.play({
      name: 'the cause of a failed rebuild is reported',
      request: rethread,
      as: 'ann',
      expect: { status: 200, body: { data: { conversations: 1, changed: 1 } }, events: ['conversations.updated'] },
    });
  });

  test('parallel rebuilds of several accounts use one PostgreSQL connection', async () => {
    const { database } = server.running.applications.main;
    const names = Array.from({ length: 12 }, (_, number) => `rethread ${1000 + number}`);
    const held = `SELECT count(*),count(DISTINCT pid) FROM pg_locks WHERE locktype='advisory' AND database=(SELECT oid FROM pg_database WHERE datname=current_database()) AND classid::bigint=(hashtext(current_schema())::bigint & 4294967295)`;
    const all = Promise.withResolvers<void>();
    let begun = 0;
    const work = async (): Promise<void> => {
      begun += 1;
      if (begun < names.length) return all.promise;
      const again = await Promise.all(names.map((name) => database.tryWithLock(name, async () => 'twice')));
      expect(again).toEqual(names.map(() => null));
      if (database.multiNode) {
        const [rows] = await database.read([{ text: held, values: [] }]);
        expect(rows![0]!.map(Number)).toEqual([names.length, 1]);
      }
      all.resolve();
    };
    await Promise.all(names.map((name) => database.tryWithLock(name, work)));
    expect(await Promise.all(names.map((name) => database.tryWithLock(name, async () => 'next')))).toEqual(
      names.map(() => 'next'),
    );
  });

  test('a required custom field of e-mails is refused, because imported e-mails have no value for it', async () => {
    const body = { collectionName: 'emails', name: 'mood', type: 'string', defaultValue: 'calm' };
    const refusals = [{ required: true }, { allowNull: false }];
    for (const more of refusals)
      await server.play({
        name: 'a required field of e-mails cannot be created',
        request: 'POST /api/fields:create',
        body: { ...body, ...more },
        expect: { status: 422, code: 'DEFINITION_INVALID' },
      });
    await server.data('POST /api/fields:create', { body });
    for (const more of refusals)
      await server.play({
        name: 'a field of e-mails cannot become required',
        request: 'POST /api/fields:update',
        body: { collectionName: 'emails', name: 'mood', ...more },
        expect: { status: 422, code: 'DEFINITION_INVALID' },
      });
    const [{ id }] = await server.data('GET /api/emails', { as: 'ann' });
    expect(await server.data(`PATCH /api/emails/${id}`, { as: 'ann', body: { mood: 'glad' } })).toMatchObject({
      mood: 'glad',
    });
    await server.data('POST /api/fields:destroy', { body: { collectionName: 'emails', name: 'mood' } });
  });

  test('destroying an account also removes its mail', async () => {
    await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'bob@example.com' } });
    const [{ id }] = await server.data('GET /api/accounts', { as: 'bob' });
    await upload(server, 'bob', id, makeRawMail({ subject: 'Gone soon', id: 'b@example.net' }));
    await server.data(`DELETE /api/accounts/${id}`, { as: 'bob' });
    expect(await server.data('GET /api/emails?search=gone', { as: 'bob' })).toEqual([]);
    const { database, mail } = server.running.applications.main;
    await mail.accountDeletion.wake();
    for (const table of ['"mailContents"', '"mailThreadKeys"', 'conversations', 'mailboxes', '_mail_text']) {
      const [rows] = await database.read([{ text: `SELECT count(*) FROM ${table}`, values: [] }]);
      expect(Number(rows![0]![0]), table).toBe(1);
    }
  });

  describe('an account in a deferred delete', () => {
    let id: number;
    const sql = (text: string): Promise<unknown> =>
      server.running.applications.main.database.write((transaction) => transaction.run({ text, values: [] }));
    beforeAll(async () => {
      id = (await server.data('POST /api/accounts:create', { as: 'ann', body: { address: 'going@example.com' } })).id;
      const account = { name: 'account', type: 'belongsTo', target: 'accounts', onDelete: 'restrict' };
      const title = { name: 'title', type: 'string' };
      await server.data('POST /api/collections:create', { body: { name: 'tickets', fields: [title, account] } });
      const tickets = { name: 'tickets', type: 'hasMany', target: 'tickets', foreignKey: 'accountId' };
      await server.data('POST /api/fields:create', { body: { collectionName: 'accounts', ...tickets } });
      await server.data('POST /api/tickets:create', { body: { title: 'Before', accountId: id } });
      await server.data('POST /api/tickets:create', { body: { title: 'Free' } });
      await sql(`UPDATE accounts SET status='destroying' WHERE id=${id}`);
    });
    afterAll(async () => {
      await sql(`UPDATE accounts SET status='disabled' WHERE id=${id}`);
      await server.data('POST /api/collections:destroy?filterByTk=tickets&cascade=true', {});
    });

    test.each([
      ['a relation path', 'GET', 'accounts/:id/tickets:list', undefined],
      ['a new record that names it', 'POST', 'tickets:create', { title: 'After', accountId: ':id' }],
      ['an update that links it', 'POST', 'tickets:update?filterByTk=2', { accountId: ':id' }],
      ['a link', 'POST', 'accounts/:id/tickets:add', [2]],
      ['a second destroy', 'POST', 'accounts:destroy?filterByTk=:id', undefined],
      ['a destroy with force', 'POST', 'accounts:destroy?filterByTk=:id&force=true', undefined],
      ['a change', 'POST', 'accounts:update?filterByTk=:id', { name: 'Still here' }],
      ['a search of its mail', 'GET', 'accounts/:id/mailboxes:list', undefined],
    ])('does not exist for %s', async (_, method, path, body) => {
      const as = async (key: number): Promise<unknown> => {
        const named = JSON.parse(JSON.stringify(body ?? null).replaceAll('":id"', String(key)));
        const reply = await server.call(`${method} /api/${path.replace(':id', String(key))}`, {
          ...(named !== null && { body: named }),
        });
        return { status: reply.status, data: reply.body.data, code: reply.body.code };
      };
      expect(await as(id)).toEqual(await as(9999));
    });

    test('accepts no draft and no message that was composed before', async () => {
      const { database, mail } = server.running.applications.main;
      const account = { id, address: 'going@example.com' };
      const flags = { read: true, starred: false, answered: false, draft: true };
      const raw = Buffer.from('Subject: late\r\n\r\n');
      const ready = await mail.ingest.prepare(account, {
        raw,
        mailbox: { id: 1, folder: 'x' },
        receivedAt: null,
        flags,
      });
      const stored = database.write((transaction) =>
        mail.ingest.storeInTransaction(transaction, account, ready, { actor: null, requestId: null }),
      );
      await expect(stored).rejects.toMatchObject({ code: 'RECORD_UNKNOWN' });
    });
  });
});
