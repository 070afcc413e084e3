/** Labels of conversations: those of their e-mails, in lists, searches and reports. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

const strange = 'Größe "50%" \\ 日本';

describeEngines('labels of conversations', (engine) => {
  let server: TestServer;
  const receive = async (id: string, more: object = {}): Promise<number> => {
    const raw = makeRawMail({ id: `${id}@example.net`, subject: `Subject of ${id}`, ...more });
    return (await upload(server, 'ann', 1, raw)).ids[0]!;
  };
  const list = async (query: string, resource = 'conversations', as = 'ann'): Promise<Json[]> =>
    server.data(`GET /api/${resource}?${query}`, { as });
  const search = (words: string, resource?: string): Promise<Json[]> =>
    list(`search=${encodeURIComponent(words)}`, resource);
  const ids = (rows: readonly Json[]): number[] => rows.map(({ id }) => id).sort((one, other) => one - other);
  const setLabels = (id: number, labels: unknown): Promise<Json> =>
    server.data(`PATCH /api/emails/${id}`, { as: 'ann', body: { labels } });
  const emails: number[] = [];
  const conversations: number[] = [];

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    for (const id of ['one', 'two', 'three']) emails.push(await receive(id));
    emails.push(await receive('answer', { subject: 'Re: Subject of one', references: ['one@example.net'] }));
    await setLabels(emails[0]!, ['Invoices', 'Zoo']);
    await setLabels(emails[3]!, ['Invoices', 'Bills']);
    await setLabels(emails[1]!, [strange, 'Zoo']);
    for (const id of emails)
      conversations.push((await server.data(`GET /api/emails/${id}`, { as: 'ann' })).conversationId);
  });
  afterAll(() => server.stop());

  test('are those of the e-mails, each once, or null if there are none', async () => {
    const rows = await list('sort=id&fields=id,labels');
    expect(rows.map(({ labels }) => labels)).toEqual([['Bills', 'Invoices', 'Zoo'], [strange, 'Zoo'], null]);
  });

  test('restrict lists and searches of conversations and e-mails', async () => {
    expect(ids(await list('label=Invoices'))).toEqual([conversations[0]]);
    expect(ids(await search('label:Zoo'))).toEqual([conversations[0], conversations[1]]);
    expect(ids(await search('-label:Invoices'))).toEqual([conversations[1], conversations[2]]);
    expect(ids(await search('label:Zoo -label:Bills subject:two'))).toEqual([conversations[1]]);
    expect(ids(await list(`label=${encodeURIComponent(strange)}`))).toEqual([conversations[1]]);
    expect(ids(await search('label:Invo'))).toEqual([]);
    expect(ids(await search('label:Invoices', 'emails'))).toEqual([emails[0]!, emails[3]!].sort((a, b) => a - b));
    expect(ids(await list('filter={"labels":{"$anyOf":["Bills"]}}', 'emails'))).toEqual([emails[3]]);
    expect(await list('label=Zoo', 'conversations', 'bob')).toEqual([]);
  });

  test('are counted and reported by a query, under the visibility of mail', async () => {
    const body = {
      dimensions: ['labels'],
      measures: [{ aggregation: 'count' }],
      filter: { labels: { $notEmpty: true } },
    };
    const query = (as: string): Promise<Json> => server.data('POST /api/conversations:query', { as, body });
    expect(await query('ann')).toEqual([
      { labels: 'Bills', count: 1 },
      { labels: strange, count: 1 },
      { labels: 'Invoices', count: 1 },
      { labels: 'Zoo', count: 2 },
    ]);
    expect(await query('bob')).toEqual([]);
  });

  test('follow a change, the trash and a rebuild; a role without the field cannot search it', async () => {
    const labels = async (): Promise<unknown> => (await list(`filterByTk=${conversations[0]}`))[0]?.labels;
    await server.data('POST /api/emails:batchUpdate', { as: 'ann', body: { ids: [emails[0]], labels: ['New'] } });
    expect(await labels()).toEqual(['Bills', 'Invoices', 'New']);
    await server.data(`POST /api/emails:destroy?filterByTk=${emails[3]}`, { as: 'ann' });
    expect(await labels()).toEqual(['New']);
    await setLabels(emails[0]!, null);
    expect(await labels()).toBeNull();
    expect(await server.data('POST /api/accounts:rethread?filterByTk=1', { as: 'ann' })).toMatchObject({ changed: 0 });
    await server.data('POST /api/roles:create', { body: { name: 'blind', title: 'Blind' } });
    await server.data('POST /api/permissions:create', {
      body: { role: 'blind', resource: 'conversations', actions: ['list'], exceptFields: ['labels'] },
    });
    const cora = { email: 'cora@example.com', password: 'correct horse', roles: ['blind'] };
    await server.data('POST /api/users:create', { body: cora });
    server.tokens.set('cora', await server.signIn(cora.email, cora.password));
    await server.play({
      name: 'a list by label is denied to a role that may not read labels',
      request: 'GET /api/conversations?label=New',
      as: 'cora',
      expect: { status: 403, code: 'FIELD_DENIED' },
    });
  });
});
