import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { deliverRawMail, storeArrival } from '../support/mail-arrivals.ts';
import { readOutbox } from '../support/mail-compose-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const from = (address: string): object => ({ field: 'from', operator: 'is', value: address });
const letter = (subject: string, sender = 'cora@example.net', more: object = {}): string =>
  makeRawMail({ subject, from: `Cora <${sender}>`, id: `${subject.replaceAll(' ', '')}@example.net`, ...more });

describeEngines('rules for arriving mail', (engine) => {
  let server: TestServer;
  let receiver: WebhookReceiver;
  const mailboxes: Record<string, number> = {};
  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    server = await startMailAccountServer(engine, { OUTBOUND_ALLOW: '127.0.0.1' });
    for (const path of ['Later', 'Bills']) {
      const body = { accountId: 1, path };
      mailboxes[path] = (await server.data('POST /api/mailboxes:create', { as: 'ann', body })).id;
    }
    await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'bob@example.com' } });
  });
  afterAll(async () => {
    await server?.stop();
    await receiver?.stop();
  });

  const createRule = (body: object, as = 'ann'): Promise<Json> =>
    server.data('POST /api/mailRules:create', { as, body: { accountId: 1, name: 'A rule', ...body } });
  const readEmail = (id: number, as = 'ann'): Promise<Json> => server.data(`GET /api/emails/${id}`, { as });
  const readRuleProblem = async (id: number): Promise<unknown> =>
    (await server.data(`GET /api/mailRules/${id}`, { as: 'ann' })).problem;
  const countArrivals = async (): Promise<number> => {
    const { database } = server.running.applications.main;
    const [rows] = await database.read([{ text: 'SELECT count(*) FROM "mailArrivals"', values: [] }]);
    return Number(rows?.[0]?.[0]);
  };

  test('star, mark as read and move a message that arrives', async () => {
    const rule = await createRule({
      conditions: [from('one@example.net')],
      actions: [{ type: 'star' }, { type: 'markRead' }, { type: 'move', mailbox: mailboxes['Later'] }],
    });
    expect(rule).toMatchObject({ enabled: true, matches: 'all', stop: false, position: 1 });
    const id = await deliverRawMail(server, letter('First', 'one@example.net'));
    expect(await readEmail(id)).toMatchObject({
      read: true,
      starred: true,
      folder: 'Later',
      mailboxId: mailboxes['Later'],
    });
    expect(await countArrivals()).toBe(0);
    expect(await readOutbox(server)).toEqual([]);
  });

  test('apply neither to imported mail nor to mail that no rule matches', async () => {
    await upload(server, 'ann', 1, letter('Imported', 'one@example.net'));
    const [imported] = await server.data('GET /api/emails?search=Imported', { as: 'ann' });
    expect(imported).toMatchObject({ starred: false, folder: 'inbox' });
    const id = await deliverRawMail(server, letter('Other', 'other@example.net'));
    expect(await readEmail(id)).toMatchObject({ starred: false, read: false, folder: 'inbox' });
  });

  test('apply in the order of their positions; "stop" ends, and a later move replaces an earlier one', async () => {
    const conditions = [from('order@example.net')];
    const last = await createRule({ name: 'last', conditions, actions: [{ type: 'markRead' }] });
    const first = await createRule({
      name: 'first',
      conditions,
      actions: [{ type: 'move', mailbox: mailboxes['Later'] }],
    });
    const second = await createRule({
      name: 'second',
      conditions,
      stop: true,
      actions: [{ type: 'move', mailbox: 'trash' }],
    });
    expect([last.position, first.position, second.position]).toEqual([2, 3, 4]);
    await server.data(`POST /api/mailRules:move?sourceId=${last.id}&targetId=${second.id}&sortField=position`, {
      as: 'ann',
    });
    const sorted = await server.data('GET /api/mailRules:list?sort=position&fields=id', { as: 'ann' });
    expect(sorted.slice(1).map(({ id }: Json) => id)).toEqual([first.id, second.id, last.id]);
    const id = await deliverRawMail(server, letter('Order', 'order@example.net'));
    expect(await readEmail(id)).toMatchObject({ folder: 'trash', read: false });
    const history = await server.data(`GET /api/emails:history?filterByTk=${id}`, { as: 'ann' });
    expect(history).toHaveLength(1);
  });

  test('match any condition, negated ones too, and not while they are disabled', async () => {
    const isMarked = { field: 'header', header: 'X-Any', operator: 'is', value: 'yes' };
    const rule = await createRule({
      name: 'any',
      matches: 'any',
      conditions: [from('nobody@example.net'), isMarked],
      actions: [{ type: 'star' }],
    });
    const hasNoMark = { ...isMarked, negate: true };
    const conditions = [from('any@example.net'), hasNoMark];
    await createRule({ name: 'negated', conditions, actions: [{ type: 'markRead' }] });
    const headers = ['X-Any: YES'];
    const one = await deliverRawMail(server, letter('Any one', 'any@example.net', { headers }));
    expect(await readEmail(one)).toMatchObject({ starred: true, read: false });
    const unmarked = await deliverRawMail(server, letter('Any unmarked', 'any@example.net'));
    expect(await readEmail(unmarked)).toMatchObject({ starred: false, read: true });
    await server.data(`PATCH /api/mailRules/${rule.id}`, { as: 'ann', body: { enabled: false } });
    const two = await deliverRawMail(server, letter('Any two', 'any@example.net', { headers }));
    expect(await readEmail(two)).toMatchObject({ starred: false });
  });

  test('add and remove labels, each rule after the ones before it', async () => {
    const conditions = [from('label@example.net')];
    const ids: number[] = [];
    for (const actions of [
      [
        { type: 'addLabel', label: 'Bills' },
        { type: 'addLabel', label: 'Urgent' },
      ],
      [
        { type: 'removeLabel', label: 'Urgent' },
        { type: 'addLabel', label: '2026' },
      ],
    ])
      ids.push((await createRule({ conditions, actions })).id);
    const id = await deliverRawMail(server, letter('Label', 'label@example.net'));
    expect(await readEmail(id)).toMatchObject({ labels: ['2026', 'Bills'] });
    const tried = await server.data('POST /api/mailRules:try', { as: 'ann', body: { id: ids[0] } });
    expect(tried.emails).toMatchObject([{ id, effects: [{ type: 'addLabel', label: 'Urgent' }] }]);
  });

  test('assign the conversation to a member of the account', async () => {
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 3] } });
    await createRule({ conditions: [from('assign@example.net')], actions: [{ type: 'assign', userId: 3 }] });
    const id = await deliverRawMail(server, letter('Assign', 'assign@example.net'));
    const { conversationId } = await readEmail(id);
    const conversation = await server.data(`GET /api/conversations/${conversationId}`, { as: 'ann' });
    expect(conversation).toMatchObject({ assigneeId: 3 });
  });

  test('send webhooks an event that names the rule and contains nothing of the e-mail', async () => {
    const body = { url: receiver.url('/rules'), events: ['emails.ruleMatched'], role: 'viewer' };
    await server.data('POST /api/webhooks:create', { body });
    const all = { url: receiver.url('/all'), events: ['emails.*'], role: 'viewer' };
    await server.data('POST /api/webhooks:create', { body: all });
    const rule = await createRule({
      name: 'Secret orders',
      conditions: [from('hook@example.net')],
      actions: [{ type: 'webhook' }],
    });
    const id = await deliverRawMail(server, letter('Secret subject', 'hook@example.net'));
    for (const path of ['/rules', '/all']) {
      const [message] = await receiver.messages(path, 1);
      expect(message?.body).toEqual({
        type: 'emails.ruleMatched',
        timestamp: expect.any(String),
        data: {
          application: 'main',
          resource: 'emails',
          tk: String(id),
          actor: 'user:2',
          changed: [],
          payload: { rule: { id: rule.id, name: 'Secret orders' }, accountId: 1 },
        },
      });
    }
    const events = await server.data('GET /api/changes:list?resource=emails&pageSize=1000', { as: 'ann' });
    expect(events.map(({ name }: Json) => name)).toContain('emails.ruleMatched');
    // An administrator who is no member of the account is not notified of its mail.
    const others = await server.data('GET /api/changes:list?resource=emails&pageSize=1000');
    expect(others.map(({ name }: Json) => name)).not.toContain('emails.ruleMatched');
  });

  test('a webhook whose role has a row filter on emails gets no event of a rule', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'filtered' } });
    const permission = { role: 'filtered', resource: 'emails', actions: ['view'], filter: { read: true } };
    await server.data('POST /api/permissions:create', { body: permission });
    const body = { url: receiver.url('/filtered'), events: ['emails.ruleMatched'], role: 'filtered' };
    const { id } = await server.data('POST /api/webhooks:create', { body });
    await deliverRawMail(server, letter('Filtered', 'hook@example.net'));
    const readStatuses = async (): Promise<string[]> =>
      (await server.data(`GET /api/webhooks/${id}/deliveries:list`)).map((each: Json) => each.status);
    await expect.poll(readStatuses).toEqual(['skipped']);
  });

  test('a rule whose mailbox was destroyed says so, and the other rules are applied', async () => {
    const conditions = [from('gone@example.net')];
    const path = { accountId: 1, path: 'Gone' };
    const gone = await server.data('POST /api/mailboxes:create', { as: 'ann', body: path });
    const broken = await createRule({
      conditions,
      stop: true,
      actions: [{ type: 'markRead' }, { type: 'move', mailbox: gone.id }],
    });
    await createRule({ conditions, actions: [{ type: 'star' }] });
    await server.data(`POST /api/mailboxes:destroy?filterByTk=${gone.id}`, { as: 'ann' });
    const id = await deliverRawMail(server, letter('Gone', 'gone@example.net'));
    expect(await readEmail(id)).toMatchObject({ read: false, starred: true, folder: 'inbox' });
    expect(await readRuleProblem(broken.id)).toBe('actions.1.mailbox: Name a mailbox of the account that exists.');
    await server.data(`PATCH /api/mailRules/${broken.id}`, { as: 'ann', body: { actions: [{ type: 'markRead' }] } });
    expect(await readRuleProblem(broken.id)).toBeNull();
  });

  test('a rule acts as the user who last changed it, and does nothing once that user has no permission', async () => {
    const conditions = [from('owner@example.net')];
    const rule = await createRule({ conditions, actions: [{ type: 'star' }] }, 'bob');
    expect(await server.data(`GET /api/mailRules/${rule.id}`, { as: 'ann' })).toMatchObject({ ownerId: 3 });
    const first = await deliverRawMail(server, letter('Owner one', 'owner@example.net'));
    expect(await readEmail(first)).toMatchObject({ starred: true });
    await server.data('PATCH /api/accounts/1', { body: { members: [2] } });
    const second = await deliverRawMail(server, letter('Owner two', 'owner@example.net'));
    expect(await readEmail(second)).toMatchObject({ starred: false });
    expect(await readRuleProblem(rule.id)).toContain('no longer a member');
    await server.data(`PATCH /api/mailRules/${rule.id}`, { as: 'ann', body: { enabled: true } });
    const third = await deliverRawMail(server, letter('Owner three', 'owner@example.net'));
    expect(await readEmail(third)).toMatchObject({ starred: true });
    expect(await server.data(`GET /api/mailRules/${rule.id}`, { as: 'ann' })).toMatchObject({
      ownerId: 2,
      problem: null,
    });
  });

  test('a rule loses its effect with the permission of its role', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'sorter' } });
    const permissions = [
      { resource: 'emails', actions: ['list', 'get', 'update'] },
      { resource: 'mailRules', actions: ['list', 'get', 'create', 'update'] },
      { resource: 'accounts', actions: ['get'] },
    ];
    const ids: number[] = [];
    for (const each of permissions)
      ids.push((await server.data('POST /api/permissions:create', { body: { role: 'sorter', ...each } })).id);
    const user = { email: 'sam@example.com', password: 'correct horse', roles: ['sorter'] };
    const sam = await server.data('POST /api/users:create', { body: user });
    server.tokens.set('sam', await server.signIn(user.email, user.password));
    await server.data('PATCH /api/accounts/1', { body: { members: [2, sam.id] } });
    const conditions = [from('sorter@example.net')];
    const rule = await createRule({ conditions, actions: [{ type: 'star' }] }, 'sam');
    await server.data(`POST /api/permissions:update?filterByTk=${ids[0]}`, { body: { actions: ['list', 'get'] } });
    const id = await deliverRawMail(server, letter('Sorter', 'sorter@example.net'));
    expect(await readEmail(id)).toMatchObject({ starred: false });
    expect(await readRuleProblem(rule.id)).toBe('actions.0.type: The role may not update emails.');
  });

  test('rules are applied once, after the next start, to e-mails that were waiting when the server stopped', async () => {
    await createRule({ conditions: [from('restart@example.net')], actions: [{ type: 'star' }, { type: 'webhook' }] });
    await server.running.applications.main.mail.automation.end();
    const id = await storeArrival(server, letter('Restart', 'restart@example.net'));
    expect(await countArrivals()).toBe(1);
    expect(await readEmail(id)).toMatchObject({ starred: false });
    await server.running.stop();
    await server.boot();
    for (const name of ['ann', 'bob'])
      server.tokens.set(name, await server.signIn(`${name}@example.com`, 'correct horse'));
    await expect.poll(countArrivals).toBe(0);
    expect(await readEmail(id)).toMatchObject({ starred: true });
    const findMatched = async (): Promise<Json[]> => {
      const events = await server.data('GET /api/changes:list?resource=emails&pageSize=1000', { as: 'ann' });
      return events.filter(({ name, tk }: Json) => name === 'emails.ruleMatched' && tk === String(id));
    };
    // On PostgreSQL an event is visible when all earlier transactions have ended.
    await expect.poll(findMatched).toHaveLength(1);
  });
});
