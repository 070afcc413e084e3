/** `contacts:merge`: several contacts become one, with the addresses and groups of all of them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import type { Reply, TestServer } from '../support/scenario.ts';

/** Ann (2) owns the account 1 and Bob (3) the account 2. Each test has contacts of its own. */
describeEngines('merging contacts', (engine) => {
  let server: TestServer;
  let people = 0;

  const list = (as = 'ann'): Promise<Json[]> => server.data('GET /api/contacts?sort=id&pageSize=500', { as });
  const get = (id: number): Promise<Json> => server.data(`GET /api/contacts/${id}?appends=groups`, { as: 'ann' });
  const patch = (id: number, body: object): Promise<Reply> =>
    server.call(`PATCH /api/contacts/${id}`, { as: 'ann', body });
  const merge = (body: object, as = 'ann', query = ''): Promise<Reply> =>
    server.call(`POST /api/contacts:merge${query}`, { as, body });
  const merged = async (body: object): Promise<Json> => {
    const reply = await merge(body);
    expect(reply.status, reply.text).toBe(200);
    return reply.body.data;
  };
  /** A new contact with an address of its own. */
  const add = async (values: object = {}, as = 'ann'): Promise<Json> => {
    people += 1;
    return server.data('POST /api/contacts', { as, body: { address: `person${people}@example.net`, ...values } });
  };
  const addGroup = (name: string, members: readonly number[], as = 'ann'): Promise<Json> =>
    server.data('POST /api/contactGroups', { as, body: { name, members } });
  const send = (to: string): Promise<Json> =>
    server.data('POST /api/emails:send', { as: 'ann', body: { account: 1, to, subject: 'Hello', text: 'Hello.' } });
  /** Creates a user in a role with the permissions, and makes the user a member of account 1. */
  const addMember = async (name: string, permissions: readonly object[]): Promise<void> => {
    await server.data('POST /api/roles:create', { body: { name } });
    for (const permission of permissions)
      await server.data('POST /api/permissions:create', { body: { role: name, ...permission } });
    const email = `${name}@example.com`;
    const { id } = await server.data('POST /api/users:create', {
      body: { email, password: 'correct horse', roles: [name] },
    });
    server.tokens.set(name, await server.signIn(email, 'correct horse'));
    const { members } = await server.data('GET /api/accounts/1?appends=members', { as: 'admin' });
    await server.data('PATCH /api/accounts/1', {
      body: { members: [...members.map((each: Json) => each.id), id] },
    });
  };

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    await server.data('POST /api/accounts:create', { as: 'bob', body: { name: 'Bob', address: 'bob@example.com' } });
  });
  afterAll(() => server.stop());

  test('joins texts, addresses and groups, and reports what has changed', async () => {
    const ann = await add({ name: 'Cora Lind', notes: 'Calls on Mondays' });
    const work = await add({ name: 'C. Lind', company: 'Lind Ltd', phone: '1', notes: 'Pays late' });
    const old = await add({ company: 'Holm Ltd', phone: '2', notes: 'Pays late' });
    await addGroup('Board', [ann.id, work.id]);
    await addGroup('Customers', [old.id]);
    const result = await merged({ id: ann.id, others: [work.id, old.id] });
    expect(result).toMatchObject({
      id: ann.id,
      name: 'Cora Lind',
      company: 'Lind Ltd',
      phone: '1',
      notes: 'Calls on Mondays\n\nPays late',
      address: ann.address,
      otherAddresses: [work.address, old.address].sort(),
    });
    const { groups } = await get(ann.id);
    expect(groups.map(({ name }: Json) => name).sort()).toEqual(['Board', 'Customers']);
    expect((await list()).map(({ id }) => id)).not.toEqual(expect.arrayContaining([work.id]));
    await expect
      .poll(async () => {
        const events = await server.data('GET /api/changes:list?resource=contacts&pageSize=500', { as: 'ann' });
        return events.flatMap(({ name, tk, tks }: Json) => (tks ?? [tk]).map((key: number) => `${name} ${key}`));
      })
      .toContain(`contacts.updated ${ann.id}`);
    // The merged contact is merged into another one, which gets the addresses of both.
    const last = await add();
    expect((await merged({ id: last.id, others: [ann.id] })).otherAddresses).toEqual(
      [ann.address, work.address, old.address].sort(),
    );
  });

  test('takes the given texts instead of those of the contacts', async () => {
    const [one, other] = [await add({ name: 'One', phone: '1' }), await add({ name: 'Other', company: 'Other Ltd' })];
    const values = { name: 'Other', company: null };
    expect(await merged({ id: one.id, others: [other.id], values })).toMatchObject({
      ...{ name: 'Other', company: null, phone: '1', notes: null, automatic: false },
    });
  });

  test('a merged address does not come back, neither by mail nor by hand, until it is removed', async () => {
    const [one, other] = [await add(), await add()];
    await merged({ id: one.id, others: [other.id] });
    await send(other.address);
    expect((await list()).map(({ address }) => address)).not.toContain(other.address);
    const created = await server.call('POST /api/contacts', { as: 'ann', body: { address: other.address } });
    expect([created.status, created.text]).toEqual([409, expect.stringContaining(`contact ${one.id}`)]);
    const third = await add();
    expect((await patch(third.id, { address: other.address })).status).toBe(409);
    expect((await get(third.id)).address).toBe(third.address);
    const added = await patch(one.id, { otherAddresses: [other.address, 'new@example.net'] });
    expect([added.status, added.text]).toEqual([422, expect.stringContaining('contacts:merge')]);
    expect((await patch(one.id, { otherAddresses: [] })).body.data.otherAddresses).toEqual([]);
    await send(other.address);
    expect((await list()).map(({ address }) => address)).toContain(other.address);
  });

  test('the addresses of a destroyed contact are free again', async () => {
    const [one, other] = [await add(), await add()];
    await merged({ id: one.id, others: [other.id] });
    await server.data(`DELETE /api/contacts/${one.id}`, { as: 'ann' });
    expect((await add({ address: other.address })).address).toBe(other.address);
    await send(one.address);
    expect((await list()).map(({ address }) => address)).toContain(one.address);
  });

  test('a dry run changes nothing', async () => {
    const [one, other] = [await add(), await add({ name: 'Other' })];
    const reply = await merge({ id: one.id, others: [other.id] }, 'ann', '?dryRun=true');
    expect([reply.status, reply.body.data.name]).toEqual([200, 'Other']);
    expect([(await get(one.id)).name, (await get(other.id)).name]).toEqual(['', 'Other']);
  });

  test('wrong requests are refused, and change nothing', async () => {
    const [one, other, ofBob] = [await add(), await add(), await add({}, 'bob')];
    const before = await list();
    for (const [body, text] of [
      [{ others: [other.id] }, 'id: '],
      [{ id: one.id }, 'others: '],
      [{ id: one.id, others: [] }, 'others: '],
      [{ id: one.id, others: 'x' }, 'others: '],
      [{ id: one.id, others: [one.id] }, 'others: '],
      [{ id: one.id, others: [other.id, other.id] }, 'others: '],
      [{ id: one.id, others: Array.from({ length: 51 }, (_, index) => index + 1) }, 'others: '],
      [{ id: one.id, others: [other.id, 9_999_999] }, '9999999'],
      [{ id: one.id, others: [ofBob.id] }, `contact ${ofBob.id}`],
      [{ id: one.id, others: [other.id], values: { address: 'x@example.net' } }, 'values: '],
      [{ id: one.id, others: [other.id], values: { name: 'Two\nlines' } }, 'name: '],
      [{ id: one.id, others: [other.id], more: 1 }, 'more'],
    ] as const) {
      const reply = await merge(body);
      expect(reply.status, JSON.stringify(body)).toBeGreaterThanOrEqual(400);
      expect(reply.status).toBeLessThan(500);
      expect(reply.text).toContain(text);
    }
    expect(await list()).toEqual(before);
  });

  test('contacts of different accounts are not merged', async () => {
    await server.data('PATCH /api/accounts/2', { body: { members: [2, 3] } });
    const [one, other] = [await add({ accountId: 1 }), await add({ accountId: 2 })];
    const reply = await merge({ id: one.id, others: [other.id] });
    expect([reply.status, reply.text]).toEqual([422, expect.stringContaining('same account')]);
    await server.data('PATCH /api/accounts/2', { body: { members: [3] } });
  });

  test('one of two merges at the same time wins, and nothing is lost', async () => {
    const [one, two, three] = [await add(), await add(), await add()];
    const replies = await Promise.all([
      merge({ id: one.id, others: [two.id, three.id] }),
      merge({ id: two.id, others: [one.id, three.id] }),
    ]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400]);
    const left = (await list()).filter(({ id }) => [one.id, two.id, three.id].includes(id));
    expect(left.map(({ address, otherAddresses }) => [address, ...otherAddresses].sort())).toEqual([
      [one.address, two.address, three.address].sort(),
    ]);
  });

  test('requires the permissions and fields of its writes, and access to all groups', async () => {
    const accounts = { resource: 'accounts', actions: ['list', 'get'] };
    const all = { actions: ['list', 'get', 'create', 'update', 'destroy'] };
    await addMember('reader', [accounts, { resource: 'contacts', actions: ['list', 'get', 'update'] }]);
    await addMember('narrow', [accounts, { resource: 'contacts', ...all, filter: { company: 'Ours' } }]);
    await addMember('partly', [accounts, { resource: 'contacts', ...all, exceptFields: ['phone'] }]);
    await addMember('grouper', [
      accounts,
      { resource: 'contacts', ...all },
      { resource: 'contactGroups', actions: ['list', 'get', 'update'], filter: { name: { $ne: 'Secret' } } },
    ]);
    const ours = { accountId: 1, company: 'Ours' };
    const [one, other, theirs] = [await add(ours), await add({ ...ours, phone: '7' }), await add({ accountId: 1 })];
    const body = { id: one.id, others: [other.id] };
    expect((await merge(body, 'reader')).status).toBe(403);
    expect((await merge({ id: one.id, others: [theirs.id] }, 'narrow')).status).toBe(400);
    expect((await merge({ ...body, values: { phone: '1' } }, 'partly')).status).toBe(403);
    const secret = await addGroup('Secret', [other.id]);
    expect((await merge(body, 'grouper')).status).toBe(403);
    expect((await merge(body, 'partly')).status).toBe(403);
    expect(await get(other.id)).toMatchObject({ phone: '7', groups: [{ name: 'Secret' }] });
    await server.data(`DELETE /api/contactGroups/${secret.id}`, { as: 'ann' });
    await addGroup('Open', [other.id]);
    expect((await merge(body, 'grouper')).status).toBe(200);
    expect(await get(one.id)).toMatchObject({ phone: '7', groups: [{ name: 'Open' }] });
  });
});
