import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { type MailComposeServer, saveDraft, startMailComposeServer } from '../support/mail-compose-server.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('signatures', (engine) => {
  let desk: MailComposeServer;
  let server: TestServer;
  beforeAll(async () => {
    desk = await startMailComposeServer(engine);
    server = desk.server;
    await update({ signature: 'Shop\nRow 1 < 2', aliases: ['support@example.com'] });
  });
  afterAll(() => server.stop());

  const update = (body: object): Promise<Json> =>
    server.data('POST /api/accounts:update?filterByTk=1', { as: 'ann', body });
  const readIdentities = async (): Promise<Json> =>
    (await server.data('GET /api/accounts:get?filterByTk=1', { as: 'ann' })).identities;
  const save = async (body: object): Promise<Json> =>
    (await saveDraft(server, { account: 1, to: 'cora@example.net', ...body })).body.data;

  test('the signature of the sender is added once, above the quoted message', async () => {
    const plain = await save({ text: 'Hello.', signature: true });
    expect(plain.text.trimEnd()).toBe('Hello.\n\n-- \nShop\nRow 1 < 2');
    const again = (await saveDraft(server, { id: plain.id, signature: true })).body.data;
    expect(again.text).toBe(plain.text);
    await update({ identities: [{ address: 'shop@example.com', signature: { html: '<b>Shop</b>, since 1971' } }] });
    const signature = '<div><br /></div><div class="m-gmail_signature"><b>Shop</b>, since 1971</div>';
    expect((await save({ html: '<p>Hello.</p>', signature: true })).html.trim()).toBe(`<p>Hello.</p>${signature}`);
    expect((await save({ text: 'Hello.', signature: true })).text.trimEnd()).toBe('Hello.\n\n-- \nShop, since 1971');
    expect((await save({ text: 'Hello.' })).text.trimEnd()).toBe('Hello.');
    const body = { id: desk.emailId, html: '<p>Yes.</p>', signature: true, draft: true };
    const reply = await server.data('POST /api/emails:reply', { as: 'ann', body });
    expect(reply.html).toContain(`<p>Yes.</p>${signature}<div class="m-gmail_quote">`);
    const sent = await server.data('POST /api/emails:send', {
      as: 'ann',
      body: { account: 1, to: 'cora@example.net', text: 'Sent.', signature: true },
    });
    expect((await server.data(`GET /api/emails/${sent.id}`, { as: 'ann' })).text).toContain('-- \nShop, since 1971');
  });

  test('the HTML of a signature is sanitised, and an update without a signature keeps it', async () => {
    const html = '<p onclick="x()">Support</p><script>x()</script><img src="https://example.com/logo.png">';
    await update({ identities: [{ address: 'support@example.com', signature: { html, text: null } }] });
    const stored = { html: '<p>Support</p><img data-src="https://example.com/logo.png" />', text: null };
    const entry = { address: 'support@example.com', verifiedAt: null, name: null, signature: stored };
    expect((await readIdentities())[1]).toEqual(entry);
    await update({ identities: [{ address: 'support@example.com', name: 'Help' }] });
    expect((await readIdentities())[1]).toEqual({ ...entry, name: 'Help' });
    await update({ identities: [{ address: 'support@example.com', signature: { html: ' ', text: '' } }] });
    expect((await readIdentities())[1]).toMatchObject({ signature: null });
  });

  test('an invalid signature is refused, and nothing is changed', async () => {
    const before = await readIdentities();
    for (const signature of ['text', { text: 1 }, { markdown: 'x' }, { text: 'x'.repeat(20_001) }]) {
      const body = { identities: [{ address: 'shop@example.com', signature }] };
      const refused = await server.call('POST /api/accounts:update?filterByTk=1', { as: 'ann', body });
      expect(refused).toMatchObject({
        status: 422,
        body: { details: { 'identities.0.signature': expect.any(String) } },
      });
    }
    expect(await readIdentities()).toEqual(before);
    expect((await saveDraft(server, { account: 1, text: 'x', signature: 'yes' })).status).toBe(422);
  });

  test('a role that may not read signatures of accounts adds none', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'clerk', title: 'Clerk' } });
    const grants = [
      ['emails', ['list', 'get', 'create', 'update']],
      ['accounts', ['list', 'get'], ['id', 'address']],
    ] as const;
    for (const [resource, actions, fields] of grants)
      await server.data('POST /api/permissions:create', {
        body: { role: 'clerk', resource, actions, ...(fields && { fields }) },
      });
    const filter = encodeURIComponent(JSON.stringify({ email: 'ann@example.com' }));
    const [ann] = await server.data(`GET /api/users:list?filter=${filter}`);
    await server.data(`POST /api/users:update?filterByTk=${ann.id}`, { body: { roles: ['editor', 'clerk'] } });
    const headers = { 'x-role': 'clerk' };
    const body = { account: 1, text: 'x' };
    expect(await saveDraft(server, { ...body, signature: true }, 'ann', headers)).toMatchObject({ status: 403 });
    expect(await saveDraft(server, body, 'ann', headers)).toMatchObject({ status: 200 });
  });
});
