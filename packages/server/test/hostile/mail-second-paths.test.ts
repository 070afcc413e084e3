import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { ExpectedRefusal, TestServer } from '../support/scenario.ts';

const word = 'zanzibar';
const get = { actions: ['list', 'get'] };
const all = { actions: ['list', 'get', 'create', 'update', 'destroy'] };
const accounts = { resource: 'accounts', ...get };
const conversations = { resource: 'conversations', ...get };

/** Roles of members of the first account. */
const roles: Readonly<Record<string, readonly object[]>> = {
  // Gets the starred e-mails, and lists all of them.
  starGetter: [
    { resource: 'emails', actions: ['list'] },
    { resource: 'emails', actions: ['get'], filter: { starred: true } },
    conversations,
  ],
  lister: [{ resource: 'emails', actions: ['list'] }],
  withoutContent: [{ resource: 'emails', ...all, exceptFields: ['content'] }, conversations],
  withFilesOnly: [
    { resource: 'emails', ...all, exceptFields: ['content'] },
    { resource: 'attachments', ...get },
  ],
  withoutFiles: [{ resource: 'emails', ...all }],
  withSomeFiles: [
    { resource: 'emails', ...all },
    { resource: 'attachments', ...get, filter: { size: { $gt: 1_000_000 } } },
  ],
  withoutNames: [
    { resource: 'emails', ...all },
    { resource: 'attachments', ...get, exceptFields: ['filename'] },
  ],
  offerer: [
    { resource: 'emails', actions: ['list', 'get', 'create'] },
    { resource: 'emails', actions: ['update'], filter: { subject: { $startsWith: 'Offer' } } },
  ],
  writer: [{ resource: 'emails', actions: ['create', 'update'] }],
  maker: [{ resource: 'accounts', actions: ['create'], fields: ['name', 'address'] }],
  namer: [
    { resource: 'accounts', actions: ['update'], fields: ['name'] },
    { resource: 'users', ...get },
  ],
};

describeEngines('mail by second paths', (engine) => {
  let server: TestServer;
  /** Ids of the records; those of e-mails by their subject. */
  const keys = new Map<string, number>();
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    const attachments = [{ name: 'ledger.txt', type: 'text/plain', content: 'x' }];
    const raw = (subject: string, more: object = {}): string =>
      makeRawMail({ subject, text: `${word} ${subject}`, id: `${subject}@e.example`, ...more });
    const bcc = { headers: ['Bcc: undisclosed@blind.example'] };
    await upload(server, 'ann', 1, raw('starred', { attachments }));
    await upload(server, 'ann', 1, raw('plain', { attachments, ...bcc }));
    await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'bob@example.com' } });
    await upload(server, 'bob', 2, raw('starred', { attachments, references: ['plain@e.example'] }));
    await server.data('POST /api/accounts:create', { as: 'ann', body: { address: 'ann@example.com' } });
    await upload(server, 'ann', 3, raw('third'));
    for (const as of ['ann', 'bob'])
      for (const email of (await server.data('GET /api/emails', { as })) as Json[])
        keys.set(as === 'ann' ? email.subject : `${as} ${email.subject}`, email.id);
    await server.data(`PATCH /api/emails/${keys.get('starred')}`, { as: 'ann', body: { starred: true } });
    const members: number[] = [];
    for (const [name, permissions] of Object.entries(roles)) {
      await server.data('POST /api/roles:create', { body: { name } });
      for (const each of [accounts, ...permissions])
        await server.data('POST /api/permissions:create', { body: { role: name, ...each } });
      const user = { email: `${name.toLowerCase()}@example.com`, password: 'correct horse', roles: [name] };
      members.push((await server.data('POST /api/users:create', { body: user })).id);
      server.tokens.set(name, await server.signIn(user.email, user.password));
    }
    await server.data('PATCH /api/accounts/1', { body: { members, aliases: ['sales@example.com'] } });
  });
  afterAll(() => server?.stop());

  async function expectRefused(
    as: string,
    request: string,
    body: unknown,
    code: ExpectedRefusal['code'],
    status: ExpectedRefusal['status'] = 403,
  ): Promise<void> {
    // Background work must not change what is compared.
    await expect.poll(() => server.running.applications.main.mail.isBusy).toBe(false);
    await server.play({ name: request, request, as, ...(body !== undefined && { body }), expect: { status, code } });
  }

  describe('a search finds only what the role may read', () => {
    test.each([
      ['starGetter', 'emails', word, ['starred']],
      ['starGetter', 'conversations', word, ['starred']],
      ['starGetter', 'emails', '-nothing', ['starred']],
      ['lister', 'emails', word, []],
      ['lister', 'emails', 'plain', ['plain']],
      ['withoutContent', 'emails', word, []],
      ['withoutContent', 'conversations', word, []],
      ['withoutContent', 'emails', 'undisclosed', []],
      ['withoutFiles', 'emails', word, ['plain', 'starred']],
      ['withoutFiles', 'emails', 'ledger', []],
      ['withoutFiles', 'emails', 'ledgers', []],
      ['withFilesOnly', 'emails', word, []],
      ['withFilesOnly', 'emails', 'ledgers', ['plain', 'starred']],
      ['withSomeFiles', 'emails', 'ledger', []],
      ['withoutNames', 'emails', 'ledger', []],
      ['ann', 'emails', 'ledger', ['plain', 'starred']],
      ['ann', 'emails', 'bcc:undisclosed', ['plain']],
    ])('%s searches %s for %s', async (as, collection, search, found) => {
      const request = `GET /api/${collection}?accountId=1&fields=id,subject&search=${search}`;
      const subjects = ((await server.data(request, { as })) as Json[]).map(({ subject }) => subject);
      expect(subjects.sort()).toEqual(found);
    });

    test.each([
      ['withoutContent', 'emails?search=bcc:undisclosed'],
      ['withoutContent', 'emails?search=-to:undisclosed'],
      ['withoutContent', 'emails?to=undisclosed'],
      ['withoutContent', 'conversations?search=cc:undisclosed'],
      ['withoutFiles', 'emails?search=filename:ledger'],
      ['withoutNames', 'emails?search=-filename:ledger'],
      ['lister', 'emails?search=filename:ledger'],
      ['lister', 'emails?search=bcc:undisclosed'],
    ])('%s may not use %s', (as, path) => expectRefused(as, `GET /api/${path}`, undefined, 'FIELD_DENIED'));
  });

  describe('a stored draft can only be sent by a role that may read all of it', () => {
    let draft: number;
    beforeAll(async () => {
      const content = Buffer.from(word).toString('base64');
      const attachments = [{ filename: 'ledger.txt', contentType: 'text/plain', content }];
      const body = { account: 1, to: 'cora@example.net', subject: 'Draft', text: word, attachments };
      draft = (await server.data('POST /api/emails:saveDraft', { as: 'ann', body })).id;
    });

    test.each([
      ['withoutContent', 'FIELD_DENIED'],
      ['writer', 'NO_PERMISSION'],
      ['withoutFiles', 'NO_PERMISSION'],
      ['withSomeFiles', 'REFERENCE_MISSING'],
    ] as const)('%s cannot send it', async (as, code) => {
      const body = { id: draft, to: ['spy@example.net'], cc: [], bcc: [] };
      await expectRefused(as, 'POST /api/emails:send', body, code, code === 'REFERENCE_MISSING' ? 400 : 403);
    });

    test('a role that may read it can send it', async () => {
      const { id } = await server.data('POST /api/emails:send', { as: 'withoutNames', body: { id: draft } });
      await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id } });
    });
  });

  test('a draft cannot be changed so that it no longer matches the row filter of the role', async () => {
    const body = { account: 1, subject: 'Offer', text: 'x' };
    const { id } = await server.data('POST /api/emails:saveDraft', { as: 'ann', body });
    await server.data('POST /api/emails:saveDraft', { as: 'offerer', body: { id, text: 'y' } });
    await expectRefused('offerer', 'POST /api/emails:saveDraft', { id, subject: 'Order' }, 'NO_PERMISSION');
  });

  test('a role that may not set the servers of accounts may not test them either', async () => {
    const imap = { host: 'imap.example.com', port: 993 };
    const body = { address: 'x@example.com', imap, password: 'guessed' };
    await expectRefused('maker', 'POST /api/accounts:test', body, 'FIELD_DENIED');
  });

  const link = { resource: 'accounts', relation: 'members', of: 1, values: [3] };
  test.each([
    ['accounts/1/members:add?filterByTk=3', undefined],
    ['accounts/1/members:set', [3]],
    ['accounts/1/members:remove?filterByTk=2', undefined],
    ['accounts/1/owner:set?filterByTk=3', undefined],
    ['accounts:update?filterByTk=1', { name: 'x', members: [{ id: 3 }] }],
    ['accounts:update?filter={"id":1}', { owner: 3 }],
    ['batch', { operations: [{ op: 'add', ...link }] }],
    ['batch', { operations: [{ op: 'set', ...link }] }],
  ])('a role that may only change the name of accounts cannot change members by %s %o', (action, body) =>
    expectRefused('namer', `POST /api/${action}`, body, 'FIELD_DENIED'),
  );

  describe('hidden fields', () => {
    const count = { field: 'id', aggregation: 'count' };
    test.each([
      ['GET /api/accounts:list?sort=secrets', undefined],
      ['GET /api/accounts:list?fields=secrets', undefined],
      ['GET /api/accounts:list?filter={"secrets":{"$notEmpty":true}}', undefined],
      ['GET /api/accounts:list?filter={"aliasProofs":{"$notEmpty":true}}', undefined],
      ['GET /api/accounts:list?filter={"leasedBy":{"$startsWith":"a"}}', undefined],
      ['GET /api/accounts:list?filter={"seenBy":{"userId":2}}', undefined],
      ['GET /api/accounts:list?appends=seenBy', undefined],
      ['GET /api/accounts:list?search=x&searchFields=leasedBy', undefined],
      ['GET /api/accounts/1/seenBy:list', undefined],
      ['GET /api/emails:list?sort=identity', undefined],
      ['GET /api/emails:list?filter={"account":{"secrets":{"$notEmpty":true}}}', undefined],
      ['GET /api/mailboxes:list?filter={"objectId":"x"}', undefined],
      ['POST /api/accounts:query', { measures: [count], dimensions: [{ field: 'secrets' }] }],
      ['POST /api/accounts:query', { measures: [count], filter: { secrets: { $notEmpty: true } } }],
      ['POST /api/accounts:query', { measures: [{ field: 'failures', aggregation: 'max' }] }],
      ['POST /api/emails:query', { measures: [count], dimensions: [{ field: 'account.secrets' }] }],
    ])('cannot be read by %s', async (request, body) => {
      for (const as of ['admin', 'ann']) await expectRefused(as, request, body, 'FIELD_DENIED');
    });

    test.each([
      ['PATCH /api/accounts/1', { secrets: { password: 'x' } }],
      ['PATCH /api/accounts/1', { aliasProofs: { 'sales@example.com': { verifiedAt: '2026-01-01T00:00:00Z' } } }],
      ['PATCH /api/accounts/1', { leasedBy: 'x' }],
      ['PATCH /api/accounts/1', { seenBy: [{ userId: 3 }] }],
      ['PATCH /api/mailboxes/1', { backfillUid: 1 }],
    ])('cannot be written by %s %o', (request, body) => expectRefused('ann', request, body, 'FIELD_UNKNOWN', 400));
  });
});
