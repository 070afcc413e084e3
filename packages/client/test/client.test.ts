import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { Client, Failure } from '../src/client.ts';
import { buildQueryString } from '../src/query-string.ts';
import { Realtime, type RealtimeState } from '../src/realtime.ts';

describeEngines('the client', (engine) => {
  let server: TestServer;
  let client: Client;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    client = new Client({ url: server.running.url, token: server.tokens.get('admin')! });
    await client.collections.create({
      name: 'notes',
      fields: [{ name: 'text', type: 'string', unique: true }],
      options: { paranoid: true, logging: true },
    });
    await client.records('notes').createMany(Array.from({ length: 25 }, (_, n) => ({ text: `note ${n}` })));
  });
  afterAll(() => server.stop());

  test('pages by cursor return every record exactly once', async () => {
    const keys: unknown[] = [];
    for await (const page of client.records('notes').pages({ pageSize: 10, sort: ['-id'] }))
      keys.push(page.map((each) => each['id']));
    expect(keys.map((page) => (page as unknown[]).length)).toEqual([10, 10, 5]);
    expect(new Set(keys.flat()).size).toBe(25);
  });

  test('a stream returns every record', async () => {
    const texts: unknown[] = [];
    for await (const note of client.records('notes').stream({ fields: ['text'], sort: ['id'] }))
      texts.push(note['text']);
    expect(texts).toHaveLength(25);
    expect(texts[0]).toBe('note 0');
  });

  test('a read whose filter is too long for a URL is sent by POST', async () => {
    const texts = Array.from({ length: 3000 }, (_, n) => `note ${n}`);
    expect((await client.records('notes').list({ filter: { text: { $in: texts } } })).meta.count).toBe(25);
  });

  test('a write with an outdated version is refused, by ETag and by number', async () => {
    const notes = client.records('notes');
    const record = await notes.getWithEtag(1);
    await notes.update(1, { text: 'first' });
    for (const ifMatch of [record.etag!, 1])
      await expect(notes.update(1, { text: 'lost' }, {}, { ifMatch })).rejects.toMatchObject({
        status: 412,
        code: 'VERSION_STALE',
      });
    expect((await notes.get(1))['text']).toBe('first');
  });

  test('a change of an outdated definition is refused, and changes nothing', async () => {
    const { etag } = await client.collections.getWithEtag('notes');
    await client.collections.update('notes', { description: 'first' }, false, etag);
    await expect(client.collections.update('notes', { description: 'lost' }, false, etag)).rejects.toMatchObject({
      status: 412,
      code: 'VERSION_STALE',
    });
    expect((await client.collections.get('notes')).description).toBe('first');
  });

  test('a destroyed record is in the trash, and can be restored and reverted', async () => {
    const notes = client.records('notes');
    await notes.destroy(2);
    expect((await notes.list({ onlyDeleted: true })).meta.count).toBe(1);
    expect((await notes.restore(2))['id']).toBe(2);
    const { data } = await notes.history(1);
    expect(data.map(({ action }) => action).sort()).toEqual(['created', 'updated']);
    expect((await notes.revert(1, Math.min(...data.map(({ id }) => id))))['text']).toBe('note 0');
  });

  test('fields are created, changed, tried with dryRun and destroyed', async () => {
    const { collections } = client;
    await collections.createField('notes', { name: 'n', type: 'integer' });
    expect((await collections.updateField('notes', 'n', { newName: 'number', title: 'Number' })).title).toBe('Number');
    expect((await collections.updateField('notes', 'number', { title: null })).title).toBeUndefined();
    expect((await collections.previewDestroyField('notes', 'number')).dryRun).toBe(true);
    expect(await collections.destroyField('notes', 'number')).toBe(1);
    expect((await collections.update('notes', { title: 'Notes' })).title).toBe('Notes');
  });

  test('an error carries the code, message and details of the reply', async () => {
    const failure = await client
      .records('notes')
      .create({ text: 'note 3' })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Failure);
    expect(failure).toMatchObject({ status: 409, code: 'UNIQUE_CONFLICT', label: 'Conflict', offline: false });
    expect((failure as Failure).requestId).toBeTruthy();
  });

  test('API keys are created, rotated and counted; a permission is explained; the audit journal is read', async () => {
    const key = await client.apiKeys.issue({ role: 'viewer', name: 'report', expiresIn: '1d' });
    expect((await client.with({ token: key.token }).auth.check()).currentRole).toBe('viewer');
    const next = await client.apiKeys.rotate(key.id, { overlap: 'none' });
    await expect(client.with({ token: key.token, retries: 0 }).auth.check()).rejects.toMatchObject({ status: 401 });
    expect((await client.apiKeys.stats(next.id)).requests).toBe(0);
    expect((await client.apiKeys.get(next.id)).role).toBe('viewer');
    const question = { role: 'viewer', resource: 'notes', action: 'destroy' };
    expect(await client.permissions.explain(question)).toMatchObject({ allowed: false, reason: expect.any(String) });
    expect((await client.audit.verify()).valid).toBe(true);
    expect((await client.collections.field('notes', 'text')).unique).toBe(true);
  });

  test('a file upload reports its progress, and a sent draft can be cancelled', async () => {
    const { id: account } = (await client.records('accounts').create({ address: 'ann@example.com' })) as { id: number };
    const draft = (await client.emails.saveDraft({ account, to: 'bob@example.net', subject: 'Hi' })) as { id: number };
    const progress: [number, number][] = [];
    const content = new Blob([new Uint8Array(300_000)], { type: 'image/png' });
    const file = { filename: 'a.png', contentType: 'image/png', content };
    await client.emails.attach(draft.id, file, (sent, total) => progress.push([sent, total]));
    expect(progress.at(-1)).toEqual([300_000, 300_000]);
    expect(progress.length).toBeGreaterThan(1);
    const [attachment] = (await client.records('emails').relation(draft.id, 'attachments').list()).data;
    const bytes = await client.emails.file(attachment!['id'] as number);
    expect((await bytes.arrayBuffer()).byteLength).toBe(300_000);
    const { id } = (await client.emails.send({ id: draft.id })) as { id: number };
    expect(await client.emails.cancelSend(id)).toMatchObject({ draft: true });
  });

  test('a stream that is no longer read, or is aborted, is closed', async () => {
    for await (const _ of client.records('notes').stream()) break;
    const ended = new AbortController();
    const reading = async (): Promise<void> => {
      for await (const _ of client.records('notes').stream({}, { signal: ended.signal })) ended.abort();
    };
    await expect(reading()).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('applications are created, entered and left', async () => {
    await client.applications().create({ name: 'shop' });
    const { token } = await client.applications().enter('shop');
    expect((await client.with({ application: 'shop', token }).auth.check()).application).toBe('shop');
    expect(await client.applications().destroy('shop', 'shop')).toBe(1);
  });

  test('a socket that lost its connection reconnects without missing events', async () => {
    const realtime = new Realtime({ url: server.running.url, token: () => server.tokens.get('admin')! });
    const keys: (string | null)[] = [];
    const states: RealtimeState[] = [];
    realtime.watch((state) => states.push(state));
    await new Promise<void>((resolve) => {
      realtime.subscribe(
        { resource: 'notes', filter: { id: { $lt: 10 } } },
        { subscribed: () => resolve(), event: ({ tk: key }) => keys.push(key) },
      );
    });
    await client.records('notes').update(4, { text: 'a' });
    await expect.poll(() => keys).toEqual(['4']);
    const address = new URL(server.running.url);
    await server.running.stop();
    await server.boot({ PORT: address.port });
    await new Client({ url: server.running.url, token: server.tokens.get('admin')! })
      .records('notes')
      .update(5, { text: 'b' });
    await expect.poll(() => keys).toEqual(['4', '5']);
    expect(states.slice(0, 5)).toEqual(['connecting', 'open', 'waiting', 'connecting', expect.any(String)]);
    realtime.close();
  });

  test('a socket that reconnects between two subscriptions receives events of the second one', async () => {
    const realtime = new Realtime({ url: server.running.url, token: () => server.tokens.get('admin')! });
    const listening = (): Promise<() => void> =>
      new Promise((resolve) => {
        const end = realtime.subscribe({ resource: 'notes' }, { subscribed: () => resolve(end) });
      });
    (await listening())();
    realtime.reconnect();
    await listening();
    realtime.close();
  });

  test('an invalid credential ends the socket without further attempts', async () => {
    const realtime = new Realtime({ url: server.running.url, token: () => 'tbs_nothing' });
    const states: RealtimeState[] = [];
    realtime.watch((state) => states.push(state));
    realtime.subscribe({ resource: 'notes' }, {});
    await expect.poll(() => states.at(-1)).toBe('unauthorised');
    realtime.close();
  });
});

describe('retries', () => {
  let stub: Server | undefined;
  let requests: { method: string; body: string }[];
  afterEach(() => void stub?.close());

  async function startStubServer(
    ...replies: (readonly [status: number, headers?: Record<string, string>, body?: object] | 'cut')[]
  ): Promise<Client> {
    requests = [];
    stub = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const nextReply = replies[requests.length] ?? replies.at(-1)!;
      requests.push({ method: request.method!, body });
      if (nextReply === 'cut') return void request.socket.destroy();
      const [status, headers = {}, reply = { data: 1 }] = nextReply;
      response.writeHead(status, headers).end(JSON.stringify(reply));
    });
    await new Promise<void>((resolve) => stub!.listen(0, '127.0.0.1', resolve));
    return new Client({ url: `http://127.0.0.1:${(stub.address() as AddressInfo).port}`, token: 'x' });
  }
  const busy = { error: 'Too Many Requests', message: 'wait', code: 'RATE_LIMITED', retryAfter: 0 };

  test('replies with 429 or 503 are retried, also for writes, because nothing was changed', async () => {
    const client = await startStubServer(
      [429, { 'retry-after': '0' }, busy],
      [503, { 'retry-after': '0' }, busy],
      [200],
    );
    expect(await client.post('posts:create', { a: 1 })).toBe(1);
    expect(requests.map(({ body }) => body)).toEqual(['{"a":1}', '{"a":1}', '{"a":1}']);
  });

  test('a retry is sent in the name of the user who was signed in at the first attempt', async () => {
    const stubbed = await startStubServer([503, { 'retry-after': '0' }, busy], [200]);
    const users = ['ann', 'bob'];
    const headers: (string | null)[][] = [];
    const client = stubbed.with({
      token: () => users[0]!,
      role: () => `${users[0]}s`,
      fetch: (url, request) => {
        const sent = new Headers(request?.headers);
        headers.push([sent.get('authorization'), sent.get('x-role')]);
        return fetch(url, request);
      },
    });
    const reply = client.post('posts:create', { a: 1 });
    users.shift();
    expect(await reply).toBe(1);
    expect(headers).toEqual([
      ['Bearer ann', 'anns'],
      ['Bearer ann', 'anns'],
    ]);
  });

  test('a retry is not made if the wait is too long or the attempts are used up', async () => {
    const slow = await startStubServer([429, { 'retry-after': '60' }, { ...busy, retryAfter: 60 }]);
    await expect(slow.call('posts:list')).rejects.toMatchObject({ status: 429, retryAfter: 60 });
    expect(requests).toHaveLength(1);
    const never = await startStubServer([429, { 'retry-after': '0' }, busy]);
    await expect(never.call('posts:list')).rejects.toMatchObject({ status: 429 });
    expect(requests).toHaveLength(4);
  });

  test('after a network error, reads and writes with an Idempotency-Key are retried; other writes report an unknown outcome', async () => {
    expect((await (await startStubServer('cut', [200])).call('posts:list')).data).toBe(1);
    expect(
      (await (await startStubServer('cut', [200])).call('posts:create', { method: 'POST', idempotencyKey: 'k' })).data,
    ).toBe(1);
    await expect((await startStubServer('cut', [200])).post('posts:create')).rejects.toMatchObject({
      code: 'NETWORK',
      offline: true,
    });
    expect(requests).toHaveLength(1);
  });

  test('a 503 from a proxy is only retried for reads, because a write may have been executed', async () => {
    const gateway = [503, { 'retry-after': '0' }, { page: 'unavailable' }] as const;
    expect((await (await startStubServer(gateway, [200])).call('posts:list')).data).toBe(1);
    await expect((await startStubServer(gateway, [200])).post('posts:create')).rejects.toMatchObject({ status: 503 });
    expect(requests).toHaveLength(1);
  });

  test('a truncated reply or a reply from a proxy leaves the outcome of a write unknown', async () => {
    const client = await startStubServer([502, {}, { page: 'bad gateway' }], [200]);
    expect((await client.call('posts:list')).data).toBe(1);
    await expect((await startStubServer([504, {}, { page: 'late' }])).post('posts:create')).rejects.toMatchObject({
      status: 504,
      outcomeUnknown: true,
    });
    expect(requests).toHaveLength(1);
    await expect((await startStubServer([413, {}, { page: 'too large' }])).post('posts:create')).rejects.toMatchObject({
      status: 413,
      outcomeUnknown: false,
    });
    stub?.close();
    stub = createServer((_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"data":', () => response.destroy());
    });
    await new Promise<void>((resolve) => stub!.listen(0, '127.0.0.1', resolve));
    const cut = new Client({ url: `http://127.0.0.1:${(stub.address() as AddressInfo).port}` });
    await expect(cut.post('posts:create')).rejects.toMatchObject({ code: 'NETWORK', outcomeUnknown: true });
  });

  test('a stream that ends early is an error, not a short list', async () => {
    stub = createServer((_, response) => {
      response.writeHead(200).write('{"id":1}\n', () => setTimeout(() => response.destroy(), 50));
    });
    await new Promise<void>((resolve) => stub!.listen(0, '127.0.0.1', resolve));
    const client = new Client({ url: `http://127.0.0.1:${(stub.address() as AddressInfo).port}` });
    const ids: unknown[] = [];
    const reading = async (): Promise<void> => {
      for await (const post of client.records('posts').stream()) ids.push(post['id']);
    };
    await expect(reading()).rejects.toMatchObject({ code: 'STREAM_BROKEN' });
    expect(ids).toEqual([1]);
  });

  describe('the last line of a stream', () => {
    const readStream = async (lines: readonly object[]): Promise<unknown[]> => {
      stub = createServer((_, response) => {
        response.writeHead(200, { 'x-request-id': 'request-1' });
        response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      });
      await new Promise<void>((resolve) => stub!.listen(0, '127.0.0.1', resolve));
      const client = new Client({ url: `http://127.0.0.1:${(stub.address() as AddressInfo).port}` });
      return Array.fromAsync(client.records('posts').stream());
    };
    const endLine = { error: 'Service Unavailable', message: 'posts was changed.', requestId: 'request-1' };

    test('is an error if it carries the id of the request', async () => {
      await expect(readStream([{ id: 1 }, endLine])).rejects.toMatchObject({
        code: 'STREAM_BROKEN',
        message: 'posts was changed.',
        requestId: 'request-1',
      });
    });

    test('is a record if its only fields are error and message', async () => {
      const records = [
        { error: 'E42', message: 'Paper jam' },
        { error: 'E43', message: 'No toner', requestId: 'request-2' },
        { error: 'E44', message: null },
      ];
      expect(await readStream(records)).toEqual(records);
    });
  });

  test('other refusals are never retried', async () => {
    const client = await startStubServer([404, {}, { error: 'Not Found', message: 'no', code: 'RECORD_UNKNOWN' }]);
    await expect(client.call('posts:get')).rejects.toMatchObject({ code: 'RECORD_UNKNOWN' });
    expect(requests).toHaveLength(1);
  });

  test('a reply from a proxy is reported as such', async () => {
    const client = await startStubServer([418, {}, { teapot: true }]);
    await expect(client.call('posts:get')).rejects.toMatchObject({ code: 'REPLY_UNREADABLE', status: 418 });
  });

  test('an aborted request is not reported as a network error', async () => {
    const client = await startStubServer([200]);
    await expect(client.call('posts:list', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });
});

test('parameters are written as a query string', () => {
  expect(
    buildQueryString({
      fields: ['a', 'b'],
      filter: { a: 1 },
      filterByTk: [1, 2],
      page: 2,
      versions: true,
      sort: undefined,
    }),
  ).toBe('?fields=a%2Cb&filter=%7B%22a%22%3A1%7D&filterByTk=%5B1%2C2%5D&page=2&versions=true');
  expect(buildQueryString({})).toBe('');
});
