import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { computeMailIdentity } from '../../src/mail/parse/mail-identity.ts';
import { describeEngines } from '../support/engines.ts';
import { upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const eml = { 'content-type': 'message/rfc822' };
const from = (account: number | string): string => `POST /api/emails:import?account=${account}`;

/** Different words with the same beginning. */
const manyWords = (count: number, beginning: string): string =>
  Array.from({ length: count }, (_, index) => beginning + String(index).padStart(6, '0')).join(' ');

/** The CPU time that this thread has used, in milliseconds. */
const processorTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

function costOf(work: () => unknown): number {
  const before = processorTime();
  work();
  return processorTime() - before;
}

/** Measures the CPU time of each turn of the event loop; `end` returns the longest one. Waiting is not counted. */
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

describeEngines('import of messages', (engine) => {
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
      name: 'one raw message is stored',
      request: from(1),
      as: 'ann',
      headers: eml,
      body: makeRawMail({ subject: 'Broken turntable', from: 'Cora <cora@example.net>', id: 'a1@example.net' }),
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
      name: 'the same bytes again are reported as a duplicate',
      request: from('shop@example.com'),
      as: 'ann',
      headers: eml,
      body: makeRawMail({ subject: 'Broken turntable', from: 'Cora <cora@example.net>', id: 'a1@example.net' }),
      expect: { status: 200, body: { data: { stored: 0, duplicates: 1, ids: [] } } },
    },
    {
      name: 'the owner of the account lists the message',
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
      name: 'another user does not list the message',
      request: 'GET /api/emails:list',
      as: 'bob',
      expect: { status: 200, body: { data: [] }, absent: ['turntable'] },
    },
    {
      name: 'an administrator who is no member does not list the message',
      request: 'GET /api/emails:list',
      expect: { status: 200, body: { data: [] }, absent: ['turntable'] },
    },
    {
      name: "an import into another user's account is refused with 403",
      request: from(1),
      as: 'bob',
      headers: eml,
      body: makeRawMail({ subject: 'Intruder' }),
      expect: { status: 403, code: 'NO_PERMISSION', body: { error: 'No permissions' } },
    },
    {
      name: 'an import by an administrator who is no member is refused with 403',
      request: from(1),
      headers: eml,
      body: makeRawMail({ subject: 'Intruder' }),
      expect: { status: 403, code: 'NO_PERMISSION', body: { error: 'No permissions' } },
    },
    {
      name: 'an unknown account gets the same reply',
      request: from(99),
      as: 'bob',
      headers: eml,
      body: makeRawMail({ subject: 'Intruder' }),
      expect: { status: 403, code: 'NO_PERMISSION', body: { error: 'No permissions' } },
    },
    {
      name: 'an import without a credential is refused with 401',
      request: from(1),
      as: 'nobody',
      headers: eml,
      body: makeRawMail({ subject: 'Intruder' }),
      expect: { status: 401, code: 'TOKEN_MISSING' },
    },
    {
      name: 'a JSON body is refused with 415',
      request: from(1),
      as: 'ann',
      body: { raw: 'x' },
      expect: { status: 415, code: 'MEDIA_TYPE_UNSUPPORTED' },
    },
    {
      name: 'an import without an account is refused with 400',
      request: 'POST /api/emails:import',
      as: 'ann',
      headers: eml,
      body: makeRawMail({ subject: 'Lost' }),
      expect: { status: 400, code: 'PARAMETER_INVALID' },
    },
    {
      name: 'a second account with the same address is created',
      request: 'POST /api/accounts:create',
      as: 'ann',
      body: { address: 'shop@example.com' },
      expect: { status: 200, events: ['accounts.created'] },
    },
    {
      name: 'an address that two accounts have is refused',
      request: from('shop@example.com'),
      as: 'ann',
      headers: eml,
      body: makeRawMail({ subject: 'Lost' }),
      expect: { status: 400, code: 'PARAMETER_INVALID' },
    },
    {
      name: 'an empty body is refused',
      request: from(1),
      as: 'ann',
      headers: eml,
      body: '',
      expect: { status: 400, code: 'BODY_INVALID' },
    },
    ...['', '%20', '%00', 'a%00b', '%0D%0A', 'x'.repeat(1001), encodeURIComponent('騴'.repeat(700))].map(
      (mailbox): Scenario => ({
        name: `an invalid mailbox path is refused with 400: ${mailbox.slice(0, 9)}`,
        request: `${from(1)}&mailbox=${mailbox}`,
        as: 'ann',
        headers: eml,
        body: makeRawMail({ subject: 'Lost' }),
        expect: { status: 400, code: 'PARAMETER_INVALID' },
      }),
    ),
    ...['flags=unread', 'flags=read&flags=draft', 'receivedAt=yesterday', 'receivedAt=2026-02-30T00:00:00'].map(
      (parameter): Scenario => ({
        name: `an invalid parameter is refused with 400: ${parameter}`,
        request: `${from(1)}&${parameter}`,
        as: 'ann',
        headers: eml,
        body: makeRawMail({ subject: 'Lost' }),
        expect: { status: 400, code: 'PARAMETER_INVALID' },
      }),
    ),
    {
      name: 'a message as the body of another action is refused with 415',
      request: 'POST /api/accounts:create',
      as: 'ann',
      headers: eml,
      body: makeRawMail({ subject: 'Lost' }),
      expect: { status: 415, code: 'MEDIA_TYPE_UNSUPPORTED' },
    },
    {
      name: 'an Idempotency-Key is refused',
      request: from(1),
      as: 'ann',
      headers: { ...eml, 'idempotency-key': 'k' },
      body: makeRawMail({ subject: 'Lost' }),
      expect: { status: 400, code: 'HEADER_INVALID' },
    },
  ];
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test.each([
    ['text', { text: manyWords(10_000, 'ж'.repeat(53)) }],
    ['subject', { subject: manyWords(20_000, 'a'), text: manyWords(10_000, 'é'.repeat(50)) }],
  ])('a %s with very many words is stored and found', async (name, mail) => {
    const raw = makeRawMail({ id: `${name}@words.example`, headers: ['X-Needle: 1'], ...mail });
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

  test('an interrupted upload stores nothing, and its temporary files are private', async () => {
    const before = process.env['TMPDIR'];
    const folder = mkdtempSync(join(tmpdir(), 'tablinum-test-'));
    process.env['TMPDIR'] = folder;
    const broken = new AbortController();
    const seen: number[] = [];
    async function* pieces(): AsyncGenerator<Buffer> {
      yield Buffer.from(`From a@b.example Thu Aug 22 12:36:23 2002\n${makeRawMail({ subject: 'Shattered' })}\n\n`);
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

  test('an mbox is imported and answered with a report', async () => {
    const box = [1, 2, 3].map(
      (n) => `From a@b.example Thu Aug 22 12:36:23 2002\n${makeRawMail({ id: `m${n}@box.example` })}\n\n`,
    );
    const report = await upload(server, 'ann', 1, box.join(''), 'application/mbox');
    expect(report).toMatchObject({ stored: 3, failed: 0 });
    const ids = (
      await server.data('GET /api/emails?filter={"messageId":{"$endsWith":"@box.example"}}', { as: 'ann' })
    ).map(({ id }: { id: number }) => id);
    await server.data('POST /api/emails:destroy?force=true', { as: 'ann', body: { ids } });
  });

  test('flags, labels and folders from the headers of mail programs are stored, and the reply contains the new ids', async () => {
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
      makeRawMail({ id: 'f@x', headers: ['X-Status: D', 'X-Gmail-Labels: Trash'] }),
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

  test('parallel imports into new mailboxes wait for each other and do not deadlock', async () => {
    const { id } = await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'many@example.com' } });
    const names = Array.from({ length: 24 }, (_, index) => (index % 3 === 0 ? 'Archive' : `Box ${index}`));
    const stored = await Promise.all(
      ['Archives', ...names].map((name, index) =>
        upload(server, 'bob', id, makeRawMail({ id: `${index}@many.example` }), 'message/rfc822', `&mailbox=${name}`),
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
    'the import of a %s of 24 MB does not block the event loop',
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
      // If the message were read in one step, that step would take at least as long as computing its identity. Up to six
      // rounds are tried, because a step may include a garbage collection and work of the client, which runs in this process.
      const limit = costOf(() => computeMailIdentity(raw)) * 0.8;
      const longest: number[] = [];
      while (longest.length < 6 && !longest.some((each) => each < limit)) {
        const { id } = await server.data('POST /api/accounts:create', {
          as: 'bob',
          body: { address: 'big@example.com' },
        });
        const steps = watchSteps();
        expect((await upload(server, 'bob', id, pieces(), type)).stored).toBe(1);
        longest.push(steps.end());
        await server.data(`POST /api/accounts:destroy?filterByTk=${id}`, { as: 'bob' });
      }
      expect(Math.min(...longest)).toBeLessThan(limit);
    },
  );

  test('imported mail survives a restart', async () => {
    await server.running.stop();
    await server.boot();
    expect(await server.data('GET /api/emails:list', { as: 'ann' })).toHaveLength(1);
  });
});
