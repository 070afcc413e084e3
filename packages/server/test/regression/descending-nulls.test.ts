import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('descending order of an indexed field that may be null', (engine) => {
  let server: TestServer;
  /** The days of the records with the ids 1, 2, …: some are equal, some are null. */
  const days = Array.from({ length: 200 }, (_, index) =>
    index % 5 === 0 ? null : `2026-01-${String((index % 28) + 1).padStart(2, '0')}`,
  );
  const sorted = (descending: boolean): number[] => {
    const sign = descending ? -1 : 1;
    const compare = (a: number, b: number): number => {
      const [left, right] = [days[a - 1] ?? null, days[b - 1] ?? null];
      if (left === right) return sign * (a - b);
      if (left === null || right === null) return left === null ? 1 : -1;
      return left < right ? -sign : sign;
    };
    return days.map((_, index) => index + 1).toSorted(compare);
  };

  beforeAll(async () => {
    server = await TestServer.start(engine);
    const fields = [
      { name: 'day', type: 'date', index: true },
      { name: 'isOdd', type: 'boolean' },
    ];
    await server.data('POST /api/collections:create', { body: { name: 'visits', fields } });
    await server.data('POST /api/visits:create', { body: days.map((day, index) => ({ day, isOdd: index % 2 === 0 })) });
  });
  afterAll(() => server.stop());

  const list = async (query: string): Promise<{ ids: number[]; meta: { next?: string | null } }> => {
    const { body } = await server.call(`GET /api/visits:list?${query}`);
    const { data, meta } = body as { data: { id: number }[]; meta: { next?: string | null } };
    return { ids: data.map(({ id }) => id), meta };
  };

  test.each([true, false])('pages follow each other, with nulls last (descending: %s)', async (descending) => {
    const order = descending ? '-day,-id' : 'day,id';
    const pages: number[] = [];
    for (let page = 1; page <= 7; page += 1) pages.push(...(await list(`sort=${order}&pageSize=30&page=${page}`)).ids);
    expect(pages).toEqual(sorted(descending));
    // One page that ends within the nulls, one with a filter, and one of nulls only.
    expect((await list(`sort=${order}&pageSize=180`)).ids).toEqual(sorted(descending).slice(0, 180));
    const odd = sorted(descending).filter((id) => id % 2 === 1);
    expect((await list(`sort=${order}&pageSize=200&filter={"isOdd":true}`)).ids).toEqual(odd);
    const empty = sorted(descending).filter((id) => days[id - 1] === null);
    expect((await list(`sort=${order}&pageSize=200&filter={"day":null}`)).ids).toEqual(empty);
  });

  test('the first page is read from the index', async () => {
    const { database } = server.running.applications.main;
    let text = '';
    const { read } = database;
    database.read = (statements) => {
      // timers also read
      text = statements.findLast((each) => each.text.includes('"visits_'))?.text ?? text;
      return read.call(database, statements);
    };
    await list('sort=-day,-id&pageSize=10&count=none');
    database.read = read;
    // PostgreSQL reads the rows with a value first; the index of SQLite has nulls at the right end.
    expect(/IS NOT NULL/.test(text)).toBe(database.multiNode);
  });
});
