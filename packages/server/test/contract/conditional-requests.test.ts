import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('conditional requests and pages', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: {
        name: 'items',
        fields: [
          { name: 'n', type: 'integer', index: true },
          { name: 'label', type: 'string' },
        ],
      },
    });
    await server.data('POST /api/items:create', {
      body: Array.from({ length: 57 }, (_, index) => ({
        n: index % 5 === 0 ? null : index % 7,
        label: `item ${index}`,
      })),
    });
  });
  afterAll(() => server.stop());

  test('an unchanged reply is answered with 304', async () => {
    const first = await server.call('GET /api/items:get?filterByTk=1');
    const tag = first.headers.get('etag')!;
    expect(tag).toMatch(/^"1\..+"$/);
    const again = await server.call('GET /api/items:get?filterByTk=1', { headers: { 'if-none-match': `W/${tag}` } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test('one of two writers with the same If-Match succeeds', async () => {
    const tag = (await server.call('GET /api/items:get?filterByTk=2')).headers.get('etag')!;
    const write = (label: string): ReturnType<TestServer['call']> =>
      server.call('POST /api/items:update?filterByTk=2', { body: { label }, headers: { 'if-match': tag } });
    const replies = await Promise.all([write('a'), write('b')]);
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 412]);
    await server.play({
      name: 'a destroy with an outdated tag is refused',
      request: 'POST /api/items:destroy?filterByTk=2',
      headers: { 'if-match': tag },
      expect: { status: 412, code: 'VERSION_STALE', body: { error: 'Precondition Failed' } },
    });
  });

  test('If-Match accepts a list of tags, and refuses tags that this server did not make', async () => {
    const update = 'POST /api/items:update?filterByTk=3';
    const tag = (await server.call('GET /api/items:get?filterByTk=3')).headers.get('etag')!;
    const body = { label: 'unchanged' };
    for (const stale of ['"abc"', 'W/"abc"', '""', '"abc", W/"77.x"', '"99999999999999999999"', ', "77" ,', '"\u00e9"'])
      await server.play({
        name: 'an unknown tag is refused',
        request: update,
        body,
        headers: { 'if-match': stale },
        expect: { status: 412, code: 'VERSION_STALE' },
      });
    for (const malformed of ['abc', '*, "1"', '"a" "b"', 'w/"a"', '"a', ','])
      await server.play({
        name: 'a malformed tag is refused',
        request: update,
        body,
        headers: { 'if-match': malformed },
        expect: { status: 400, code: 'HEADER_INVALID' },
      });
    const headers = { 'if-match': `"abc", "77.x",W/${tag}` };
    expect((await server.call(update, { body: { label: 'new' }, headers })).status).toBe(200);
    expect((await server.call('POST /api/items:destroy?filterByTk=3', { headers })).status).toBe(412);
  });

  test.each(['n', '-n', 'n,-label', '-n,label', 'label', '-id', ''])(
    'pages by cursor with the sort "%s" make up the whole list',
    async (sort) => {
      const whole = (await server.data(`GET /api/items:list?pageSize=1000&sort=${sort}`)) as { id: number }[];
      const seen: number[] = [];
      let after = '';
      for (;;) {
        const { body } = await server.call(
          `GET /api/items:list?pageSize=4&count=none&sort=${sort}${after && `&after=${after}`}`,
        );
        seen.push(...body.data.map((item: { id: number }) => item.id));
        if (!body.meta.hasNext) break;
        after = body.meta.nextCursor;
      }
      expect(seen).toEqual(whole.map((item) => item.id));
    },
  );

  test('nulls are last in both directions', async () => {
    for (const sort of ['n', '-n']) {
      const values = (
        (await server.data(`GET /api/items:list?pageSize=1000&sort=${sort}`)) as { n: number | null }[]
      ).map((item) => item.n);
      expect(values.slice(values.indexOf(null)).every((value) => value === null)).toBe(true);
    }
  });

  test('a cursor of a list with another filter is refused', async () => {
    const { body } = await server.call('GET /api/items:list?pageSize=4&sort=n');
    const reply = await server.call(
      `GET /api/items:list?pageSize=4&sort=n&filter={"id":1}&after=${body.meta.nextCursor}`,
    );
    expect(reply.body).toMatchObject({ error: 'Bad Request', code: 'CURSOR_INVALID' });
  });

  test('counts include a write immediately', async () => {
    const count = async (): Promise<number> =>
      (await server.call('GET /api/items:list?filter={"label":"counted"}')).body.meta.count;
    expect(await count()).toBe(0);
    const { id } = await server.data('POST /api/items:create', { body: { label: 'counted' } });
    expect(await count()).toBe(1);
    await server.data(`POST /api/items:destroy?filterByTk=${id}`);
    expect(await count()).toBe(0);
  });

  test('NDJSON has one record in each line', async () => {
    const { text, headers } = await server.call('GET /api/items:list?paginate=false&fields=id', {
      headers: { accept: 'application/x-ndjson' },
    });
    expect(headers.get('content-type')).toContain('application/x-ndjson');
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual((await server.data('GET /api/items:list?pageSize=1000&fields=id')) as unknown[]);
  });
});
