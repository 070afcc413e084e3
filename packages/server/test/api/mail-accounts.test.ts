import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { openMailWorld, upload } from '../support/mail-world.ts';
import { rawMail } from '../support/raw-mail.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const imap = { host: 'imap.example.com', port: 993, security: 'tls', user: 'shop' };
const secret = 'hunter2 and more';

describeEngines('mail accounts', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openMailWorld(engine, { MAIL_ALLOWED_PRIVATE_HOSTS: 'mail.internal,10.1.0.0/16' });
    await upload(server, 'ann', 1, rawMail({ subject: 'For the shop', id: 'a@example.net' }));
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
      name: 'whoever makes one owns it',
      request: 'GET /api/accounts/1',
      as: 'ann',
      expect: { status: 200, body: { data: { address: 'shop@example.com', ownerId: 2, status: 'disabled' } } },
    },
    { name: 'others do not see it', request: 'GET /api/accounts/1', as: 'bob', expect: { status: 403 } },
    {
      name: 'an admin sees it, so that somebody can look after it',
      request: 'GET /api/accounts:get/1?appends=members',
      expect: { status: 200, body: { data: { ownerId: 2, members: [{ id: 2 }] } } },
    },
    {
      name: 'a key sees what the user who made it sees',
      request: 'GET /api/emails',
      as: 'annsKey',
      expect: { status: 200, body: { data: [{ subject: 'For the shop' }] } },
    },
    {
      name: 'a viewer makes none',
      request: 'POST /api/accounts:create',
      as: 'vera',
      body: { address: 'vera@example.com' },
      expect: { status: 403, body: { error: 'No permissions' } },
    },
    {
      name: 'an address is needed',
      request: 'POST /api/accounts:create',
      as: 'bob',
      body: { name: 'x' },
      expect: { status: 422, body: { details: { address: expect.any(String) } } },
    },
    {
      name: 'an address that would end a header is 422',
      request: 'POST /api/accounts:create',
      as: 'bob',
      body: { address: 'a@b.example\r\nBcc: c@d.example' },
      expect: { status: 422, body: { details: { address: expect.any(String) } } },
    },
    {
      name: 'nobody makes one for somebody else',
      request: 'POST /api/accounts:create',
      as: 'bob',
      body: { address: 'trap@example.com', ownerId: 2 },
      expect: { status: 403 },
    },
    {
      name: 'a password goes in and never comes out',
      request: 'PATCH /api/accounts/1',
      as: 'ann',
      body: { imap, password: secret },
      expect: { status: 200, body: { data: { imap } }, absent: [secret, 'secrets'], events: ['accounts.updated'] },
    },
    {
      name: 'nor may it be asked for',
      request: 'GET /api/accounts:list?fields=id,secrets',
      as: 'ann',
      expect: { status: 403, body: { code: 'FIELD_DENIED' } },
    },
    {
      name: 'it names further addresses of its own, each once and in lower case',
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
        ['one that is no address', ['support@example.com', 'support'], 'aliases.1'],
        ['two in one', ['a@example.com, b@example.com'], 'aliases.0'],
        ['one that ends a header', ['a@example.com\r\nBcc: x@example.com'], 'aliases.0'],
        ['too many', Array.from({ length: 101 }, (_, number) => `a${number}@example.com`), 'aliases'],
      ] as const
    ).map(
      ([name, aliases, field]): Scenario => ({
        name: `aliases are refused: ${name}`,
        request: 'PATCH /api/accounts/1',
        as: 'ann',
        body: { aliases },
        expect: { status: 422, body: { details: { [field]: expect.stringContaining('support@example.com') } } },
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
      ['a port that is none', { port: 70_000 }],
      ['a security that is none', { security: 'maybe' }],
      ['a property that is none', { proxy: 'x' }],
    ].map(
      ([name, change]): Scenario => ({
        name: `a server is refused: ${name as string}`,
        request: 'PATCH /api/accounts/1',
        as: 'ann',
        body: { imap: { ...imap, ...(change as object) } },
        expect: { status: 422 },
      }),
    ),
  ];
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test('secrets lie encrypted, and go when another server is named', async () => {
    expect(await storedSecrets()).toContain('password');
    expect(await storedSecrets()).not.toContain(secret);
    await server.data('PATCH /api/accounts/1', { as: 'ann', body: { imap, name: 'The shop' } });
    expect(await storedSecrets()).toContain('password');
    await server.data('PATCH /api/accounts/1', { as: 'ann', body: { imap: { ...imap, host: 'mail.internal' } } });
    expect(await storedSecrets()).toBe('null');
  });

  test('a member sees the mail from the next request on, and no longer when taken out', async () => {
    await server.data('POST /api/accounts:update?filterByTk=1', { body: { members: [3] } });
    expect(await server.data('GET /api/emails', { as: 'bob' })).toHaveLength(1);
    expect(await server.data('GET /api/emails', { as: 'ann' })).toHaveLength(1);
    await server.data('POST /api/accounts/1/members:remove', { body: [3] });
    expect(await server.data('GET /api/emails', { as: 'bob' })).toHaveLength(0);
    await server.data('POST /api/accounts/1/members:remove', { body: [2] });
    expect(await server.data('GET /api/emails', { as: 'ann' })).toHaveLength(1);
  });

  test('a role that writes flags alone neither moves e-mails nor brings any in; one with a row filter moves none out of it', async () => {
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
          expect: { status: 403, body: { code } },
        });
      await server.data(`PATCH /api/emails/${id}`, { as: name, body: { read: true } });
    }
    await server.play({
      name: 'brings none in',
      request: 'POST /api/emails:import?account=1',
      as: 'flagger',
      headers: { 'content-type': 'message/rfc822' },
      body: rawMail({ subject: 'Whole' }),
      expect: { status: 403 },
    });
    await server.data('POST /api/accounts:update?filterByTk=1', { body: { members: [] } });
    await server.data(`DELETE /api/mailboxes/${away.id}`, { as: 'ann' });
  });

  test.each([
    ['emails', 'text'],
    ['emails', 'html'],
    ['emails', 'references'],
    ['accounts', 'password'],
  ])('no field of %s is called %s: that stands for something else', async (collectionName, name) => {
    const expect = { status: 409, body: { code: 'FIELD_EXISTS' } };
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
      name: 'a member rethreads',
      request: rethread,
      as: 'ann',
      expect: { status: 200, body: { data: { conversations: 1, changed: 0 } } },
    },
    { name: 'who is no member does not', request: rethread, as: 'bob', expect: { status: 403 } },
    { name: 'nor an admin', request: rethread, expect: { status: 403, body: { code: 'NO_PERMISSION' } } },
    { name: 'nor a viewer', request: rethread, as: 'vera', expect: { status: 403 } },
    {
      name: 'the account is named',
      request: 'POST /api/accounts:rethread',
      as: 'ann',
      expect: { status: 400, body: { code: 'TARGET_MISSING' } },
    },
    {
      name: 'no trial',
      request: `${rethread}&dryRun=true`,
      as: 'ann',
      expect: { status: 400, body: { code: 'PARAMETER_UNKNOWN' } },
    },
  ];
  test('conversations are made anew by who may update the account', async () => {
    for (const scenario of rethreading) await server.play(scenario);
    const { database } = server.running.applications.main;
    await database.tryWithLock('rethread 1', async () => {
      await server.play({
        name: 'one at a time',
        request: rethread,
        as: 'ann',
        expect: { status: 409, body: { code: 'RETHREAD_RUNNING' } },
      });
    });
    await database.write((transaction) => transaction.run({ text: 'UPDATE conversations SET messages=7', values: [] }));
    await server.play({
      name: 'what was wrong is told of',
      request: rethread,
      as: 'ann',
      expect: { status: 200, body: { data: { conversations: 1, changed: 1 } }, events: ['conversations.updated'] },
    });
  });

  test('however many accounts are made anew, one connection of PostgreSQL keeps others from them', async () => {
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

  test('a field that every e-mail must have is refused: nobody gives it to those that come in', async () => {
    const body = { collectionName: 'emails', name: 'mood', type: 'string', defaultValue: 'calm' };
    const refusals = [{ required: true }, { allowNull: false }];
    for (const more of refusals)
      await server.play({
        name: 'made',
        request: 'POST /api/fields:create',
        body: { ...body, ...more },
        expect: { status: 422, body: { code: 'DEFINITION_INVALID' } },
      });
    await server.data('POST /api/fields:create', { body });
    for (const more of refusals)
      await server.play({
        name: 'changed',
        request: 'POST /api/fields:update',
        body: { collectionName: 'emails', name: 'mood', ...more },
        expect: { status: 422, body: { code: 'DEFINITION_INVALID' } },
      });
    const [{ id }] = await server.data('GET /api/emails', { as: 'ann' });
    expect(await server.data(`PATCH /api/emails/${id}`, { as: 'ann', body: { mood: 'glad' } })).toMatchObject({
      mood: 'glad',
    });
    await server.data('POST /api/fields:destroy', { body: { collectionName: 'emails', name: 'mood' } });
  });

  test('an account goes with all that is in it', async () => {
    await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'bob@example.com' } });
    const [{ id }] = await server.data('GET /api/accounts', { as: 'bob' });
    await upload(server, 'bob', id, rawMail({ subject: 'Gone soon', id: 'b@example.net' }));
    await server.data(`DELETE /api/accounts/${id}`, { as: 'bob' });
    expect(await server.data('GET /api/emails?search=gone', { as: 'bob' })).toEqual([]);
    const { database, mail } = server.running.applications.main;
    await mail.accountDeletion.wake();
    for (const table of ['"mailContents"', '"mailThreadKeys"', 'conversations', 'mailboxes', '_mail_text']) {
      const [rows] = await database.read([{ text: `SELECT count(*) FROM ${table}`, values: [] }]);
      expect(Number(rows![0]![0]), table).toBe(1);
    }
  });

  describe('an account on its way out', () => {
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
      ['a record that is to name it', 'POST', 'tickets:update?filterByTk=2', { accountId: ':id' }],
      ['a link', 'POST', 'accounts/:id/tickets:add', [2]],
      ['one more destroy', 'POST', 'accounts:destroy?filterByTk=:id', undefined],
      ['a forced one', 'POST', 'accounts:destroy?filterByTk=:id&force=true', undefined],
      ['a change', 'POST', 'accounts:update?filterByTk=:id', { name: 'Still here' }],
      ['a search of its mail', 'GET', 'accounts/:id/mailboxes:list', undefined],
    ])('is not there for %s', async (_, method, path, body) => {
      const as = async (key: number): Promise<unknown> => {
        const named = JSON.parse(JSON.stringify(body ?? null).replaceAll('":id"', String(key)));
        const reply = await server.call(`${method} /api/${path.replace(':id', String(key))}`, {
          ...(named !== null && { body: named }),
        });
        return { status: reply.status, data: reply.body.data, code: reply.body.code };
      };
      expect(await as(id)).toEqual(await as(9999));
    });

    test('takes no draft and no message to be sent, which were composed before', async () => {
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
