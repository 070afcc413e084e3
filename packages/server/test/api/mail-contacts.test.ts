/** Contacts are filled from mail and by hand, and only members of their account see them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { Reply, TestServer } from '../support/scenario.ts';

/** Ann (2) owns the account 1 and Bob (3) the account 2. */
describeEngines('contacts', (engine) => {
  let server: TestServer;

  const list = (as = 'ann', more = ''): Promise<Json[]> =>
    server.data(`GET /api/contacts?sort=address&pageSize=200${more}`, { as });
  const addresses = async (as = 'ann'): Promise<string[]> => (await list(as)).map(({ address }) => address);
  const find = async (address: string, as = 'ann'): Promise<Json> =>
    (await list(as)).find((each) => each.address === address);
  const create = (body: object, as = 'ann'): Promise<Reply> => server.call('POST /api/contacts', { as, body });
  const send = (body: object, as = 'ann'): Promise<Json> =>
    server.data('POST /api/emails:send', { as, body: { account: 1, subject: 'Hello', text: 'Hello.', ...body } });
  const sentMail = (more: Parameters<typeof makeRawMail>[0]): string =>
    makeRawMail({ from: 'Shop <shop@example.com>', ...more });
  const uploadSent = (raw: string): Promise<unknown> =>
    upload(server, 'ann', 1, raw, 'message/rfc822', '&mailbox=Sent');
  const run = async (text: string): Promise<void> => {
    await server.running.applications.main.database.write((transaction) => transaction.run({ text, values: [] }));
  };

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    await server.data('POST /api/accounts:create', { as: 'bob', body: { name: 'Bob', address: 'bob@example.com' } });
    await server.data('POST /api/mailboxes', { as: 'ann', body: { accountId: 1, path: 'Sent', role: 'sent' } });
  });
  afterAll(() => server.stop());

  test('are created once for everyone to whom a user writes, with an event', async () => {
    const people = ['Cora Lind <Cora@Example.net>', 'dan@example.net'];
    const parse = (text: string): object =>
      text.includes('<') ? { name: 'Cora Lind', address: 'Cora@Example.net' } : { address: text };
    await send({ to: people.map(parse), bcc: 'eve@example.net', cc: 'shop@example.com' });
    await send({ to: 'CORA@example.net' });
    expect(
      (await list()).map(({ name, address, automatic, accountId }) => [name, address, automatic, accountId]),
    ).toEqual([
      ['Cora Lind', 'cora@example.net', true, 1],
      ['', 'dan@example.net', true, 1],
      ['', 'eve@example.net', true, 1],
    ]);
    // On PostgreSQL, an event can be read when all older transactions have ended.
    await expect
      .poll(async () => {
        const events = await server.data('GET /api/changes:list?resource=contacts', { as: 'ann' });
        return events.map(({ name }: Json) => name);
      })
      .toEqual(Array.from({ length: 3 }, () => 'contacts.created'));
  });

  test('are created for senders who were answered, not for newsletters and programs', async () => {
    const mail = [
      { from: 'Fay Moor <fay@example.net>', id: 'fay@1', headers: ['Reply-To: <office@example.net>'] },
      { from: 'News <news@example.net>', id: 'news@1', headers: ['List-Id: <news.example.net>'] },
      { from: 'Gus <gus@example.net>', id: 'gus@1' },
    ];
    for (const each of mail) await upload(server, 'ann', 1, makeRawMail({ subject: 'Question', ...each }));
    expect(await addresses()).not.toContain('fay@example.net');
    for (const [inReplyTo, to] of [
      ['fay@1', 'office@example.net'],
      ['news@1', 'no-reply@example.net'],
    ])
      await uploadSent(sentMail({ to: to!, inReplyTo: inReplyTo!, id: `answer-${inReplyTo}` }));
    await uploadSent(sentMail({ to: 'auto@example.net', id: 'auto@1', headers: ['Auto-Submitted: auto-replied'] }));
    const many = Array.from({ length: 51 }, (_, index) => `p${index}@example.org`).join(', ');
    await uploadSent(sentMail({ to: many, id: 'many@1' }));
    expect(await addresses()).toEqual([
      'cora@example.net',
      'dan@example.net',
      'eve@example.net',
      'fay@example.net',
      'office@example.net',
    ]);
    expect(await find('fay@example.net')).toMatchObject({ name: 'Fay Moor' });
  });

  test('get a missing name from later mail, unless somebody has edited them', async () => {
    await send({ to: [{ name: 'Dan Ross', address: 'dan@example.net' }] });
    expect(await find('dan@example.net')).toMatchObject({ name: 'Dan Ross', automatic: true });
    const { id } = await find('eve@example.net');
    const body = { name: '', notes: 'Calls on Mondays', automatic: true };
    expect(await server.data(`PATCH /api/contacts/${id}`, { as: 'ann', body })).toMatchObject({ automatic: false });
    await send({
      to: [
        { name: 'Eve Holm', address: 'eve@example.net' },
        { name: 'Other', address: 'dan@example.net' },
      ],
    });
    expect(await find('eve@example.net')).toMatchObject({ name: '', notes: 'Calls on Mondays' });
    expect(await find('dan@example.net')).toMatchObject({ name: 'Dan Ross' });
  });

  test('that were destroyed or got another address are created again by new mail, but not by old mail', async () => {
    const old = (to: string, id: string): string =>
      sentMail({ to, id, date: 'Thu, 19 Nov 2026 10:00:00 +0000', text: `Old ${id}` });
    await uploadSent(old('Hal <hal@example.net>, ida@example.net', 'old@1'));
    await server.data(`DELETE /api/contacts/${(await find('hal@example.net')).id}`, { as: 'ann' });
    const ida = await find('ida@example.net');
    await server.data(`PATCH /api/contacts/${ida.id}`, { as: 'ann', body: { address: 'ida@new.example' } });
    await uploadSent(old('hal@example.net, ida@example.net', 'old@2'));
    await run('UPDATE accounts SET "correspondentsVersion"=NULL');
    await server.running.applications.main.mail.authenticity.runNow();
    expect(await addresses()).not.toEqual(expect.arrayContaining(['hal@example.net']));
    expect(await addresses()).not.toEqual(expect.arrayContaining(['ida@example.net']));
    await send({ to: 'hal@example.net' });
    expect(await find('hal@example.net')).toMatchObject({ automatic: true });
  });

  test('are filled from the mail that an earlier version has stored', async () => {
    const before = await list();
    await run('DELETE FROM contacts');
    await run('DELETE FROM "contactRemovals"');
    await run('UPDATE accounts SET "correspondentsVersion"=1');
    await server.running.applications.main.mail.authenticity.runNow();
    const after = await addresses();
    expect(after).toEqual(expect.arrayContaining(['cora@example.net', 'fay@example.net', 'hal@example.net']));
    expect(before.length).toBeGreaterThan(5);
    expect(after.filter((each) => each.startsWith('p') || each.startsWith('auto'))).toEqual([]);
  });

  test('are created, and an address occurs once in an account, whatever its case', async () => {
    const body = { address: 'Kim <kim@example.net>' };
    expect((await create({ accountId: 1, ...body })).status).toBe(422);
    const kim = { name: ' Kim Berg ', address: 'KIM@example.net', company: 'Berg Ltd', phone: '+44 20 7946 0000' };
    const created = await create(kim);
    expect(created.status, created.text).toBe(200);
    expect(created.body.data).toMatchObject({ ...kim, name: 'Kim Berg', address: 'kim@example.net', accountId: 1 });
    const again = await create({ accountId: 1, address: 'Kim@Example.NET' });
    expect([again.status, again.body.error?.code ?? again.body.code]).toEqual([409, 'UNIQUE_CONFLICT']);
    const merged = await server.data('POST /api/contacts:updateOrCreate?filterKeys[]=accountId&filterKeys[]=address', {
      as: 'ann',
      body: { accountId: 1, address: 'kim@example.net', notes: 'Merged' },
    });
    expect([merged].flat()[0]).toMatchObject({ id: created.body.data.id, name: 'Kim Berg', notes: 'Merged' });
    // Another account may have a contact with the same address.
    expect((await create({ address: 'kim@example.net' }, 'bob')).body.data).toMatchObject({ accountId: 2 });
  });

  test.each([
    [{ name: 'No address' }, 'address'],
    [{ address: 'x@example.net, y@example.net' }, 'address'],
    [{ address: 'x@example.net\r\nBcc: y@example.net' }, 'address'],
    [{ address: 'x@example.net', name: 'Two\nlines' }, 'name'],
    [{ address: 'x@example.net', name: 'n'.repeat(201) }, 'name'],
    [{ address: `${'x'.repeat(400)}@example.net` }, 'address'],
  ])('a body with a wrong value is refused: %j', async (body, field) => {
    const before = await addresses();
    const { status, body: reply } = await create(body);
    expect(status).toBe(422);
    expect(JSON.stringify(reply)).toContain(`"${field}"`);
    expect(await addresses()).toEqual(before);
  });

  test('need the account where the user has several, and stay in it', async () => {
    await server.data('PATCH /api/accounts/2', { body: { members: [2, 3] } });
    const refused = await create({ address: 'lee@example.net' });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining('accountId')]);
    const { id } = (await create({ accountId: 2, address: 'lee@example.net' })).body.data;
    for (const body of [{ accountId: 1 }, { account: { id: 1 } }]) {
      const moved = await server.call(`PATCH /api/contacts/${id}`, { as: 'ann', body });
      expect(moved.status, JSON.stringify(body)).toBe(403);
    }
    await server.data('PATCH /api/accounts/2', { body: { members: [3] } });
  });

  test('are grouped by members of their account', async () => {
    const [cora, fay] = [await find('cora@example.net'), await find('fay@example.net')];
    const kimOfBob = await find('kim@example.net', 'bob');
    const body = { accountId: 1, name: ' Board ', members: [cora.id, { id: fay.id }, cora.id] };
    const group = await server.data('POST /api/contactGroups', { as: 'ann', body });
    expect(group).toMatchObject({ name: 'Board', accountId: 1 });
    const read = (): Promise<Json> => server.data(`GET /api/contactGroups/${group.id}?appends=members`, { as: 'ann' });
    const members = async (): Promise<number[]> => (await read()).members.map(({ id }: Json) => id).sort();
    expect(await members()).toEqual([cora.id, fay.id].sort());
    const inGroup = await list('ann', `&filter={"groups":{"id":${group.id}}}`);
    expect(inGroup.map(({ address }) => address)).toEqual(['cora@example.net', 'fay@example.net']);
    await server.data(`POST /api/contactGroups/${group.id}/members:remove`, { as: 'ann', body: [fay.id] });
    expect(await members()).toEqual([cora.id]);
    const update = (values: object): Promise<Reply> =>
      server.call(`PATCH /api/contactGroups/${group.id}`, { as: 'ann', body: values });
    for (const wrong of [[kimOfBob.id], ['x'], [9_999_999]]) {
      const reply = await update({ members: wrong });
      expect(reply.status, JSON.stringify(reply.body)).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify(reply.body)).toContain('members');
    }
    expect((await update({ name: ' ' })).status).toBe(422);
    expect(
      (await server.call('POST /api/contactGroups', { as: 'ann', body: { accountId: 1, name: 'Board' } })).status,
    ).toBe(409);
    // A user of both accounts cannot mix them either.
    await server.data('PATCH /api/accounts/2', { body: { members: [2, 3] } });
    expect((await update({ members: [cora.id, kimOfBob.id] })).status).toBe(422);
    await server.data('PATCH /api/accounts/2', { body: { members: [3] } });
    expect(await members()).toEqual([cora.id]);
    await server.data(`DELETE /api/contacts/${cora.id}`, { as: 'ann' });
    expect(await members()).toEqual([]);
  });

  test('and groups are seen by nobody but members of their account, on every path', async () => {
    const fay = await find('fay@example.net');
    const group = await server.data('POST /api/contactGroups', {
      as: 'ann',
      body: { accountId: 1, name: 'Trap', members: [fay.id] },
    });
    for (const as of ['bob', 'admin']) {
      expect(await addresses(as)).not.toContain('fay@example.net');
      for (const call of [
        `GET /api/contacts/${fay.id}`,
        `GET /api/contactGroups/${group.id}`,
        `GET /api/contactGroups/${group.id}?appends=members`,
        `GET /api/contactGroups/${group.id}/members:list`,
        `PATCH /api/contacts/${fay.id}`,
        `DELETE /api/contacts/${fay.id}`,
        `PATCH /api/contactGroups/${group.id}`,
        `DELETE /api/contactGroups/${group.id}`,
      ]) {
        const reply = await server.call(call, { as, ...(call.startsWith('PATCH') && { body: { name: 'Trap' } }) });
        expect([403, 404], `${as} ${call}: ${reply.status}`).toContain(reply.status);
        expect(reply.text).not.toContain('fay@');
      }
      const events = await server.data('GET /api/changes:list?resource=contacts&pageSize=100', { as });
      expect(events.flatMap(({ tk, tks }: Json) => tks ?? [tk])).not.toContain(fay.id);
      expect((await create({ accountId: 1, address: 'trap@example.net' }, as)).status).toBeGreaterThanOrEqual(400);
    }
    expect(await find('fay@example.net')).toMatchObject({ name: 'Fay Moor' });
  });

  test('are exported and imported as ordinary records', async () => {
    const exported = await server.call('GET /api/contacts:export?format=csv&fields=name,address', { as: 'ann' });
    expect(exported.text).toContain('Fay Moor,fay@example.net');
    const response = await fetch(`${server.running.url}/api/contacts:import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.tokens.get('ann')}`, 'content-type': 'text/csv' },
      body: 'name,address\nMo Hart,MO@example.net\nNed,ned@example.net\n',
    });
    expect(response.status, await response.clone().text()).toBe(200);
    expect(await find('mo@example.net')).toMatchObject({ name: 'Mo Hart', accountId: 1, automatic: false });
  });

  test('are deleted with their account', async () => {
    const account = await server.data('POST /api/accounts:create', {
      as: 'bob',
      body: { address: 'other@example.com' },
    });
    const { id } = (await create({ accountId: account.id, address: 'pat@example.net' }, 'bob')).body.data;
    await server.data('POST /api/contactGroups', {
      as: 'bob',
      body: { accountId: account.id, name: 'Few', members: [id] },
    });
    await server.data(`POST /api/accounts:destroy?filterByTk=${account.id}`, { as: 'bob' });
    await expect.poll(async () => (await server.call(`GET /api/contacts/${id}`, { as: 'bob' })).status).toBe(403);
    await expect
      .poll(async () => {
        const [rows] = await server.running.applications.main.database.read([
          { text: `SELECT count(*) FROM contacts WHERE "accountId"=${account.id}`, values: [] },
        ]);
        return Number(rows![0]![0]);
      })
      .toBe(0);
  });
});
