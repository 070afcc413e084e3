import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { ExpectedRefusal, TestServer } from '../support/scenario.ts';
import { SocketClient } from '../support/socket-client.ts';

const word = 'zanzibar';
const beta = { 'x-app': 'beta' };
const everything = [{ field: 'size', operator: 'greater', value: 0 }];

/** Ids of mail records that are used in another account, in another application or by a former member. */
describeEngines('ids of mail outside of their account', (engine) => {
  let server: TestServer;
  const keys = new Map<string, number>();
  beforeAll(async () => {
    server = await startMailAccountServer(engine, {
      PUBLIC_URL: 'https://data.example.com',
      MAIL_GOOGLE_CLIENT_ID: 'client',
      MAIL_GOOGLE_CLIENT_SECRET: 'secret',
    });
    await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'bob@example.com' } });
    await server.data('POST /api/accounts:create', { as: 'ann', body: { address: 'ann@example.com' } });
    const attachments = [{ name: `${word}.txt`, type: 'text/plain', content: word }];
    const html = `<p>${word}</p><img src="https://images.example/${word}.png">`;
    const thread = { id: 'first@e.example', attachments };
    await upload(server, 'ann', 1, makeRawMail({ subject: `first ${word}`, html, ...thread }));
    await upload(server, 'bob', 2, makeRawMail({ subject: `first ${word}`, inReplyTo: thread.id, attachments }));
    await upload(server, 'ann', 3, makeRawMail({ subject: `first ${word}`, inReplyTo: thread.id, attachments }));
    for (const as of ['ann', 'bob'])
      for (const { id, accountId } of (await server.data('GET /api/emails', { as })) as Json[])
        keys.set(`email ${accountId}`, id);
    for (const as of ['ann', 'bob'])
      for (const { id, accountId } of (await server.data('GET /api/mailboxes', { as })) as Json[])
        keys.set(`mailbox ${accountId}`, id);
    for (const { id, accountId } of (await server.data('GET /api/attachments', { as: 'bob' })) as Json[])
      keys.set(`attachment ${accountId}`, id);
    const developer = { email: 'dev@example.com', password: 'correct horse', roles: ['developer'] };
    await server.data('POST /api/users:create', { body: developer });
    server.tokens.set('dev', await server.signIn(developer.email, developer.password));
  });
  afterAll(() => server?.stop());

  /** Replaces names such as `email 1` by ids. */
  function resolveKeys(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolveKeys);
    if (value === null || typeof value !== 'object') return keys.get(value as string) ?? value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolveKeys(each)]));
  }

  async function expectRefused(as: string, request: string, body: unknown, [status, code]: Refusal): Promise<void> {
    await expect.poll(() => server.running.applications.main.mail.isBusy).toBe(false);
    await server.play({ name: request, request, as, body: resolveKeys(body), expect: { status, code } });
  }
  type Refusal = readonly [status: ExpectedRefusal['status'], code: ExpectedRefusal['code']];
  const denied: Refusal = [403, 'NO_PERMISSION'];
  const missing: Refusal = [400, 'REFERENCE_MISSING'];
  const invalid: Refusal = [422, 'VALUE_INVALID'];
  const fixed: Refusal = [403, 'SYSTEM_PROTECTED'];
  const rule = (account: number, action: object): object => ({
    accountId: account,
    name: 'x',
    conditions: everything,
    actions: [action],
  });

  test.each<[string, string, unknown, Refusal]>([
    [
      'e-mails do not move to another account of theirs',
      'emails:move',
      { ids: ['email 1'], mailbox: 'mailbox 3' },
      missing,
    ],
    ['or to one of another user', 'emails:move', { ids: ['email 1'], mailbox: 'mailbox 2' }, missing],
    ['or from it', 'emails:move', { ids: ['email 1'], mailbox: 'INBOX', from: 'mailbox 3' }, missing],
    ['several do not move if one is foreign', 'emails:move', { ids: ['email 1', 'email 2'], mailbox: 'INBOX' }, denied],
    [
      'flags of several are not set if one is foreign',
      'emails:batchUpdate',
      { ids: ['email 1', 'email 2'], read: true },
      denied,
    ],
    ['a foreign e-mail is not answered', 'emails:reply', { id: 'email 2', text: 'x' }, denied],
    ['a foreign e-mail is not forwarded', 'emails:forward', { id: 'email 2', to: 'x@example.net' }, denied],
    [
      'a foreign file is not attached',
      'emails:saveDraft',
      { account: 1, attachments: [{ id: 'attachment 2' }] },
      missing,
    ],
    ['nothing is written in a foreign account', 'emails:saveDraft', { account: 'bob@example.com', text: 'x' }, denied],
    [
      'nothing is sent from another account',
      'emails:send',
      { account: 1, from: 'ann@example.com', to: 'x@example.net' },
      invalid,
    ],
    [
      'a reply has no sender of another account',
      'emails:reply',
      { id: 'email 1', from: 'ann@example.com', text: 'x' },
      invalid,
    ],
    ['a received e-mail is not sent as a draft', 'emails:send', { id: 'email 1', to: 'x@example.net' }, fixed],
    ['a rule is not created in a foreign account', 'mailRules:create', rule(2, { type: 'star' }), missing],
    [
      'a rule does not move to a foreign mailbox',
      'mailRules:create',
      rule(1, { type: 'move', mailbox: 'mailbox 2' }),
      invalid,
    ],
    [
      'a rule does not move to another account',
      'mailRules:create',
      rule(1, { type: 'move', mailbox: 'mailbox 3' }),
      invalid,
    ],
    ['a rule assigns to nobody who is no member', 'mailRules:create', rule(1, { type: 'assign', userId: 3 }), invalid],
    ['an e-mail is not put into another conversation', 'conversations/1/emails:add', { values: ['email 3'] }, fixed],
    ['a file is not put into another e-mail', 'attachments:update?filterByTk=1', { emailId: 'email 3' }, fixed],
    ['a mailbox is not put into another account', 'mailboxes:update?filterByTk=1', { account: 3 }, fixed],
    ['the mailboxes of an account are not replaced', 'accounts/1/mailboxes:set', ['mailbox 3'], fixed],
    ['members are not added by who may not list users', 'accounts/1/members:add', [3], denied],
  ])('%s', (_, action, body, refusal) => expectRefused('ann', `POST /api/${action}`, body, refusal));

  test('messages of several accounts that refer to each other are in separate conversations', async () => {
    const emails = (await server.data('GET /api/emails?fields=accountId,conversationId', { as: 'ann' })) as Json[];
    const [bobs] = await server.data('GET /api/emails?fields=accountId,conversationId', { as: 'bob' });
    expect(new Set([...emails, bobs].map(({ conversationId }) => conversationId)).size).toBe(3);
  });

  const definition: Refusal = [422, 'DEFINITION_INVALID'];
  const members = { type: 'belongsToMany', through: 'accountMembers' };
  test.each<[string, object]>([
    [
      'to contents of mail',
      { collectionName: 'accounts', type: 'hasMany', target: 'mailContents', foreignKey: 'accountId' },
    ],
    ['to members', { collectionName: 'users', type: 'hasMany', target: 'accountMembers', foreignKey: 'userId' }],
    [
      'through members',
      { collectionName: 'users', ...members, target: 'accounts', foreignKey: 'userId', otherKey: 'accountId' },
    ],
    [
      'through e-mails',
      {
        collectionName: 'accounts',
        ...members,
        through: 'emails',
        target: 'users',
        foreignKey: 'accountId',
        otherKey: 'id',
      },
    ],
    [
      'by the foreign key of another relation',
      { collectionName: 'users', type: 'hasMany', target: 'emails', foreignKey: 'accountId' },
    ],
    [
      'that deletes accounts',
      { collectionName: 'accounts', type: 'belongsTo', target: 'users', foreignKey: 'ownerId', onDelete: 'cascade' },
    ],
  ])('a developer defines no relation %s', (_, field) =>
    expectRefused('dev', 'POST /api/fields:create', { name: 'spy', ...field }, definition),
  );

  describe('in another application', () => {
    beforeAll(async () => {
      await server.data('POST /api/applications:create', { body: { name: 'beta' } });
      server.tokens.set('beta', (await server.data('POST /api/applications:enter?filterByTk=beta')).token);
    });

    test('ids and a sign-in with a provider are not valid', async () => {
      const account = { address: 'ann@gmail.com', auth: 'oauth2', oauth: { provider: 'google' } };
      const imap = { host: 'imap.gmail.com', port: 993 };
      const { id } = await server.data('POST /api/accounts:create', { body: { ...account, imap } });
      const { url } = await server.data(`POST /api/accounts:authorize?filterByTk=${id}`, { body: {} });
      const more = { as: 'beta', headers: beta };
      await server.data('POST /api/accounts:create', { ...more, body: { id, ...account, imap } });
      const finish = { state: new URL(url).searchParams.get('state'), code: 'x' };
      const reply = await server.call('POST /api/accounts:finishAuthorization', { ...more, body: finish });
      expect([reply.status, reply.body.code]).toEqual([400, 'LINK_INVALID']);

      const email = keys.get('email 1');
      const image = encodeURIComponent(`https://images.example/${word}.png`);
      for (const path of [
        `emails/${email}`,
        `emails/${email}?raw=1`,
        `emails:image?filterByTk=${email}&url=${image}`,
        `emails:history?filterByTk=${email}`,
        'conversations/1',
        'attachments/1',
        'attachments/1?meta=1',
        'accounts/1',
        'mailboxes/1',
        'emails:export?account=1',
        'emails?accountId=1',
        `emails?search=${word}`,
      ]) {
        const { status, text } = await server.call(`GET /api/${path}`, more);
        expect([path, status < 500, text.includes(word)]).toEqual([path, true, false]);
      }
    });
  });

  test('a former member, and a revoked key, get no more events of the mail', async () => {
    const body = { name: 'notes', fields: [{ name: 'text', type: 'string' }] };
    await server.data('POST /api/collections:create', { body });
    const user = { email: 'rita@example.com', password: 'correct horse', roles: ['editor'] };
    const { id: rita } = await server.data('POST /api/users:create', { body: user });
    server.tokens.set('rita', await server.signIn(user.email, user.password));
    const key = await server.data('POST /api/apiKeys:create', { as: 'rita', body: { role: 'editor' } });
    await server.data('PATCH /api/accounts/1', { body: { members: [rita] } });
    const [session, byKey] = [await SocketClient.as(server, 'rita'), await SocketClient.as(server, key.token)];
    for (const [id, resource, more] of [
      ['all', '*', {}],
      ['emails', 'emails', { values: true }],
      ['found', 'emails', { filter: { subject: { $includes: word } }, values: true }],
      ['conversations', 'conversations', { values: true }],
    ] as const)
      for (const socket of [session, byKey]) await socket.subscribe(id, resource, more);
    const change = (starred: boolean): Promise<Json> =>
      server.data(`PATCH /api/emails/${keys.get('email 1')}`, { as: 'ann', body: { starred } });
    /** Waits for the event of a new note, which arrives after the events of all earlier writes. */
    const untilHeard = async (text: string): Promise<void> => {
      const { id: note } = await server.data('POST /api/notes:create', { body: { text } });
      const isNote = ({ id, event }: Json): boolean =>
        id === 'all' && event?.resource === 'notes' && event.tk === `${note}`;
      for (const socket of [session, byKey]) await socket.next(isNote);
    };
    await expect.poll(() => server.running.applications.main.mail.isBusy).toBe(false);
    await change(true);
    await untilHeard('first');
    await untilHeard('second');
    for (const socket of [session, byKey]) expect(socket.eventsNow('found')).not.toEqual([]);

    await server.data('PATCH /api/accounts/1', { body: { members: [] } });
    const before = [session, byKey].map(({ heard }) => heard.length);
    await change(false);
    await untilHeard('third');
    await untilHeard('fourth');
    for (const [index, { heard }] of [session, byKey].entries()) {
      const later = heard.slice(before[index]).filter(({ event }) => event && event.resource !== 'notes');
      expect(later.map(({ event }) => event.name)).toEqual(expect.not.arrayContaining(['emails.updated']));
      expect(JSON.stringify(later)).not.toContain(word);
      expect(later.some(({ id, event }) => id === 'emails' && event.name === 'emails.left')).toBe(true);
    }
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${key.id}`);
    expect(await byKey.end()).toBe(4401);
    session.socket.terminate();
  });
});
