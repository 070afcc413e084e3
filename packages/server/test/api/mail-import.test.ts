import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { computeMailIdentity } from '../../src/mail/parse/mail-identity.ts';
import { describeEngines } from '../support/engines.ts';
import { upload } from '../support/mail-world.ts';
import { rawMail } from '../support/raw-mail.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const eml = { 'content-type': 'message/rfc822' };
const from = (account: number | string): string => `POST /api/emails:import?account=${account}`;

/** Different ones, of one beginning. */
const manyWords = (count: number, beginning: string): string =>
  Array.from({ length: count }, (_, index) => beginning + String(index).padStart(6, '0')).join(' ');

/** Milliseconds of the processor that this thread has used. */
const processorTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

function costOf(work: () => unknown): number {
  const before = processorTime();
  work();
  return processorTime() - before;
}

/** Watches how much of the processor the turns of the event loop use; `end` gives the longest one. (Waiting for others counts nothing.) */
function watchSteps(): { end(): number } {
  let longest = 0;
  let before = processorTime();
  let next: NodeJS.Timeout;
  const turn = (): void => {
    longest = Math.max(longest, processorTime() - before);
    before = processorTime();
    next = setTimeout(turn, 2);
  };
  turn();
  return {
    end: () => {
      clearTimeout(next);
      return longest;
    },
  };
}

describeEngines('messages are brought in', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/users:create', {
      body: { email: 'ann@example.com', password: 'correct horse', roles: ['editor'] },
    });
    await server.data('POST /api/users:create', {
      body: { email: 'bob@example.com', password: 'correct horse', roles: ['editor'] },
    });
    for (const name of ['ann', 'bob'])
      server.tokens.set(name, await server.signIn(`${name}@example.com`, 'correct horse'));
    await server.data('POST /api/accounts:create', { as: 'ann', body: { name: 'Shop', address: 'Shop@Example.com' } });
  });
  afterAll(() => server.stop());

  const scenarios: Scenario[] = [
    {
      name: 'one raw message',
      request: from(1),
      as: 'ann',
      headers: eml,
      body: rawMail({ subject: 'Broken turntable', from: 'Cora <cora@example.net>', id: 'a1@example.net' }),
      expect: {
        status: 200,
        body: {
          data: {
            stored: 1,
            duplicates: 0,
            unparsable: 0,
            failed: 0,
            skipped: 0,
            ids: [expect.any(Number)],
            problems: [],
          },
        },
        events: ['mailboxes.created', 'emails.created', 'conversations.created'],
      },
    },
    {
      name: 'the same bytes again are a duplicate',
      request: from('shop@example.com'),
      as: 'ann',
      headers: eml,
      body: rawMail({ subject: 'Broken turntable', from: 'Cora <cora@example.net>', id: 'a1@example.net' }),
      expect: { status: 200, body: { data: { stored: 0, duplicates: 1, ids: [] } } },
    },
    {
      name: 'its list shows it to the owner of the account',
      request: 'GET /api/emails:list',
      as: 'ann',
      expect: {
        status: 200,
        body: {
          data: [{ subject: 'Broken turntable', from: [{ name: 'Cora', address: 'cora@example.net' }], read: false }],
        },
      },
    },
    {
      name: 'and to nobody else',
      request: 'GET /api/emails:list',
      as: 'bob',
      expect: { status: 200, body: { data: [] }, absent: ['turntable'] },
    },
    {
      name: 'not to an admin either',
      request: 'GET /api/emails:list',
      expect: { status: 200, body: { data: [] }, absent: ['turntable'] },
    },
    {
      name: 'into the account of somebody else is 403',
      request: from(1),
      as: 'bob',
      headers: eml,
      body: rawMail({ subject: 'Intruder' }),
      expect: { status: 403, body: { error: 'No permissions' } },
    },
    {
      name: 'an admin who is no member is refused too',
      request: from(1),
      headers: eml,
      body: rawMail({ subject: 'Intruder' }),
      expect: { status: 403, body: { error: 'No permissions' } },
    },
    {
      name: 'an account that is not there answers the same',
      request: from(99),
      as: 'bob',
      headers: eml,
      body: rawMail({ subject: 'Intruder' }),
      expect: { status: 403, body: { error: 'No permissions' } },
    },
    {
      name: 'without a credential 401',
      request: from(1),
      as: 'nobody',
      headers: eml,
      body: rawMail({ subject: 'Intruder' }),
      expect: { status: 401 },
    },
    {
      name: 'a JSON body is 415',
      request: from(1),
      as: 'ann',
      body: { raw: 'x' },
      expect: { status: 415 },
    },
    {
      name: 'without an account 400',
      request: 'POST /api/emails:import',
      as: 'ann',
      headers: eml,
      body: rawMail({ subject: 'Lost' }),
      expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
    },
    {
      name: 'one more account of the address',
      request: 'POST /api/accounts:create',
      as: 'ann',
      body: { address: 'shop@example.com' },
      expect: { status: 200, events: ['accounts.created'] },
    },
    {
      name: 'an address of two accounts names neither',
      request: from('shop@example.com'),
      as: 'ann',
      headers: eml,
      body: rawMail({ subject: 'Lost' }),
      expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
    },
    {
      name: 'nothing is no message',
      request: from(1),
      as: 'ann',
      headers: eml,
      body: '',
      expect: { status: 400, body: { code: 'BODY_INVALID' } },
    },
    ...['', '%20', '%00', 'a%00b', '%0D%0A', 'x'.repeat(1001), encodeURIComponent('騴'.repeat(700))].map(
      (mailbox): Scenario => ({
        name: `a mailbox that is no path is 400: ${mailbox.slice(0, 9)}`,
        request: `${from(1)}&mailbox=${mailbox}`,
        as: 'ann',
        headers: eml,
        body: rawMail({ subject: 'Lost' }),
        expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
      }),
    ),
    ...['flags=unread', 'flags=read&flags=draft', 'receivedAt=yesterday', 'receivedAt=2026-02-30T00:00:00'].map(
      (parameter): Scenario => ({
        name: `what cannot be known of a message is 400: ${parameter}`,
        request: `${from(1)}&${parameter}`,
        as: 'ann',
        headers: eml,
        body: rawMail({ subject: 'Lost' }),
        expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
      }),
    ),
    {
      name: 'elsewhere an upload is 415',
      request: 'POST /api/accounts:create',
      as: 'ann',
      headers: eml,
      body: rawMail({ subject: 'Lost' }),
      expect: { status: 415 },
    },
    {
      name: 'an Idempotency-Key does not go with it',
      request: from(1),
      as: 'ann',
      headers: { ...eml, 'idempotency-key': 'k' },
      body: rawMail({ subject: 'Lost' }),
      expect: { status: 400, body: { code: 'HEADER_INVALID' } },
    },
  ];
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test.each([
    ['text', { text: manyWords(10_000, 'ж'.repeat(53)) }],
    ['subject', { subject: manyWords(20_000, 'a'), text: manyWords(10_000, 'é'.repeat(50)) }],
  ])('no %s has more words than can be kept', async (name, mail) => {
    const raw = rawMail({ id: `${name}@words.example`, headers: ['X-Needle: 1'], ...mail });
    expect(await upload(server, 'ann', 1, raw)).toMatchObject({ stored: 1, failed: 0 });
    const found = await server.data(
      `GET /api/emails?search=${name === 'text' ? `${'ж'.repeat(53)}000003` : 'a000003'}`,
      {
        as: 'ann',
      },
    );
    expect(found).toMatchObject([{ messageId: `${name}@words.example` }]);
    await server.data('POST /api/emails:destroy?force=true', { as: 'ann', body: { ids: [found[0].id] } });
  });

  test('an upload that breaks off stores nothing, and lies where nobody else looks', async () => {
    const before = process.env['TMPDIR'];
    const folder = mkdtempSync(join(tmpdir(), 'tablinum-test-'));
    process.env['TMPDIR'] = folder;
    const broken = new AbortController();
    const seen: number[] = [];
    async function* pieces(): AsyncGenerator<Buffer> {
      yield Buffer.from(`From a@b.example Thu Aug 22 12:36:23 2002\n${rawMail({ subject: 'Shattered' })}\n\n`);
      for (let look = 0; look < 50 && seen.at(-1) !== 0; look += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        seen.push(readdirSync(folder).length);
      }
      broken.abort();
      yield Buffer.from('x');
    }
    const sent = fetch(`${server.running.url}/api/emails:import?account=1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.tokens.get('ann')}`, 'content-type': 'application/mbox' },
      body: pieces(),
      duplex: 'half',
      signal: broken.signal,
    } as never);
    await expect(sent).rejects.toThrow();
    expect(seen.at(-1)).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await server.data('GET /api/emails?search=shattered', { as: 'ann' })).toEqual([]);
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    rmSync(folder, { recursive: true });
  });

  test('an mbox comes in, and is answered', async () => {
    const box = [1, 2, 3].map(
      (n) => `From a@b.example Thu Aug 22 12:36:23 2002\n${rawMail({ id: `m${n}@box.example` })}\n\n`,
    );
    const report = await upload(server, 'ann', 1, box.join(''), 'application/mbox');
    expect(report).toMatchObject({ stored: 3, failed: 0 });
    const ids = (
      await server.data('GET /api/emails?filter={"messageId":{"$endsWith":"@box.example"}}', { as: 'ann' })
    ).map(({ id }: { id: number }) => id);
    await server.data('POST /api/emails:destroy?force=true', { as: 'ann', body: { ids } });
  });

  test('flags, labels and folders that mail programs note are kept, and the ids of what was made are told', async () => {
    const { id } = await server.data('POST /api/accounts:create', {
      as: 'bob',
      body: { address: 'notes@example.com' },
    });
    await server.data('POST /api/mailboxes:create', { as: 'bob', body: { accountId: id, path: 'Junk', role: 'junk' } });
    const message = (separator: string, headers: string, name: string): string =>
      `${separator}\n${headers}\nMessage-ID: <${name}@notes.example>\nSubject: ${name}\n\nx\n\n`;
    const gmail = 'From 1@xxx Thu Aug 22 12:36:23 +0000 2002';
    const box = [
      message(gmail, 'X-Gmail-Labels: Inbox,Unread,Orders', 'new'),
      message(gmail, 'X-Gmail-Labels: Spam,Opened', 'spam'),
      message(gmail, 'X-Gmail-Labels: Starred', 'kept'),
      message('From ', 'X-Mozilla-Status: 0009', 'expunged'),
      message('From ', 'X-Mozilla-Status: 0003', 'read'),
      message(gmail, 'Status: RO\nX-Status: D', 'deleted'),
      `${gmail}\nA: b\n\nFrom here it\nLooks: like a message\n`,
    ];
    const report = await upload(server, 'bob', id, box.join(''), 'application/mbox');
    expect(report).toMatchObject({ stored: 6, skipped: 1, failed: 0 });
    expect(report.problems).toMatchObject([
      { message: 7, outcome: 'uncertain', reason: expect.stringContaining('Byte offsets') },
    ]);
    const made = await server.data(`GET /api/emails:list?filter={"id":{"$in":[${report.ids}]}}`, { as: 'bob' });
    const shown = made.map((each: Record<string, unknown>) => [
      each['subject'],
      each['folder'],
      each['read'],
      each['starred'],
      each['labels'],
    ]);
    expect(shown.toSorted()).toEqual([
      ['', 'inbox', false, false, []],
      ['deleted', 'trash', true, false, []],
      ['kept', 'archive', true, true, []],
      ['new', 'inbox', false, false, ['Orders']],
      ['read', 'inbox', true, false, []],
      ['spam', 'junk', true, false, []],
    ]);
    const sent = await upload(
      server,
      'bob',
      id,
      rawMail({ id: 'f@x', headers: ['X-Status: D', 'X-Gmail-Labels: Trash'] }),
      'message/rfc822',
      '&flags=read,starred&receivedAt=2001-01-01T00:00:00Z',
    );
    const one = await server.data(`GET /api/emails/${sent.ids[0]}`, { as: 'bob' });
    expect(one).toMatchObject({
      folder: 'inbox',
      labels: [],
      read: true,
      starred: true,
      receivedAt: '2001-01-01T00:00:00.000Z',
    });
    await server.data('POST /api/emails:destroy?force=true', {
      as: 'bob',
      body: { ids: [...report.ids, ...sent.ids] },
    });
    await server.data(`POST /api/accounts:destroy?filterByTk=${id}`, { as: 'bob' });
  });

  test('many at once, into mailboxes that are not there yet, wait for each other and not for ever', async () => {
    const { id } = await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'many@example.com' } });
    const names = Array.from({ length: 24 }, (_, index) => (index % 3 === 0 ? 'Archive' : `Box ${index}`));
    const stored = await Promise.all(
      ['Archives', ...names].map((name, index) =>
        upload(server, 'bob', id, rawMail({ id: `${index}@many.example` }), 'message/rfc822', `&mailbox=${name}`),
      ),
    );
    expect(stored.map((each) => each.stored)).toEqual(stored.map(() => 1));
    const boxes: { path: string; role: string | null; messages: number }[] = await server.data(
      'GET /api/mailboxes?pageSize=100',
      { as: 'bob' },
    );
    expect(boxes.filter(({ role }) => role === 'archive')).toHaveLength(1);
    expect(boxes.reduce((sum, { messages }) => sum + messages, 0)).toBe(25);
  });

  test.each(['message/rfc822', 'application/mbox'])(
    'a %s of 24 MB holds the event loop up by no long step',
    async (type) => {
      const line = `${Buffer.alloc(57, 'a file, \0').toString('base64')}\r\n`;
      const head = `From: a@b.example\r\nSubject: ${type}\r\nContent-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n`;
      const raw = Buffer.concat([Buffer.from(head), Buffer.alloc(24 * 1024 * 1024, line)]);
      const separator = type === 'application/mbox' ? 'From a@b.example Fri Nov 20 10:00:00 2026\n' : '';
      const pieceBytes = 256 * 1024;
      async function* pieces(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(separator);
        for (let from = 0; from < raw.length; from += pieceBytes) yield raw.subarray(from, from + pieceBytes);
      }
      const { id } = await server.data('POST /api/accounts:create', {
        as: 'bob',
        body: { address: 'big@example.com' },
      });
      const steps = watchSteps();
      expect((await upload(server, 'bob', id, pieces(), type)).stored).toBe(1);
      const longest = steps.end();
      // Against what it takes here to read the message once, whatever machine this is: that was one step of several before.
      expect(longest).toBeLessThan(
        Math.min(
          costOf(() => computeMailIdentity(raw)),
          costOf(() => computeMailIdentity(raw)),
        ) / 2,
      );
      await server.data(`POST /api/accounts:destroy?filterByTk=${id}`, { as: 'bob' });
    },
  );

  test('a message that lies in two mailboxes is in both, for lists, counts, flags, moves and the export', async () => {
    const { id } = await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'two@example.com' } });
    const both = rawMail({ subject: 'In both', id: 'both@two.example' });
    const mbox = (mail: string): string => `From a@b.example Fri Nov 20 10:00:00 2026\n${mail}\n\n`;
    const [key] = (await upload(server, 'bob', id, both)).ids;
    const other = rawMail({ subject: 'Another', id: 'one@two.example' });
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

    // Out of one of them, and not out of one in which it does not lie.
    await server.play({
      name: 'not there',
      request: 'POST /api/emails:move',
      as: 'bob',
      body: { ids: [key], from: 'Nowhere', mailbox: 'inbox' },
      expect: { status: 400, unchanged: true },
    } as Scenario);
    await upload(server, 'bob', id, rawMail({ id: 'more@two.example' }), 'message/rfc822', '&mailbox=Archive');
    await act('move', { from: 'inbox', mailbox: 'archive' });
    expect(await counts()).toEqual({ INBOX: [0, 0], 'Clients/Ada': [2, 1], Archive: [2, 1] });
    expect(await subjects('folder=inbox')).toEqual([]);
    expect((await server.data(`GET /api/emails/${key}`, { as: 'bob' })).folder).toBe('Clients/Ada');

    // What lies in the trash and elsewhere is found wherever trash is left out; the trash shows it too.
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

  test('a row filter by folder is not opened by a second mailbox', async () => {
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
    const secret = rawMail({ subject: 'Salaries', id: 'secret@front.example' });
    const open = rawMail({ subject: 'Welcome', id: 'open@front.example' });
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

  test('what was stored outlives a restart', async () => {
    await server.running.stop();
    await server.boot();
    expect(await server.data('GET /api/emails:list', { as: 'ann' })).toHaveLength(1);
  });
});
