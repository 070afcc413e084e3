import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

const word = 'zanzibar';

/**
 * Every path that could reveal another user's mail, for another user with the same role, an admin who is not a member,
 * and callers without a credential.
 */
describeEngines('mail of another user', (engine) => {
  let server: TestServer;
  let emailId: number;
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    const attachments = [{ name: `${word}.txt`, type: 'text/plain', content: `${word} inside` }];
    const mail = { subject: `About ${word}`, from: `Zoe <zoe@${word}.example>`, id: `1@${word}.example`, attachments };
    await upload(server, 'ann', 1, makeRawMail({ ...mail, text: `${word} in the text` }));
    [{ id: emailId }] = await server.data('GET /api/emails', { as: 'ann' });
    await server.data('POST /api/collections:create', {
      body: {
        name: 'tickets',
        fields: [
          { name: 'title', type: 'string' },
          { name: 'mail', type: 'belongsTo', target: 'emails' },
        ],
      },
    });
    await server.data('POST /api/tickets:create', { as: 'ann', body: { title: 'mine', mailId: emailId } });
    const note = { conversationId: 1, text: `A note about ${word}`, mentions: [2] };
    await server.data('POST /api/conversationNotes:create', { as: 'ann', body: note });
    const contact = { accountId: 1, address: `${word}@example.net`, notes: word };
    await server.data('POST /api/contacts:create', { as: 'ann', body: contact });
    await server.data('POST /api/contactGroups', { as: 'ann', body: { accountId: 1, name: word, members: [1] } });
    const template = { accountId: 1, name: 'Answer', text: `An answer about ${word}` };
    await server.data('POST /api/mailTemplates:create', { as: 'ann', body: template });
    for (const name of ['bob', 'admin']) {
      const as = name;
      await server.data('POST /api/accounts:create', { as, body: { address: `${name}@example.com` } });
    }
    const { token } = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'admin' } } });
    server.tokens.set('adminKey', token);
  });
  afterAll(() => server.stop());

  const paths = (): string[] => [
    `/api/emails/${emailId}`,
    `/api/emails/${emailId}?`,
    `/api/emails:get/${emailId}`,
    `/api/emails:get?filterByTk=${emailId}`,
    `/api/emails%3Aget?filterByTk=${emailId}`,
    `/api/emails:get?filterByTk=${emailId}.0`,
    `/api/emails:get?filter={"id":${emailId}}`,
    `/api/emails:get?filterByTk=${emailId}&appends=content,attachments,account,conversation,mailbox`,
    `/api/emails:list?filterByTk[]=${emailId}`,
    `/api/emails:list?filter={"subject":{"$includes":"${word}"}}`,
    `/api/emails:list?filter[subject][$includes]=${word}`,
    `/api/emails:list?filter={"$or":[{"id":${emailId}},{"accountId":1}]}`,
    `/api/emails:list?filter={"$not":{"id":0}}`,
    `/api/emails:list?filter={"account":{"address":"shop@example.com"}}`,
    `/api/emails:list?filter={"content":{"text":{"$includes":"${word}"}}}`,
    `/api/emails:list?search=${word}`,
    `/api/emails:list?search="${word}"`,
    '/api/emails:list?search=account:1',
    `/api/emails:list?search=${word}*`,
    '/api/emails:list?search=from:zoe',
    `/api/emails:list?search=x" OR "${word}`,
    `/api/emails:list?search=-nothing`,
    '/api/emails?accountId=1',
    '/api/emails?conversationId=1',
    '/api/emails?folder=inbox',
    '/api/emails?paginate=false',
    '/api/emails:list?paginate=false&sort=id',
    '/api/emails:list?count=exact&page=2&pageSize=1',
    '/api/emails:list?versions=true&withDeleted=true',
    `/api/emails:history?filterByTk=${emailId}`,
    '/api/conversations',
    '/api/conversations/1',
    `/api/conversations?search=${word}`,
    '/api/conversations:get/1?appends=emails,emails.content',
    '/api/conversations/1/emails:list',
    `/api/conversations/1/emails:get?filterByTk=${emailId}`,
    `/api/emails/${emailId}/attachments:list`,
    `/api/emails/${emailId}/content:get`,
    `/api/emails/${emailId}/account:get`,
    '/api/attachments',
    '/api/attachments/1',
    '/api/attachments/1?meta=1',
    '/api/attachments/01',
    '/api/attachments/%31',
    '/api/attachments:get/1',
    '/api/attachments:get?filterByTk=1&appends=email,email.content',
    `/api/attachments:list?filter={"filename":{"$includes":"${word}"}}`,
    '/api/mailboxes',
    '/api/mailboxes/1',
    '/api/accounts:list?filter={"mailboxes":{"path":"INBOX"}}&appends=mailboxes',
    '/api/mailTemplates',
    '/api/mailTemplates/1',
    '/api/mailTemplates:fill?filterByTk=1',
    '/api/mailTemplates:history?filterByTk=1',
    '/api/contacts?appends=groups',
    `/api/contacts:list?filter={"groups":{"name":"${word}"}}`,
    '/api/contacts:export',
    '/api/contactGroups?appends=members',
    `/api/contactGroups:list?filter={"members":{"address":{"$includes":"${word}"}}}`,
    '/api/changes:list?resource=contacts',
    '/api/mailPushSubscriptions?appends=user',
    '/api/changes:list?resource=mailTemplates',
    '/api/conversationNotes',
    '/api/conversationNotes/1',
    `/api/conversationNotes:list?filter={"text":{"$includes":"${word}"}}`,
    '/api/conversationNotes:list?appends=conversation,account,author',
    '/api/conversations/1/conversationNotes:list',
    '/api/conversations:list?appends=conversationNotes',
    `/api/conversations:list?filter={"conversationNotes":{"text":{"$includes":"${word}"}}}`,
    '/api/conversations:history?filterByTk=1',
    '/api/mailNotifications:list?appends=note,conversation',
    '/api/accounts:members?filterByTk=1',
    '/api/changes:list?resource=conversationNotes',
    '/api/mailContents:list',
    '/api/mailContents:get/1',
    '/api/accountMembers:list',
    '/api/mailPlacements:list',
    '/api/mailThreadKeys:list',
    '/api/tickets:list?appends=mail,mail.content',
    `/api/tickets:list?filter={"mail":{"subject":{"$includes":"${word}"}}}&fields=id`,
    '/api/tickets:list?sort=mail.subject&appends=mail',
    '/api/changes:list?resource=emails&pageSize=100',
    '/api/changes:list?resource=conversations&pageSize=100',
    '/api/changes:list?resource=attachments',
  ];
  const queries = (): unknown[] => [
    { measures: [{ field: 'id', aggregation: 'count' }] },
    { measures: [{ field: 'size', aggregation: 'max' }], dimensions: [{ field: 'subject' }] },
    { measures: [{ field: 'id', aggregation: 'max' }], filter: { accountId: 1 } },
  ];

  for (const who of ['bob', 'admin', 'adminKey', 'nobody'])
    describe(who, () => {
      test('cannot be read', { timeout: 120_000 }, async () => {
        const headers = who === 'nobody' ? {} : { authorization: `Bearer ${server.tokens.get(who)}` };
        for (const path of paths()) {
          const response = await fetch(server.running.url + encodeURI(path).replaceAll('%25', '%'), { headers });
          const text = await response.text();
          expect(response.status, `${path} ${text.slice(0, 200)}`).toBeLessThan(500);
          // A refusal may repeat the names of the request, but a successful reply must not contain records.
          if (response.status === 200) {
            expect(text, path).not.toContain(word);
            expect(text, path).not.toContain(`"tk":"${emailId}"`);
            // A foreign key in a collection that users defined may be shown.
            if (!path.includes('tickets')) expect(text, path).not.toContain(String(emailId));
          }
          if (who === 'nobody') expect(response.status, path).toBeGreaterThanOrEqual(400);
        }
        for (const body of queries()) {
          const reply = await server.call('POST /api/emails:query', { as: who, body });
          if (reply.status === 200) expect(JSON.stringify(reply.body.data), JSON.stringify(body)).not.toMatch(/[1-9]/);
        }
      });

      test('cannot be changed', { timeout: 120_000 }, async () => {
        const before = await server.data('GET /api/emails?folder=inbox', { as: 'ann' });
        const ids = [emailId];
        const attempts: [string, unknown][] = [
          [`PATCH /api/emails/${emailId}`, { read: true }],
          [`PUT /api/emails/${emailId}`, { read: true }],
          [`DELETE /api/emails/${emailId}`, undefined],
          [`POST /api/emails:update?filterByTk=${emailId}`, { read: true }],
          ['POST /api/emails:update?filter={"accountId":1}', { read: true }],
          ['POST /api/emails:batchUpdate', { ids, read: true }],
          ['POST /api/emails:move', { ids, mailbox: 'INBOX' }],
          ['POST /api/emails:move', { ids, mailbox: 1 }],
          ['POST /api/emails:destroy', { ids }],
          ['POST /api/emails:destroy?force=true', { ids }],
          [`POST /api/emails:revert?filterByTk=${emailId}&entry=1`, undefined],
          [
            'POST /api/batch',
            { operations: [{ op: 'update', resource: 'emails', filterByTk: emailId, values: { read: true } }] },
          ],
          [
            'POST /api/batch',
            { operations: [{ op: 'set', resource: 'conversations', relation: 'emails', of: 1, values: [] }] },
          ],
          ['POST /api/conversations/1/emails:update', { read: true }],
          [`POST /api/conversations/1/emails:destroy?filterByTk=${emailId}`, undefined],
          ['PATCH /api/conversations/1', { state: 'closed' }],
          ['PATCH /api/conversations/1', { snoozedUntil: '2027-01-01T00:00:00Z' }],
          ['PATCH /api/conversationNotes/1', { text: 'trap' }],
          ['DELETE /api/conversationNotes/1', undefined],
          ['PATCH /api/mailTemplates/1', { text: 'trap' }],
          ['DELETE /api/mailTemplates/1', undefined],
          ['POST /api/mailTemplates:create', { accountId: 1, name: 'trap' }],
          ['POST /api/conversationNotes:create', { conversationId: 1, text: 'trap' }],
          [`POST /api/emails:unsubscribe?filterByTk=${emailId}`, undefined],
          ['DELETE /api/attachments/1', undefined],
          ['POST /api/mailboxes:create', { accountId: 1, path: 'Trap' }],
          ['PATCH /api/mailboxes/1', { path: 'Trap' }],
          ['DELETE /api/mailboxes/1', undefined],
          ['POST /api/tickets:create', { title: 'trap', mailId: emailId }],
          [`POST /api/tickets/1/mail:update`, { read: true }],
        ];
        for (const [request, body] of attempts) {
          const reply = await server.call(request, { as: who, ...(body !== undefined && { body }) });
          if (reply.status === 200) expect(reply.body.data, request).toEqual(expect.toSatisfy(isNothing));
          else expect(reply.status, `${request} ${reply.text}`).toBeLessThan(500);
        }
        expect(await server.data('GET /api/emails?folder=inbox', { as: 'ann' })).toEqual(before);
        expect(await server.data('GET /api/mailboxes', { as: 'ann' })).toHaveLength(1);
      });
    });
});

describeEngines('a row filter that refers to mail', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    await upload(
      server,
      'ann',
      1,
      makeRawMail({ subject: `About ${word}`, id: 'r@e.example', text: `${word} inside` }),
    );
    const fields = [{ name: 'mail', type: 'belongsTo', target: 'emails' }];
    await server.data('POST /api/collections:create', { body: { name: 'tickets', fields } });
    const [{ id }] = await server.data('GET /api/emails', { as: 'ann' });
    await server.data('POST /api/tickets:create', { as: 'ann', body: { mailId: id } });
    await server.data('POST /api/roles:create', { body: { name: 'spy', title: 'Spy' } });
    for (const [user, role] of [
      [1, 'admin'],
      [2, 'editor'],
    ])
      await server.data(`POST /api/users:update?filterByTk=${user}`, { body: { roles: [role, 'spy'] } });
    server.tokens.set('ann', await server.signIn('ann@example.com', 'correct horse'));
  });
  afterAll(() => server.stop());

  test.each([
    ['the subject', { mail: { subject: { $includes: word } } }, 1],
    ['the text', { mail: { content: { text: { $includes: word } } } }, 1],
    ['another path', { mail: { conversation: { emails: { subject: { $includes: word } } } } }, 1],
    ['a negated condition', { $not: { mail: { subject: { $includes: 'nothing' } } } }, null],
    ['an existence condition', { mail: { $exists: true } }, 1],
  ])('reveals nothing to users who cannot see the mail: %s', async (_, filter, found) => {
    const body = { role: 'spy', resource: 'tickets', actions: ['list'], filter };
    const { id } = await server.data('POST /api/permissions:create', { body });
    const headers = { 'x-role': 'spy' };
    const asAdmin = await server.data('GET /api/tickets:list', { headers });
    const asAnn = await server.data('GET /api/tickets:list', { as: 'ann', headers });
    await server.data(`POST /api/permissions:destroy?filterByTk=${id}`);
    // A negated condition is true for invisible mail, whatever the mail contains.
    if (found === null) expect([asAdmin.length, asAnn.length]).toEqual([1, 1]);
    else expect([asAdmin.length, asAnn.length]).toEqual([0, found]);
  });
});

/** Whether this is the reply of a write by filter that matched no record. */
function isNothing(data: unknown): boolean {
  return data === 0 || (Array.isArray(data) && data.length === 0);
}
