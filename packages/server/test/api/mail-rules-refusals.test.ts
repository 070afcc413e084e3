import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const condition = { field: 'subject', operator: 'contains', value: 'order' };
const action = { type: 'star' };
const good = { accountId: 1, name: 'Orders', conditions: [condition], actions: [action] };
const list = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

/** What is wrong with a body, the path that the reply names, and a word of the cure. */
const wrongBodies: readonly (readonly [name: string, body: object, path: string, cure: string])[] = [
  ['without conditions', { ...good, conditions: undefined }, 'conditions', '1 to 50'],
  ['with an empty list of conditions', { ...good, conditions: [] }, 'conditions', '1 to 50'],
  ['with too many conditions', { ...good, conditions: list(51, condition) }, 'conditions', '1 to 50'],
  ['with a condition that is a text', { ...good, conditions: ['x'] }, 'conditions.0', 'field'],
  [
    'with an unknown field',
    { ...good, conditions: [{ ...condition, field: 'bcc' }] },
    'conditions.0.field',
    'recipients',
  ],
  [
    'with a field of every object',
    { ...good, conditions: [{ ...condition, field: 'toString' }] },
    'conditions.0.field',
    'subject',
  ],
  [
    'with an operator of another field',
    { ...good, conditions: [condition, { ...condition, operator: 'matchesDomain' }] },
    'conditions.1.operator',
    'startsWith',
  ],
  ['with an empty value', { ...good, conditions: [{ ...condition, value: ' ' }] }, 'conditions.0.value', '1 to 500'],
  [
    'with a value that is too long',
    { ...good, conditions: [{ ...condition, value: 'x'.repeat(501) }] },
    'conditions.0.value',
    '1 to 500',
  ],
  [
    'with a huge value',
    { ...good, conditions: [{ ...condition, value: 'x'.repeat(1_000_000) }] },
    'conditions.0.value',
    '1 to 500',
  ],
  [
    'with control characters in a value',
    { ...good, conditions: [{ ...condition, value: 'a\r\nb' }] },
    'conditions.0.value',
    'text',
  ],
  [
    'with a text as a size',
    { ...good, conditions: [{ field: 'size', operator: 'greater', value: '5' }] },
    'conditions.0.value',
    'bytes',
  ],
  [
    'with a size that is no whole number',
    { ...good, conditions: [{ field: 'size', operator: 'less', value: 1.5 }] },
    'conditions.0.value',
    'bytes',
  ],
  [
    'with a number as a flag',
    { ...good, conditions: [{ field: 'isReply', operator: 'is', value: 1 }] },
    'conditions.0.value',
    'true or false',
  ],
  [
    'with an address as a domain',
    { ...good, conditions: [{ field: 'from', operator: 'matchesDomain', value: 'a@b.example' }] },
    'conditions.0.value',
    'example.com',
  ],
  [
    'with a header that is none',
    { ...good, conditions: [{ ...condition, field: 'header', header: 'X Y:' }] },
    'conditions.0.header',
    'X-Spam-Flag',
  ],
  [
    'with a header of another field',
    { ...good, conditions: [{ ...condition, header: 'X-Y' }] },
    'conditions.0.header',
    'header',
  ],
  [
    'with an unknown member of a condition',
    { ...good, conditions: [{ ...condition, regex: '(a+)+$' }] },
    'conditions.0.regex',
    'Remove it',
  ],
  [
    'with a negation that is a text',
    { ...good, conditions: [{ ...condition, negate: 'yes' }] },
    'conditions.0.negate',
    'true or false',
  ],
  ['without actions', { ...good, actions: [] }, 'actions', '1 to 20'],
  ['with too many actions', { ...good, actions: list(21, action) }, 'actions', '1 to 20'],
  ['with an unknown action', { ...good, actions: [{ type: 'forward', to: 'x@y.example' }] }, 'actions.0.type', 'move'],
  ['with two moves', { ...good, actions: list(2, { type: 'move', mailbox: 'trash' }) }, 'actions', 'at most one'],
  [
    'with a mailbox of no account',
    { ...good, actions: [action, { type: 'move', mailbox: 999 }] },
    'actions.1.mailbox',
    'exists',
  ],
  [
    'with a role that no mail is moved to',
    { ...good, actions: [{ type: 'move', mailbox: 'sent' }] },
    'actions.0.mailbox',
    'archive',
  ],
  [
    'with an assignee who is no member',
    { ...good, actions: [{ type: 'assign', userId: 3 }] },
    'actions.0.userId',
    'member',
  ],
  ['with an empty label', { ...good, actions: [{ type: 'addLabel', label: '' }] }, 'actions.0.label', '1 to '],
  [
    'with a label of mail servers',
    { ...good, actions: [{ type: 'addLabel', label: '\\Deleted' }] },
    'actions.0.label',
    'does not begin',
  ],
  ['with a reply without text', { ...good, actions: [{ type: 'reply' }] }, 'actions.0.text', '1 to 20000'],
  [
    'with a reply that is too long',
    { ...good, actions: [{ type: 'reply', text: 'x'.repeat(20_001) }] },
    'actions.0.text',
    '1 to 20000',
  ],
  [
    'with a subject that ends a header',
    { ...good, actions: [{ type: 'reply', subject: 'a\r\nBcc: x@y.example', text: 'x' }] },
    'actions.0.subject',
    'one line',
  ],
  [
    'with an unknown member of an action',
    { ...good, actions: [{ type: 'star', of: 'x' }] },
    'actions.0.of',
    'Remove it',
  ],
  ['without an account', { ...good, accountId: undefined }, 'accountId', 'id'],
  ['with other words than all and any', { ...good, matches: 'none' }, 'matches', ''],
];

const vacations: readonly (readonly [name: string, vacation: unknown, path: string, cure: string])[] = [
  ['a text', 'away', 'vacation', 'or null'],
  ['without text', { enabled: true }, 'vacation.text', '1 to 20000'],
  ['an end before the begin', { text: 'x', from: '2026-02-01', until: '2026-01-01' }, 'vacation.until', 'later'],
  ['a time that is none', { text: 'x', from: 'tomorrow' }, 'vacation.from', 'ISO 8601'],
  ['a subject that ends a header', { text: 'x', subject: 'a\nb' }, 'vacation.subject', 'one line'],
  ['an unknown member', { text: 'x', days: 3 }, 'vacation.days', 'Remove it'],
  ['a text as a flag', { text: 'x', enabled: 'yes' }, 'vacation.enabled', 'true or false'],
];

describeEngines('refusals of rules', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'bob@example.com' } });
    await server.data('POST /api/mailRules:create', { as: 'ann', body: good });
    const viewer = { email: 'vera@example.com', password: 'correct horse', roles: ['viewer'] };
    await server.data('POST /api/users:create', { body: viewer });
    server.tokens.set('vera', await server.signIn(viewer.email, viewer.password));
    await addRole('reader', [
      { resource: 'emails', actions: ['list', 'get', 'update'], exceptFields: ['content', 'starred'] },
    ]);
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 4, 5] } });
  });
  afterAll(() => server?.stop());

  async function addRole(name: string, permissions: readonly object[]): Promise<void> {
    await server.data('POST /api/roles:create', { body: { name } });
    const common = [
      { resource: 'mailRules', actions: ['list', 'get', 'create', 'update'] },
      { resource: 'accounts', actions: ['list', 'get', 'update'] },
    ];
    for (const each of [...common, ...permissions])
      await server.data('POST /api/permissions:create', { body: { role: name, ...each } });
    const user = { email: `${name}@example.com`, password: 'correct horse', roles: [name] };
    await server.data('POST /api/users:create', { body: user });
    server.tokens.set(name, await server.signIn(user.email, user.password));
  }

  describe('a rule is refused', () => {
    test.each(wrongBodies)('%s', async (name, body, path, cure) => {
      const details = { [path]: expect.stringContaining(cure) };
      const request = 'POST /api/mailRules:create';
      await server.play({
        name,
        request,
        as: 'ann',
        body,
        expect: { status: 422, code: 'VALUE_INVALID', body: { details } },
      });
    });
  });

  describe('a change of a rule is refused', () => {
    test.each(wrongBodies.filter(([, , path]) => path !== 'accountId'))(
      '%s',
      async (name, { accountId: _, name: __, ...body }: { accountId?: unknown; name?: unknown }, path, cure) => {
        const given = { ...body, ...('conditions' in body && body.conditions === undefined && { conditions: null }) };
        const details = { [path]: expect.stringContaining(cure) };
        const request = 'PATCH /api/mailRules/1';
        await server.play({
          name,
          request,
          as: 'ann',
          body: given,
          expect: { status: 422, code: 'VALUE_INVALID', body: { details } },
        });
      },
    );
  });

  describe('a vacation reply is refused', () => {
    test.each(vacations)('%s', async (name, vacation, path, cure) => {
      const details = { [path]: expect.stringContaining(cure) };
      const request = 'PATCH /api/accounts/1';
      await server.play({
        name,
        request,
        as: 'ann',
        body: { vacation },
        expect: { status: 422, code: 'VALUE_INVALID', body: { details } },
      });
    });
  });

  const scenarios: Scenario[] = [
    {
      name: 'nobody writes rules for an account of others',
      request: 'POST /api/mailRules:create',
      as: 'bob',
      body: good,
      expect: { status: 400, code: 'REFERENCE_MISSING', absent: ['shop@example.com'] },
    },
    {
      name: 'nobody sees rules of an account of others, not even an administrator',
      request: 'GET /api/mailRules/1',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'nobody changes rules of an account of others',
      request: 'PATCH /api/mailRules/1',
      as: 'bob',
      body: { actions: [{ type: 'move', mailbox: 1 }] },
      expect: { status: 403, code: 'NO_PERMISSION', absent: ['mailbox of the account'] },
    },
    {
      name: 'nobody destroys rules of an account of others',
      request: 'DELETE /api/mailRules/1',
      as: 'bob',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'nobody tries rules of an account of others',
      request: 'POST /api/mailRules:try',
      as: 'bob',
      body: { id: 1 },
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'nobody tries a rule of their own on an account of others',
      request: 'POST /api/mailRules:try',
      as: 'bob',
      body: { account: 1, rule: { conditions: [condition], actions: [action] } },
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'nobody applies rules of an account of others',
      request: 'POST /api/mailRules:apply',
      as: 'bob',
      body: { id: 1 },
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'a rule does not move into a mailbox of another account',
      request: 'POST /api/mailRules:create',
      as: 'bob',
      body: { ...good, accountId: 2, actions: [{ type: 'assign', userId: 2 }] },
      expect: {
        status: 422,
        code: 'VALUE_INVALID',
        body: { details: { 'actions.0.userId': expect.stringContaining('member') } },
      },
    },
    {
      name: 'the account of a rule does not change',
      request: 'PATCH /api/mailRules/1',
      as: 'ann',
      body: { accountId: 2 },
      expect: { status: 403, code: 'SYSTEM_PROTECTED' },
    },
    {
      name: 'a viewer writes no rules',
      request: 'POST /api/mailRules:create',
      as: 'vera',
      body: good,
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'a rule may not look at a field that its author may not read',
      request: 'POST /api/mailRules:create',
      as: 'reader',
      body: { ...good, conditions: [{ field: 'body', operator: 'contains', value: 'secret' }] },
      expect: {
        status: 403,
        code: 'FIELD_DENIED',
        body: { details: { 'conditions.0.field': 'The role may not read "content" of emails.' } },
      },
    },
    {
      name: 'a rule may not change a field that its author may not change',
      request: 'POST /api/mailRules:create',
      as: 'reader',
      body: good,
      expect: {
        status: 403,
        code: 'FIELD_DENIED',
        body: { details: { 'actions.0.type': 'The role may not write "starred" of emails.' } },
      },
    },
    {
      name: 'a rule may not write messages where its author may not',
      request: 'POST /api/mailRules:create',
      as: 'reader',
      body: { ...good, actions: [{ type: 'reply', text: 'x' }] },
      expect: { status: 403, code: 'FIELD_DENIED' },
    },
    {
      name: 'a vacation reply may not write messages where its author may not',
      request: 'PATCH /api/accounts/1',
      as: 'reader',
      body: { vacation: { enabled: true, text: 'x' } },
      expect: { status: 403, code: 'FIELD_DENIED' },
    },
    {
      name: 'trying a rule does not reveal a field that the caller may not read',
      request: 'POST /api/mailRules:try',
      as: 'reader',
      body: {
        account: 1,
        rule: { conditions: [{ field: 'body', operator: 'contains', value: 'a' }], actions: [action] },
      },
      expect: { status: 403, code: 'FIELD_DENIED' },
    },
    {
      name: 'applying a rule needs the permissions of its actions',
      request: 'POST /api/mailRules:apply',
      as: 'reader',
      body: { id: 1 },
      expect: { status: 403, code: 'FIELD_DENIED' },
    },
    {
      name: 'a try names a rule or gives one',
      request: 'POST /api/mailRules:try',
      as: 'ann',
      body: { account: 1 },
      expect: { status: 400, code: 'TARGET_MISSING' },
    },
    {
      name: 'a try looks at a bounded number of e-mails',
      request: 'POST /api/mailRules:try',
      as: 'ann',
      body: { id: 1, limit: 201 },
      expect: { status: 422, code: 'VALUE_INVALID', body: { details: { limit: expect.stringContaining('1 to 200') } } },
    },
    {
      name: 'the conditions of a rule that is tried are checked',
      request: 'POST /api/mailRules:try',
      as: 'ann',
      body: { account: 1, rule: { conditions: [{}], actions: [{ type: 'x' }] } },
      expect: {
        status: 422,
        code: 'VALUE_INVALID',
        body: { details: { 'conditions.0.field': expect.any(String), 'actions.0.type': expect.any(String) } },
      },
    },
    {
      name: 'a rule that does not exist is not applied',
      request: 'POST /api/mailRules:apply',
      as: 'ann',
      body: { id: 999 },
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'a webhook cannot subscribe to an event that e-mails do not have',
      request: 'POST /api/webhooks:create',
      body: { url: 'https://example.com/hook', events: ['emails.ruleApplied'], role: 'viewer' },
      expect: {
        status: 422,
        code: 'DEFINITION_INVALID',
        body: { details: { events: expect.stringContaining('ruleMatched') } },
      },
    },
    {
      name: 'other collections have no event of rules',
      request: 'POST /api/webhooks:create',
      body: { url: 'https://example.com/hook', events: ['mailboxes.ruleMatched'], role: 'viewer' },
      expect: {
        status: 422,
        code: 'DEFINITION_INVALID',
        body: { details: { events: expect.stringContaining('ruleMatched') } },
      },
    },
  ];
  test.each(scenarios)('$name', async (scenario) => {
    await server.play(scenario);
  });

  test('values that the server sets are ignored', async () => {
    const body = { ...good, name: 'Ignored', ownerId: 3, role: 'admin', problem: 'x' };
    const { id } = await server.data('POST /api/mailRules:create', { as: 'ann', body });
    expect(await server.data(`GET /api/mailRules/${id}`, { as: 'ann' })).toMatchObject({
      ownerId: 2,
      role: 'editor',
      problem: null,
    });
  });

  test('an account has at most 200 rules', async () => {
    const rules = list(200, { ...good, accountId: 2 });
    await server.data('POST /api/mailRules:create', { as: 'bob', body: rules.slice(0, 200) });
    await server.play({
      name: 'an account gets no rule beyond its 200 rules',
      request: 'POST /api/mailRules:create',
      as: 'bob',
      body: { ...good, accountId: 2 },
      expect: { status: 422, code: 'VALUE_INVALID', body: { details: { accountId: expect.stringContaining('200') } } },
    });
  });
});
