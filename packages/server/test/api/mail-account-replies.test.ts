/** Replies to writes of accounts and rules include values that later steps of the same write add. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import type { TestServer } from '../support/scenario.ts';
import { waitFor } from '../support/sync-world.ts';

const imap = { host: 'imap.example.com', port: 993, security: 'tls', user: 'desk' };

describeEngines('the reply to a write of mail settings', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
  });
  afterAll(() => server?.stop());

  /** The changed fields in the events of an account, oldest event first. */
  const waitForEvents = async (id: number, count: number): Promise<string[][]> => {
    let found: string[][] = [];
    await waitFor(async () => {
      const events = await server.data('GET /api/changes:list?pageSize=1000&resource=accounts');
      found = events.filter(({ tk }: Json) => tk === String(id)).map(({ changed }: Json) => changed);
      return found.length === count;
    }, `${count} events`);
    return found;
  };
  /** Compares the reply with what a get shows directly afterwards. */
  const expectSame = async (request: string, resource: string, body: unknown, as = 'ann'): Promise<Json> => {
    const reply = await server.data(request, { as, body });
    const query = request.split('?')[1] ?? '';
    for (const each of Array.isArray(reply) ? reply : [reply])
      expect(each).toEqual(await server.data(`GET /api/${resource}:get/${each.id}?${query}`, { as }));
    return reply;
  };

  test.for(['ann', 'admin'])('a new account is shown to %s as it is after the write', async (as) => {
    const body = { name: 'Desk', address: 'desk@example.com', aliases: ['help@example.com'], imap, password: 'secret' };
    const { id, status, identities } = await expectSame('POST /api/accounts:create', 'accounts', body, as);
    expect([status, identities]).toEqual([
      'connecting',
      [
        { address: 'desk@example.com', name: null, verifiedAt: null, signature: null },
        { address: 'help@example.com', name: null, verifiedAt: null, signature: null },
      ],
    ]);
    const [changed] = await waitForEvents(id, 1);
    expect(changed).toEqual(expect.arrayContaining(['address', 'aliases', 'status', 'identities']));
    expect(changed).not.toContain('aliasProofs');
    // Members are users, whom editors may not list.
    if (as === 'admin') await expectSame('POST /api/accounts:create?appends=members', 'accounts', body, as);
    await expectSame('POST /api/accounts:create', 'accounts', [body, { address: 'other@example.com' }], as);
  });

  test('a changed account is shown as it is after the write', async () => {
    const { id } = await server.data('POST /api/accounts:create', { as: 'ann', body: { address: 'a@example.com' } });
    const aliases = ['b@example.com'];
    const { identities } = await expectSame(`PATCH /api/accounts/${id}`, 'accounts', { aliases });
    expect(identities).toHaveLength(2);
    expect(await expectSame(`PATCH /api/accounts/${id}`, 'accounts', { imap })).toMatchObject({ status: 'connecting' });
    await expectSame(`PATCH /api/accounts/${id}`, 'accounts', { imap: null });
    await expectSame(`PATCH /api/accounts/${id}`, 'accounts', { name: 'Only a name' });
    const [, ofAliases, ofServer, ofNoServer, ofName] = await waitForEvents(id, 5);
    expect([ofAliases, ofName]).toEqual([['aliases', 'identities'], ['name']]);
    expect([ofServer, ofNoServer]).toEqual(Array(2).fill(['imap', 'status', 'problem', 'retryAt']));
  });

  test('a new rule is shown with the user as whom it acts', async () => {
    const conditions = [{ field: 'from', operator: 'is', value: 'zoe@example.net' }];
    const body = { accountId: 1, name: 'Star', conditions, actions: [{ type: 'star' }] };
    expect(await expectSame('POST /api/mailRules:create', 'mailRules', body)).toMatchObject({
      ownerId: 2,
      role: 'editor',
      problem: null,
    });
  });
});
