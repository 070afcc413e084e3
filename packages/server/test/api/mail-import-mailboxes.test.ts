import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('e-mails in several mailboxes', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
  });
  afterAll(() => server.stop());

  test('a message in two mailboxes appears in both, in lists, counts, flags, moves and the export', async () => {
    const { id } = await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'two@example.com' } });
    const both = makeRawMail({ subject: 'In both', id: 'both@two.example' });
    const mbox = (mail: string): string => `From a@b.example Fri Nov 20 10:00:00 2026\n${mail}\n\n`;
    const [key] = (await upload(server, 'bob', id, both)).ids;
    const other = makeRawMail({ subject: 'Another', id: 'one@two.example' });
    const twice = await upload(server, 'bob', id, mbox(both) + mbox(other), 'application/mbox', '&mailbox=Clients/Ada');
    expect(twice).toMatchObject({ stored: 1, duplicates: 1 });
    const subjects = async (query: string, resource = 'emails'): Promise<string[]> =>
      (
        (await server.data(`GET /api/${resource}?accountId=${id}&${query}`, { as: 'bob' })) as { subject: string }[]
      ).map(({ subject }) => subject);
    const counts = async (): Promise<Record<string, [number, number]>> =>
      Object.fromEntries(
        (
          (await server.data(`GET /api/mailboxes:list?filter={"accountId":${id}}`, { as: 'bob' })) as {
            path: string;
            messages: number;
            unread: number;
          }[]
        ).map(({ path, messages, unread }) => [path, [messages, unread]]),
      );
    const act = (action: string, body: object): Promise<unknown> =>
      server.data(`POST /api/emails:${action}`, { as: 'bob', body: { ids: [key], ...body } });
    for (const resource of ['emails', 'conversations']) {
      expect(await subjects('folder=inbox', resource)).toEqual(['In both']);
      expect((await subjects('folder=Clients/Ada', resource)).sort()).toEqual(['Another', 'In both']);
      expect(await subjects('search=in:Clients/Ada+both', resource)).toEqual(['In both']);
      expect(await subjects('search=-in:inbox', resource)).toEqual(['Another']);
    }
    expect(await subjects('folder=Clients/Ada&pageSize=1')).toHaveLength(1);
    expect(await counts()).toEqual({ INBOX: [1, 1], 'Clients/Ada': [2, 2] });
    await act('batchUpdate', { read: true });
    expect(await counts()).toEqual({ INBOX: [1, 0], 'Clients/Ada': [2, 1] });
    expect(await subjects('folder=Clients/Ada&unread=true')).toEqual(['Another']);
    expect(await subjects('folder=Clients/Ada&unread=false')).toEqual(['In both']);
    for (const [mailbox, messages] of [
      ['inbox', 1],
      ['Clients/Ada', 2],
    ] as const) {
      const { text } = await server.call(`GET /api/emails:export?account=${id}&mailbox=${mailbox}`, { as: 'bob' });
      expect(text.match(/^From /gm), mailbox).toHaveLength(messages);
    }

    // The e-mail can be moved out of one of its mailboxes, but not out of an unknown mailbox.
    await server.play({
      name: 'a move to an unknown mailbox is refused',
      request: 'POST /api/emails:move',
      as: 'bob',
      body: { ids: [key], from: 'Nowhere', mailbox: 'inbox' },
      expect: { status: 400, code: 'REFERENCE_MISSING' },
    });
    await upload(server, 'bob', id, makeRawMail({ id: 'more@two.example' }), 'message/rfc822', '&mailbox=Archive');
    await act('move', { from: 'inbox', mailbox: 'archive' });
    expect(await counts()).toEqual({ INBOX: [0, 0], 'Clients/Ada': [2, 1], Archive: [2, 1] });
    expect(await subjects('folder=inbox')).toEqual([]);
    expect((await server.data(`GET /api/emails/${key}`, { as: 'bob' })).folder).toBe('Clients/Ada');

    // The reply to a move or a deletion says how to undo it: by a move into all former mailboxes.
    const filed = await counts();
    const destroyed = await server.call('POST /api/emails:destroy', { as: 'bob', body: { ids: [key] } });
    expect(await counts()).toMatchObject({ 'Clients/Ada': [1, 1], Archive: [1, 1] });
    const [undo] = destroyed.body.meta.undo;
    await act('move', { mailbox: undo.mailbox });
    expect(await counts()).toEqual({ ...filed, Trash: [0, 0] });
    const moved = await server.call('POST /api/emails:move', { as: 'bob', body: { ids: [key], mailbox: 'inbox' } });
    expect(moved.body.meta).toEqual({ undo: [undo] });
    await act('move', { mailbox: ['Archive', ...undo.mailbox, 'archive'] });
    expect(await counts()).toEqual({ ...filed, Trash: [0, 0] });
    expect((await server.data(`GET /api/emails/${key}`, { as: 'bob' })).folder).toBe('archive');
    // A deletion does not reveal the mailbox to a role that may not read it.
    await server.data('POST /api/roles:create', { body: { name: 'sorter', title: 'Sorter' } });
    const permission = {
      role: 'sorter',
      resource: 'emails',
      actions: ['get', 'update', 'destroy'],
      fields: ['subject'],
    };
    await server.data('POST /api/permissions:create', { body: permission });
    const user = { email: 'sorter@example.com', password: 'correct horse', roles: ['sorter'] };
    const member = await server.data('POST /api/users:create', { body: user });
    await server.data(`POST /api/accounts:update?filterByTk=${id}`, { body: { members: [member.id] } });
    server.tokens.set('sorter', await server.signIn(user.email, user.password));
    const hidden = await server.call('POST /api/emails:destroy', { as: 'sorter', body: { ids: [key] } });
    expect(hidden.body).toMatchObject({ data: 1, meta: { undo: [] } });
    await act('move', { mailbox: undo.mailbox });
    for (const [mailbox, from, code] of [
      [[], null, 'BODY_INVALID'],
      [['inbox', null], null, 'BODY_INVALID'],
      [['inbox', 'Clients/Ada'], 'archive', 'BODY_INVALID'],
      [['inbox', 'Nowhere'], null, 'REFERENCE_MISSING'],
      [Array.from({ length: 101 }, () => 'inbox'), null, 'LIMIT_EXCEEDED'],
    ] as const)
      await server.play({
        name: `a move to ${JSON.stringify(mailbox)} is refused`,
        request: 'POST /api/emails:move',
        as: 'bob',
        body: { ids: [key], mailbox, from },
        expect: { status: 400, code },
      });

    // An e-mail in the trash and in another mailbox is found by searches that omit the trash, and is in the trash too.
    await upload(server, 'bob', id, both, 'message/rfc822', '&mailbox=Trash');
    expect(await subjects('folder=trash')).toEqual(['In both']);
    expect(await subjects('search=both')).toEqual(['In both']);
    await act('destroy', {});
    expect(await counts()).toEqual({ INBOX: [0, 0], 'Clients/Ada': [1, 1], Archive: [1, 1], Trash: [1, 0] });
    expect(await subjects('folder=Clients/Ada')).toEqual(['Another']);
    expect(await subjects('search=both')).toEqual([]);
    await upload(server, 'bob', id, both);
    expect(await subjects('search=both')).toEqual(['In both']);
    expect((await server.data(`GET /api/emails/${key}`, { as: 'bob' })).folder).toBe('inbox');
    await server.data('POST /api/emails:destroy?force=true', { as: 'bob', body: { ids: [key] } });
    expect(await counts()).toEqual({ INBOX: [0, 0], 'Clients/Ada': [1, 1], Archive: [1, 1], Trash: [0, 0] });
    await server.data(`POST /api/accounts:destroy?filterByTk=${id}`, { as: 'bob' });
  });

  test('a second mailbox of an e-mail does not circumvent a row filter by mailbox', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'front', title: 'Front' } });
    for (const row of [
      { resource: 'emails', actions: ['list', 'get'], filter: { folder: 'inbox' } },
      ...['accounts', 'mailboxes', 'conversations'].map((resource) => ({ resource, actions: ['list', 'get'] })),
    ])
      await server.data('POST /api/permissions:create', { body: { role: 'front', ...row } });
    const user = { email: 'dan@example.com', password: 'correct horse', roles: ['editor', 'front'] };
    await server.data('POST /api/users:create', { body: user });
    server.tokens.set('dan', await server.signIn(user.email, user.password));
    const body = { address: 'front@example.com' };
    const { id } = await server.data('POST /api/accounts:create', { as: 'dan', headers: { 'x-role': 'editor' }, body });
    const front = { as: 'dan', headers: { 'x-role': 'front' } };
    const secret = makeRawMail({ subject: 'Salaries', id: 'secret@front.example' });
    const open = makeRawMail({ subject: 'Welcome', id: 'open@front.example' });
    const [key] = (await upload(server, 'dan', id, secret, 'message/rfc822', '&mailbox=Board')).ids;
    await upload(server, 'dan', id, open);
    await upload(server, 'dan', id, secret);
    for (const query of ['', '?folder=inbox', '?search=in:inbox', '?folder=inbox&count=exact', '?folder=Board'])
      for (const resource of ['emails', 'conversations']) {
        const { text } = await server.call(`GET /api/${resource}${query}`, front);
        if (resource === 'emails' || query.includes('inbox')) expect(text, resource + query).not.toContain('Salaries');
      }
    expect((await server.call(`GET /api/emails/${key}`, front)).status).toBe(403);
    expect((await server.data('GET /api/emails?folder=inbox', front)) as unknown[]).toHaveLength(1);
    await server.data(`POST /api/accounts:destroy?filterByTk=${id}`, { as: 'dan', headers: { 'x-role': 'editor' } });
  });
});
