import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail, type RawMail } from '../support/raw-mail.ts';
import type { ExpectedOutcome, Scenario, TestServer } from '../support/scenario.ts';

const messages: readonly RawMail[] = [
  {
    subject: 'Broken turntable',
    from: 'Cora Lind <cora@example.net>',
    id: 'a1@example.net',
    date: 'Mon, 02 Nov 2026 10:00:00 +0000',
    text: 'The tonearm is loose. Can you help?',
  },
  {
    subject: 'Re: Broken turntable',
    from: 'Shop <shop@example.com>',
    to: 'cora@example.net',
    id: 'a2@example.com',
    inReplyTo: 'a1@example.net',
    references: ['a1@example.net'],
    date: 'Mon, 02 Nov 2026 12:00:00 +0000',
    text: 'Send us a picture, please.',
  },
  {
    subject: 'Re: Broken turntable',
    from: 'Cora Lind <cora@example.net>',
    id: 'a3@example.net',
    inReplyTo: 'a2@example.com',
    references: ['a1@example.net', 'a2@example.com'],
    date: 'Tue, 03 Nov 2026 09:00:00 +0000',
    text: 'Here it is.',
    attachments: [
      {
        name: 'tonearm.png',
        type: 'image/png',
        content: Buffer.from(
          'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
          'base64',
        ),
      },
      { name: 'notes.html', type: 'text/html', content: '<script>alert(1)</script>' },
    ],
  },
  {
    subject: 'Invoice 4711',
    from: 'Books <books@example.org>',
    id: 'b1@example.org',
    date: 'Wed, 04 Nov 2026 08:00:00 +0000',
    html: '<p onclick="x()">Dear shop, the <b>invoice</b> is due.</p><script>alert(1)</script>',
  },
];

describeEngines('an inbox', (engine) => {
  let server: TestServer;
  let emails: Json[];
  const subjects = async (query: string, as = 'ann'): Promise<string[]> =>
    ((await server.data(`GET /api/emails?${query}`, { as })) as { subject: string }[]).map((each) => each.subject);
  const idOf = (index: number): number => emails[index].id as number;

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    for (const each of messages) await upload(server, 'ann', 1, makeRawMail(each));
    await server.data('POST /api/accounts:create', { as: 'bob', body: { name: 'Bob', address: 'bob@example.com' } });
    await upload(
      server,
      'bob',
      2,
      makeRawMail({ subject: 'Secret plan', id: 'c1@example.net', text: 'The tonearm of Bob.' }),
    );
    emails = await server.data('GET /api/emails', { as: 'ann' });
  });
  afterAll(() => server.stop());

  test('is listed with the newest first and without bodies', async () => {
    expect(emails.map((each) => each.subject)).toEqual([
      'Invoice 4711',
      'Re: Broken turntable',
      'Re: Broken turntable',
      'Broken turntable',
    ]);
    expect(Object.keys(emails[0])).not.toEqual(expect.arrayContaining(['text', 'html', 'headers', 'identity']));
    expect(emails[2]).toMatchObject({ outgoing: true, folder: 'inbox', hasAttachments: false });
  });

  test('is listed with its content if the fields name it, as documented', async () => {
    // Every reply is compared with the OpenAPI document.
    const [first] = await server.data('GET /api/emails:list?fields=id,content&pageSize=1', { as: 'ann' });
    expect(first.content).toMatchObject({ text: expect.any(String), headers: expect.any(Array) });
    expect(await server.data('GET /api/emails:list?fields=id,content.text&pageSize=1', { as: 'ann' })).toEqual([
      { id: first.id, content: { text: first.content.text } },
    ]);
  });

  test('pages continue by nextCursor', async () => {
    const first = await server.call('GET /api/emails?pageSize=3', { as: 'ann' });
    expect(first.body.meta).toMatchObject({ hasNext: true, pageSize: 3 });
    const next = await server.call(`GET /api/emails?pageSize=3&after=${first.body.meta.nextCursor}`, { as: 'ann' });
    expect(next.body.data.map((each: { subject: string }) => each.subject)).toEqual(['Broken turntable']);
    expect(next.body.meta.hasNext).toBe(false);
  });

  for (const [query, found] of [
    ['search=tonearm', ['Re: Broken turntable', 'Broken turntable']],
    ['search=TONEARM loose', ['Broken turntable']],
    ['search="tonearm is loose"', ['Broken turntable']],
    ['search="loose tonearm"', []],
    ['search=turntable -from:cora', ['Re: Broken turntable']],
    ['search=from:books@example.org', ['Invoice 4711']],
    ['search=subject:invoice', ['Invoice 4711']],
    ['search=subject:tonearm', []],
    ['search=filename:tonearm', ['Re: Broken turntable']],
    ['search=has:attachment', ['Re: Broken turntable']],
    ['search=to:cora', ['Re: Broken turntable']],
    ['search=before:2026-11-03', ['Re: Broken turntable', 'Broken turntable']],
    ['search=after:2026-11-03 before:2026-11-04', ['Re: Broken turntable']],
    ['search=after:9999-12-31', []],
    ['after=9999-12-31&search=turntable', []],
    ['search=in:inbox invoice', ['Invoice 4711']],
    ['search=in:archive', []],
    ['search=OR', []],
    ['search=tone*', ['Re: Broken turntable', 'Broken turntable']],
    ['from=cora', ['Re: Broken turntable', 'Broken turntable']],
    ['hasAttachment=true', ['Re: Broken turntable']],
    ['accountId=1&folder=inbox&unread=true&search=invoice', ['Invoice 4711']],
    ['after=2026-11-04', ['Invoice 4711']],
    ['accountId=2', []],
    ['search=secret', []],
    ['search=account:2', []],
    ['filter={"subject":{"$includes":"invoice"}}', ['Invoice 4711']],
  ] as const)
    test(`${query} finds ${found.length} e-mails`, async () => expect(await subjects(query)).toEqual(found));

  const scenarios = (): Scenario[] => [
    {
      name: 'a search that cannot be parsed is refused with 400 and the reason',
      request: 'GET /api/emails?search=is:happy',
      as: 'ann',
      expect: { status: 400, code: 'PARAMETER_INVALID' },
    },
    {
      name: 'an e-mail is returned with text, headers and attachments',
      request: `GET /api/emails/${idOf(1)}`,
      as: 'ann',
      expect: {
        status: 200,
        body: {
          data: { text: expect.stringContaining('Here it is.'), attachments: [{ filename: 'tonearm.png' }, {}] },
        },
      },
    },
    {
      name: 'the HTML of an e-mail is sanitised',
      request: `GET /api/emails/${idOf(0)}`,
      as: 'ann',
      expect: {
        status: 200,
        body: { data: { html: expect.stringContaining('invoice') } },
        absent: ['<script', 'onclick'],
      },
    },
    {
      name: 'the action style returns the same',
      request: `GET /api/emails:get/${idOf(0)}`,
      as: 'ann',
      expect: { status: 200, body: { data: { html: expect.stringContaining('invoice') } } },
    },
    {
      name: 'an e-mail of another user is refused with 403',
      request: `GET /api/emails/${idOf(0)}`,
      as: 'bob',
      expect: { status: 403, code: 'NO_PERMISSION', absent: ['nvoice'] },
    },
    {
      name: 'an administrator who is no member is refused with 403',
      request: `GET /api/emails/${idOf(0)}`,
      expect: { status: 403, code: 'NO_PERMISSION', absent: ['nvoice'] },
    },
    {
      name: 'a flag is set',
      request: `PATCH /api/emails/${idOf(0)}`,
      as: 'ann',
      body: { read: true },
      expect: { status: 200, body: { data: { read: true } }, events: ['emails.updated', 'conversations.updated'] },
    },
    {
      name: "a flag of another user's e-mail cannot be set",
      request: `PATCH /api/emails/${idOf(0)}`,
      as: 'bob',
      body: { read: false },
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: "a flag of another user's e-mail cannot be set by a batch",
      request: 'POST /api/batch',
      as: 'bob',
      body: { operations: [{ op: 'update', resource: 'emails', filterByTk: idOf(0), values: { read: false } }] },
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'the subject cannot be changed',
      request: `PATCH /api/emails/${idOf(0)}`,
      as: 'ann',
      body: { subject: 'Paid' },
      expect: { status: 403, code: 'SYSTEM_PROTECTED' },
    },
    {
      name: 'an e-mail cannot be created as a record',
      request: 'POST /api/emails:create',
      as: 'ann',
      body: { subject: 'Made' },
      expect: { status: 403, code: 'SYSTEM_PROTECTED' },
    },
    {
      name: 'several e-mails are starred at once',
      request: 'POST /api/emails:batchUpdate',
      as: 'ann',
      body: { ids: [idOf(1), idOf(2)], starred: true },
      expect: {
        status: 200,
        body: { data: [{ starred: true }, { starred: true }] },
        events: ['emails.updated', 'emails.updated', 'conversations.updated'],
      },
    },
    {
      name: 'no e-mail is starred if one of them belongs to another user',
      request: 'POST /api/emails:batchUpdate',
      as: 'bob',
      body: { ids: [idOf(1)], starred: false },
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'an e-mail is moved',
      request: `POST /api/emails:move?filterByTk=${idOf(0)}`,
      as: 'ann',
      body: { mailbox: 'inbox' },
      expect: { status: 200, body: { data: 1 } },
    },
    {
      name: 'a move to an unknown mailbox is refused with 400',
      request: `POST /api/emails:move?filterByTk=${idOf(0)}`,
      as: 'ann',
      body: { mailbox: 'Nowhere' },
      expect: { status: 400, code: 'REFERENCE_MISSING' },
    },
    {
      name: "a move of another user's e-mail is refused with 403",
      request: `POST /api/emails:move?filterByTk=${idOf(0)}`,
      as: 'bob',
      body: { mailbox: 'INBOX' },
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'destroy moves the e-mail to the trash, and creates that mailbox with an event',
      request: `DELETE /api/emails/${idOf(0)}`,
      as: 'ann',
      expect: {
        status: 200,
        body: { data: 1 },
        events: ['mailboxes.created', 'emails.updated', 'conversations.updated'],
      },
    },
    {
      name: 'destroy in the trash is final, and the conversation is deleted with its last e-mail',
      request: `DELETE /api/emails/${idOf(0)}`,
      as: 'ann',
      expect: { status: 200, body: { data: 1 }, events: ['emails.destroyed', 'conversations.destroyed'] },
    },
    {
      name: 'a destroyed e-mail does not occur in events any more',
      request: `GET /api/conversations/${emails[0].conversationId}`,
      as: 'ann',
      expect: { status: 403, code: 'NO_PERMISSION', absent: ['nvoice', 'books@'] },
    },
    {
      name: 'a destroyed e-mail no longer exists',
      request: `GET /api/emails/${idOf(0)}`,
      as: 'ann',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'the history of an e-mail contains its flags',
      request: `GET /api/emails:history?filterByTk=${idOf(1)}`,
      as: 'ann',
      expect: {
        status: 200,
        body: { data: [{ action: 'updated', changes: [{ field: 'starred', before: false, after: true }] }] },
      },
    },
    {
      name: 'other resources have no plain style',
      request: 'GET /api/users',
      expect: { status: 404, code: 'ROUTE_UNKNOWN' },
    },
    {
      name: 'an unsupported method is refused with 405',
      request: `POST /api/emails/${idOf(1)}`,
      as: 'ann',
      expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
    },
  ];
  test('requests have the results that the specification states', async () => {
    for (const scenario of scenarios())
      await server.play(scenario).catch((error: Error) => {
        throw Object.assign(error, { message: `${scenario.name}: ${error.message}` });
      });
    expect(await subjects('')).toHaveLength(3);
    expect(await subjects('search=invoice')).toEqual([]);
  });

  test('a mailbox has one role and an acyclic path, and its e-mails follow it', async () => {
    await upload(
      server,
      'ann',
      1,
      makeRawMail({ subject: 'At work', id: 'w1@e.example' }),
      'message/rfc822',
      '&mailbox=Work',
    );
    const [mail] = await server.data('GET /api/emails?folder=Work', { as: 'ann' });
    const counted = async (): Promise<[number, number]> => {
      const { messages, unread } = await server.data(`GET /api/conversations/${mail.conversationId}`, { as: 'ann' });
      return [messages, unread];
    };
    const change = `PATCH /api/mailboxes/${mail.mailboxId}`;
    const trash = (await server.data('GET /api/mailboxes', { as: 'ann' })).find((each: Json) => each.role === 'trash');
    const refused: [string, string, unknown, ExpectedOutcome][] = [
      ['a role that another mailbox has', change, { role: 'inbox' }, { status: 409, code: 'UNIQUE_CONFLICT' }],
      [
        'a new mailbox with an existing role',
        'POST /api/mailboxes:create',
        { accountId: 1, path: 'More', role: 'trash' },
        { status: 409, code: 'UNIQUE_CONFLICT' },
      ],
      [
        'a path that is the name of a role',
        'POST /api/mailboxes:create',
        { accountId: 1, path: 'junk' },
        { status: 422, code: 'VALUE_INVALID' },
      ],
      ['no path', change, { path: ' ' }, { status: 422, code: 'VALUE_INVALID' }],
      ['a path with a line break', change, { path: 'a\r\nb' }, { status: 422, code: 'VALUE_INVALID' }],
      ['in another account', change, { accountId: 2 }, { status: 403, code: 'SYSTEM_PROTECTED' }],
      [
        'a mailbox with e-mails',
        `DELETE /api/mailboxes/${mail.mailboxId}`,
        undefined,
        { status: 409, code: 'DEPENDANTS_EXIST' },
      ],
    ];
    for (const [name, request, body, outcome] of refused)
      await server.play({ name, request, as: 'ann', body, expect: outcome });
    await server.data(`DELETE /api/mailboxes/${trash.id}`, { as: 'ann' });
    expect(await counted()).toEqual([1, 1]);
    await server.play({
      name: 'the mailbox becomes the trash',
      request: change,
      as: 'ann',
      body: { role: 'trash' },
      expect: { status: 200, events: ['emails.updated', 'conversations.updated', 'mailboxes.updated'] },
    });
    expect(await counted()).toEqual([0, 0]);
    expect(await subjects('folder=TRASH')).toEqual(['At work']);
    await server.data(change, { as: 'ann', body: { role: null, path: 'Home' } });
    expect(await counted()).toEqual([1, 1]);
    await server.play({
      name: 'the mailbox is renamed',
      request: change,
      as: 'ann',
      body: { path: 'House' },
      expect: { status: 200, events: ['emails.updated', 'mailboxes.updated'] },
    });
    expect(await subjects('search=in:House')).toEqual(['At work']);
    await server.data('POST /api/emails:destroy?force=true', { as: 'ann', body: { ids: [mail.id] } });
  });

  test('a message that joins two conversations emits an event for each e-mail that changes its conversation', async () => {
    const mails = [
      makeRawMail({ subject: 'Joined', id: 'j1@e.example' }),
      makeRawMail({ subject: 'Re: Joined', id: 'j3@e.example', references: ['j2@e.example'] }),
    ];
    for (const each of mails) await upload(server, 'ann', 1, each);
    const [later, first] = await server.data('GET /api/emails?search=joined&sort=-id', { as: 'ann' });
    expect(later.conversationId).not.toBe(first.conversationId);
    const joining = makeRawMail({ subject: 'Re: Joined', id: 'j2@e.example', references: ['j1@e.example'] });
    await server.play({
      name: 'a message joins two conversations',
      request: 'POST /api/emails:import?account=1',
      as: 'ann',
      headers: { 'content-type': 'message/rfc822' },
      body: joining,
      expect: {
        status: 200,
        events: ['emails.created', 'emails.updated', 'conversations.updated', 'conversations.updated'],
      },
    });
    const { conversationId } = await server.data(`GET /api/emails/${later.id}`, { as: 'ann' });
    expect(conversationId).toBe(first.conversationId);
    const former = `GET /api/conversations/${later.conversationId}`;
    expect(await server.data(former, { as: 'ann' })).toMatchObject({ messages: 0, mergedInto: conversationId });
    const ids = (await server.data('GET /api/emails?search=joined', { as: 'ann' })).map((each: Json) => each.id);
    await server.data('POST /api/emails:destroy?force=true', { as: 'ann', body: { ids } });
    expect((await server.call(former, { as: 'ann' })).status).toBe(403);
  });

  test('conversations have counts and show their e-mails oldest first', async () => {
    const [first] = await server.data('GET /api/conversations', { as: 'ann' });
    expect(first).toMatchObject({ subject: 'Broken turntable', messages: 3, starred: 2, attachments: 1 });
    const thread = await server.data(`GET /api/conversations/${first.id}`, { as: 'ann' });
    expect(thread.emails.map((each: { messageId: string }) => each.messageId)).toEqual([
      'a1@example.net',
      'a2@example.com',
      'a3@example.net',
    ]);
    expect(thread.emails[0].text).toContain('tonearm');
    expect((await server.call(`GET /api/conversations/${first.id}`, { as: 'bob' })).status).toBe(403);
    expect(await server.data('GET /api/conversations?search=picture', { as: 'ann' })).toHaveLength(1);
    expect(await server.data('GET /api/conversations?search=tonearm', { as: 'bob' })).toHaveLength(1);
  });

  test('events of new and flagged mail are sent to users who can see it, and to nobody else', {
    timeout: 240_000,
  }, async () => {
    const cursorOf = async (as: string): Promise<string> => {
      let cursor = '';
      for (let more = true; more; ) {
        const since = cursor === '' ? '' : `&since=${cursor}`;
        const { meta } = (await server.call(`GET /api/changes:list?pageSize=1000${since}`, { as })).body;
        [cursor, more] = [meta.nextCursor, meta.hasNext];
      }
      return cursor;
    };
    const [ofAnn, ofBob] = [await cursorOf('ann'), await cursorOf('bob')];
    const waiting = (as: string, since: string): Promise<{ name: string; tk: string }[]> =>
      server.data(`GET /api/changes:list?resource=emails&since=${since}&wait=3`, { as });
    const [ann, bob] = [waiting('ann', ofAnn), waiting('bob', ofBob)];
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Told', id: 'd1@example.net' }));
    expect((await ann).map(({ name }) => name)).toEqual(['emails.created']);
    expect(await bob).toEqual([]);
    const { tk } = (await ann)[0]!;
    const since = await cursorOf('ann');
    await server.data(`PATCH /api/emails/${tk}`, { as: 'ann', body: { starred: true } });
    expect(await waiting('ann', since)).toMatchObject([{ name: 'emails.updated', tk, changed: ['starred'] }]);
    expect(await server.data(`GET /api/changes:list?resource=emails&since=${ofBob}`, { as: 'bob' })).toEqual([]);
  });
});
