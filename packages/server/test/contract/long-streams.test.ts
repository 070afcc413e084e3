import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { day, MovingClock } from '../support/moving-clock.ts';
import { TestServer } from '../support/scenario.ts';

/** 32 MB in all. 20 MB were not enough: sockets and clients sometimes buffered everything before it was read. */
const records = 4000;

/** Streams that take long: permissions and definitions change while they run. */
describeEngines('long-running streams', (engine) => {
  const clock = new MovingClock();
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine, { clock });
    const make = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    await make('collections:create', { name: 'other', fields: [] });
    await make('collections:create', {
      name: 'items',
      fields: [
        { name: 'n', type: 'integer' },
        { name: 'text', type: 'text' },
      ],
    });
    await make('roles:create', { name: 'reader' });
    await make('permissions:create', { role: 'reader', resource: 'items', actions: 'view' });
    const text = 'x'.repeat(8000);
    for (let from = 0; from < records; from += 500)
      await make(
        'items:create',
        Array.from({ length: 500 }, (_, index) => ({ n: (from + index) % 17, text })),
      );
  }, 60_000);
  afterAll(() => server.stop());

  /** The X-Request-Id of the last stream. */
  let requestId: string | null;

  /** Reads a stream so slowly that `meanwhile` runs long before its end. @returns its lines. */
  async function lines(query: string, token: string, meanwhile: () => Promise<unknown>): Promise<object[]> {
    const reply = await fetch(`${server.running.url}/api/items:list?paginate=false&${query}`, {
      headers: { authorization: `Bearer ${token}`, accept: 'application/x-ndjson' },
    });
    requestId = reply.headers.get('x-request-id');
    const reader = reply.body!.getReader();
    const first = await reader.read();
    await meanwhile();
    const pieces = [first.value!];
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) pieces.push(piece.value);
    return Buffer.concat(pieces)
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
  }

  for (const query of ['', 'sort=n'])
    test(`continue when other roles and other collections are changed (${query || 'by key'})`, async () => {
      const token = await server.createKey('reader');
      const all = await lines(query, token, async () => {
        await server.data('POST /api/roles:create', { body: { name: `r${query.length}` } });
        await server.data('POST /api/fields:create', {
          body: { collectionName: 'other', name: `f${query.length}`, type: 'string' },
        });
      });
      expect(all).toHaveLength(records);
      expect(all.every((each) => 'id' in each)).toBe(true);
    });

  /** Every event that ends a credential. Nothing more is read with it afterwards. */
  const ends: readonly (readonly [string, (key: { id: number }, userId: number) => Promise<unknown>])[] = [
    ['its key is revoked', ({ id }) => server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`)],
    ['its key is rotated without overlap', ({ id }) => rotated(id)],
    ['its key expires', async () => clock.advance(40 * day)],
    ['its user is suspended', (_, id) => changed(id, { status: 'suspended' })],
    ['an administrator gives its user another password', (_, id) => changed(id, { password: 'another password' })],
    ['its user loses the role', (_, id) => changed(id, { roles: [] })],
  ];
  const rotated = (id: number): Promise<unknown> =>
    server.data(`POST /api/apiKeys:rotate?filterByTk=${id}`, { body: { overlap: 'none' } });
  const changed = (id: number, body: object): Promise<unknown> =>
    server.data(`POST /api/users:update?filterByTk=${id}`, { body });

  for (const query of ['', 'sort=n'])
    for (const [name, end] of ends)
      test(`end when ${name} (${query || 'by key'})`, async () => {
        await server.signInAsAdmin();
        const account = { email: `${randomUUID()}@example.com`, password: 'a password of eve' };
        const key = (await server.data('POST /api/apiKeys:create', { body: { role: { name: 'reader' } } })) as {
          id: number;
          token: string;
        };
        const user = (await server.data('POST /api/users:create', { body: { ...account, roles: ['reader'] } })) as {
          id: number;
        };
        const token = name.includes('key') ? key.token : await server.signIn(account.email, account.password);
        const all = await lines(query, token, () => end(key, user.id));
        expect(all.length).toBeLessThan(records);
        const error = name.includes('role') ? 'No permissions' : 'Unauthorized';
        expect(all.at(-1)).toMatchObject({ error, requestId });
      });

  for (const query of ['', 'sort=n'])
    test(`only show fields and records that the role may still read after a change (${query || 'by key'})`, async () => {
      const token = await server.createKey('reader');
      const [permission] = (await server.call('GET /api/permissions:list?filter={"role":"reader"}')).body.data;
      const change = (body: object): Promise<unknown> =>
        server.data(`POST /api/permissions:update?filterByTk=${permission.id}`, { body });
      const all = await lines(query, token, () => change({ exceptFields: ['text'] }));
      expect(all).toHaveLength(records);
      expect('text' in all[0]!).toBe(true);
      expect('text' in all.at(-1)!).toBe(false);
      await change({ exceptFields: null });
    });

  test('end when the definition of the collection changes', async () => {
    const token = await server.createKey('reader');
    const all = await lines('', token, () =>
      server.data('POST /api/fields:create', { body: { collectionName: 'items', name: 'more', type: 'string' } }),
    );
    expect(all.at(-1)).toEqual({
      error: 'Service Unavailable',
      message: 'The definition of items has changed while its records were read; start again.',
      requestId,
    });
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  });
});
