import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';
import { readStoreSnapshot } from '../support/store-snapshot.ts';

const word = 'zanzibar';
const server1 = { host: 'imap.example.com', port: 993 };
const other = { host: 'imap.attacker.example', port: 993 };

/**
 * The actions of mail must not allow more than the generated actions do: with row filters, field lists and ids of other
 * users.
 */
describeEngines('actions of mail for roles with limits', (engine) => {
  let server: TestServer;
  let starredId: number;
  let hiddenId: number;
  beforeAll(async () => {
    server = await startMailAccountServer(engine, { PUBLIC_URL: 'https://data.example.com' });
    for (const name of ['first', 'second'])
      await upload(
        server,
        'ann',
        1,
        makeRawMail({ subject: `Order ${name}`, text: `${word} ${name}`, id: `${name}@e.example` }),
      );
    const emails: Json[] = await server.data('GET /api/emails', { as: 'ann' });
    starredId = emails.find(({ subject }) => subject === 'Order first')!.id;
    hiddenId = emails.find(({ subject }) => subject === 'Order second')!.id;
    await server.data(`PATCH /api/emails/${starredId}`, { as: 'ann', body: { starred: true } });
    await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'bob@example.com' } });
    const rules = { resource: 'mailRules', actions: ['list', 'get', 'create', 'update'] };
    const accounts = { resource: 'accounts', actions: ['list', 'get'] };
    await addRole('starGetter', [
      rules,
      accounts,
      { resource: 'emails', actions: ['list'] },
      { resource: 'emails', actions: ['get', 'update'], filter: { starred: true } },
    ]);
    await addRole('starWriter', [
      rules,
      accounts,
      { resource: 'emails', actions: ['list', 'get'] },
      { resource: 'emails', actions: ['update'], filter: { starred: true } },
    ]);
    await addRole('signer', [
      { resource: 'accounts', actions: ['list', 'get'] },
      { resource: 'accounts', actions: ['update'], fields: ['signature'] },
    ]);
    await addRole('reader', [
      { resource: 'emails', actions: ['list', 'get'] },
      { resource: 'emails', actions: ['update'], fields: ['read'] },
      accounts,
    ]);
    await addRole('archivist', [
      rules,
      { resource: 'accounts', actions: ['list', 'get', 'update'], filter: { name: 'Archive' } },
      { resource: 'emails', actions: ['list', 'get', 'update'] },
    ]);
    const users: Json[] = await server.data('GET /api/users:list?pageSize=50');
    const members = users.filter(({ email }) => !/^(bob|admin)@/.test(email)).map(({ id }) => id);
    await server.data('PATCH /api/accounts/1', {
      body: { members, auth: 'password', imap: server1, password: 'stored secret', aliases: ['sales@example.com'] },
    });
  });
  afterAll(() => server?.stop());

  async function addRole(name: string, permissions: readonly object[]): Promise<void> {
    await server.data('POST /api/roles:create', { body: { name } });
    for (const each of permissions)
      await server.data('POST /api/permissions:create', { body: { role: name, ...each } });
    const user = { email: `${name}@example.com`, password: 'correct horse', roles: [name] };
    await server.data('POST /api/users:create', { body: user });
    server.tokens.set(name, await server.signIn(user.email, user.password));
  }

  const hasWord = [{ field: 'body', operator: 'contains', value: word }];
  const star = [{ type: 'star' }];

  async function expectRefused(as: string, request: string, body: object): Promise<void> {
    await expect.poll(() => server.running.applications.main.mail.isBusy).toBe(false);
    const before = await readStoreSnapshot(server.running.applications.main);
    const reply = await server.call(request, { as, body });
    expect([request, reply.status, reply.text]).toEqual([request, 403, expect.stringMatching(/DENIED|NO_PERMISSION/)]);
    expect(await readStoreSnapshot(server.running.applications.main), request).toBe(before);
  }

  test('trying a rule only reads e-mails that the caller may get', async () => {
    const listed = await server.data('GET /api/emails', { as: 'starGetter' });
    expect(listed).toHaveLength(2);
    const found = await server.data('POST /api/mailRules:try', {
      as: 'starGetter',
      body: { account: 1, rule: { conditions: hasWord, actions: star } },
    });
    expect(found.emails.map(({ id }: Json) => id)).toEqual([starredId]);
    const { id } = await server.data('POST /api/mailRules:create', {
      as: 'starGetter',
      body: { accountId: 1, name: 'Words', conditions: hasWord, actions: [{ type: 'webhook' }] },
    });
    const applied = await server.data('POST /api/mailRules:apply', { as: 'starGetter', body: { id } });
    expect(applied.ids).toEqual([starredId]);
  });

  test('a rule is not applied to e-mails that the caller may not update', async () => {
    const actions = [{ type: 'markRead' }, { type: 'move', mailbox: 'archive' }];
    const body = { accountId: 1, name: 'Move', conditions: hasWord, actions };
    const { id } = await server.data('POST /api/mailRules:create', { as: 'starWriter', body });
    await expectRefused('starWriter', 'POST /api/mailRules:apply', { id });
    const email = await server.data(`GET /api/emails/${hiddenId}`, { as: 'ann' });
    expect([email.read, email.folder]).toEqual([false, 'inbox']);
  });

  test('a rule cannot be tried on an account that the row filter of the caller excludes', async () => {
    await expectRefused('archivist', 'POST /api/mailRules:try', {
      account: 1,
      rule: { conditions: hasWord, actions: star },
    });
    const body = { accountId: 1, name: 'x', conditions: hasWord, actions: star };
    const reply = await server.call('POST /api/mailRules:create', { as: 'archivist', body });
    expect(reply.status, reply.text).toBe(400);
  });

  describe('a role that may only update the signature of accounts', () => {
    test.each([
      ['changes no password', 'PATCH /api/accounts/1', { password: 'x' }],
      ['changes no password for SMTP', 'POST /api/accounts:update?filterByTk=1', { smtpPassword: 'x' }],
      ['removes no password', 'PATCH /api/accounts/1', { password: null }],
      ['stores no token', 'PATCH /api/accounts/1', { refreshToken: 'x' }],
      ['stores no client secret', 'PATCH /api/accounts/1', { clientSecret: 'x' }],
      ['adds no members', 'PATCH /api/accounts/1', { members: [2, 3] }],
      ['tests no servers', 'POST /api/accounts:test?filterByTk=1', {}],
      ['tests no other servers', 'POST /api/accounts:test?filterByTk=1', { imap: other, password: 'x' }],
      ['signs in with no provider', 'POST /api/accounts:authorize?filterByTk=1', {}],
      ['has no code sent', 'POST /api/accounts:verifyAlias?filterByTk=1', { address: 'sales@example.com' }],
      [
        'enters no code',
        'POST /api/accounts:confirmAlias?filterByTk=1',
        { address: 'sales@example.com', code: '12345678' },
      ],
    ])('%s', async (_, request, body) => {
      await expectRefused('signer', request, body);
    });

    test('changes the signature', async () => {
      await server.data('PATCH /api/accounts/1', { as: 'signer', body: { signature: 'Kind regards' } });
    });
  });

  test('sending again needs the permission to send', async () => {
    const body = { account: 1, to: 'cora@example.net', subject: 'Order', text: 'x' };
    const { id } = await server.data('POST /api/emails:send', { as: 'ann', body });
    for (const action of ['retrySend', 'cancelSend'])
      await expectRefused('reader', `POST /api/emails:${action}`, { id });
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id } });
  });

  const ids = 'filterByTk=1';
  const foreign: readonly (readonly [string, object])[] = [
    [`POST /api/accounts:test?${ids}`, {}],
    [`POST /api/accounts:sync?${ids}`, {}],
    [`POST /api/accounts:authorize?${ids}`, {}],
    [`POST /api/accounts:verifyAlias?${ids}`, { address: 'sales@example.com' }],
    [`POST /api/accounts:confirmAlias?${ids}`, { address: 'sales@example.com', code: '12345678' }],
    ['POST /api/mailRules:apply', { id: 1 }],
    ['POST /api/mailRules:try', { id: 1 }],
    ['POST /api/emails:retrySend', { id: 1 }],
  ];
  test.each(foreign)(
    '%s is refused for accounts of other users, and for roles whose filter excludes the account',
    async (request, body) => {
      for (const who of ['bob', 'archivist'])
        if (who === 'bob' || request.includes('accounts:')) await expectRefused(who, request, body);
    },
  );

  test('a stored password is deleted when the account gets another server', async () => {
    const readSecrets = async (): Promise<unknown> => {
      const { database } = server.running.applications.main;
      const [rows] = await database.read([{ text: 'SELECT secrets FROM accounts WHERE id=1', values: [] }]);
      const secrets = rows?.[0]?.[0];
      return typeof secrets === 'string' ? JSON.parse(secrets) : secrets;
    };
    const batch = { operations: [{ op: 'update', resource: 'accounts', filterByTk: 1, values: { imap: other } }] };
    const paths: [string, object][] = [
      ['PATCH /api/accounts/1', { imap: other }],
      ['PATCH /api/accounts/1', { imap: { ...server1, port: 994 } }],
      ['PATCH /api/accounts/1', { imap: { ...server1, security: 'none', port: 993 } }],
      ['PATCH /api/accounts/1', { smtp: { host: other.host, port: 465 } }],
      ['POST /api/batch', batch],
      ['POST /api/accounts:updateOrCreate?filterKeys[]=address', { address: 'shop@example.com', imap: other }],
      ['POST /api/accounts:update?filter={"id":1}', { imap: other }],
    ];
    for (const [request, body] of paths) {
      await server.data('PATCH /api/accounts/1', { as: 'ann', body: { imap: server1, smtp: null, password: 'again' } });
      expect(await readSecrets()).toHaveProperty('password');
      const before = await server.data('GET /api/accounts/1', { as: 'ann' });
      await server.call(request, { as: 'ann', body });
      const after = await server.data('GET /api/accounts/1', { as: 'ann' });
      const servers = ({ imap, smtp }: Json): string => JSON.stringify([imap, smtp]);
      if (servers(after) !== servers(before)) expect([request, await readSecrets()]).toEqual([request, null]);
      // These were refused: a public server without TLS, and a parameter name that the action does not have.
      else expect(request + JSON.stringify(body)).toMatch(/updateOrCreate|"none"/);
    }
  });
});
