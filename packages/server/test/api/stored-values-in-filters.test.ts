/** Values of records and of earlier results are compared as they are: they are neither variables nor conditions. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('values of records in filters', (engine) => {
  let server: TestServer;
  const variable = '{{$role}}';
  const listCodes = async (): Promise<Json> =>
    (await server.data('GET /api/notes:list?sort=id')).map((each: Json) => each.code);

  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: {
        name: 'notes',
        fields: [
          { name: 'code', type: 'string' },
          { name: 'number', type: 'integer' },
          { name: 'more', type: 'json' },
        ],
      },
    });
    const body = [{ code: 'admin' }, { code: 'plain', more: { condition: { $ne: 'none' }, all: [{ number: null }] } }];
    await server.data('POST /api/notes:create', { body });
  });

  afterAll(() => server.stop());

  test('firstOrCreate and updateOrCreate compare a text in double braces as a text', async () => {
    const send = (action: string, values: object): Promise<Json> =>
      server.data(`POST /api/notes:${action}?filterKeys=code`, { body: values });
    const created = await send('firstOrCreate', { code: variable, number: 1 });
    expect(created).toMatchObject({ code: variable, number: 1 });
    expect(await send('firstOrCreate', { code: variable })).toMatchObject({ id: created.id, number: 1 });
    expect(await send('updateOrCreate', { code: variable, number: 2 })).toMatchObject({ id: created.id, number: 2 });
    expect(await listCodes()).toEqual(['admin', 'plain', variable]);
  });

  const batch = (filter: unknown, op = 'list'): Promise<Json> =>
    server.call('POST /api/batch', {
      body: {
        operations: [
          { op: 'list', resource: 'notes', filter: { code: { $in: ['plain', variable] } }, as: 'found' },
          { op, resource: 'notes', filter, ...(op === 'update' && { values: { number: 99 } }) },
        ],
      },
    });

  test('a reference in the filter of a batch adds no condition and no variable', async () => {
    for (const [filter, message] of [
      [{ code: '$found.0.more.condition' }, 'stands for an object'],
      [{ $or: '$found.0.more.all' }, 'stands for an object'],
      [{ $and: ['$found.0.more'] }, 'stands for an object'],
      [{ code: { $ne: '$found.1.code' } }, 'read as a variable'],
      [{ code: '$found.1.code' }, 'read as a variable'],
      ['$found.0.more', 'not valid JSON'],
    ] as const) {
      const reply = await batch(filter, 'update');
      expect(reply.status, JSON.stringify(filter)).toBe(400);
      expect(JSON.stringify(reply.body)).toContain(message);
    }
    expect((await server.data('GET /api/notes:list')).filter((each: Json) => each.number === 99)).toEqual([]);
  });

  test('a reference in the filter of a batch is compared as a value', async () => {
    for (const [filter, codes] of [
      [{ code: { $in: ['$found.1.code'] } }, [variable]],
      [{ code: '$found.0.code' }, ['plain']],
      [{ $and: [{ code: '$found.0.code' }, { id: { $gte: '$found.0.id' } }] }, ['plain']],
      [{ code: variable }, ['admin']],
      [{ code: '$found.0.code', number: null }, ['plain']],
    ] as const) {
      const { status, body } = await batch(filter);
      expect(status, JSON.stringify(body)).toBe(200);
      expect(body.data[1].map((each: Json) => each.code)).toEqual(codes);
    }
  });
});
