import { expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

interface Entry {
  readonly tk: string;
  readonly action: string;
  readonly actor: string | null;
  readonly changes: Readonly<Record<string, unknown>>;
}

async function history(server: TestServer): Promise<Entry[]> {
  const { database, registry } = server.running.applications.main;
  const text = 'SELECT tk,action,actor,changes,collection_id FROM _history ORDER BY id';
  const [rows] = await database.read([{ text, values: [] }]);
  return rows!.map(([tk, action, actor, changes, id]) => {
    const collection = registry.all().find((each) => each.id === id);
    const byId = new Map(collection?.fields.map((field) => [String(field.id), field.name]));
    const named = Object.entries(JSON.parse(changes as string) as object).map(([field, pair]) => [
      byId.get(field) ?? 'gone',
      pair,
    ]);
    return { tk, action, actor, changes: Object.fromEntries(named) } as Entry;
  });
}

describeEngines('logging', (engine) => {
  test('the values of every field before and after are written in the transaction of the change', async () => {
    const server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: {
        name: 'logs',
        fields: [
          { name: 'title', type: 'string', required: true },
          { name: 'data', type: 'json' },
          { name: 'secret', type: 'password' },
          { name: 'parent', type: 'belongsTo', target: 'logs' },
        ],
        options: { logging: true, paranoid: true },
      },
    });
    const body = [
      { id: 1, title: 'a', secret: 'hush hush' },
      { id: 2, title: 'b', data: { x: [1] }, parentId: 1 },
    ];
    await server.data('POST /api/logs:create', { body });
    await server.data('POST /api/logs:update?filterByTk=1', { body: { title: 'A', secret: 'changed now' } });
    await server.data('POST /api/logs:update?filterByTk=1', { body: { title: 'A' } });
    await server.data('POST /api/logs:update?filter={"id":{"$gt":0}}', { body: { data: null } });
    await server.play({
      name: 'a refused change writes no entry',
      request: 'POST /api/logs:update?filterByTk=1',
      body: { title: null },
      expect: { status: 422, code: 'VALUE_INVALID' },
    });
    await server.data('POST /api/logs:destroy?filterByTk=2');
    await server.data('POST /api/logs:restore?filterByTk=2');
    await server.data('POST /api/logs:destroy?filterByTk=2&force=true');
    expect(await history(server)).toEqual([
      { tk: '1', action: 'created', actor: 'user:1', changes: { id: [null, 1], title: [null, 'a'] } },
      {
        tk: '2',
        action: 'created',
        actor: 'user:1',
        changes: { id: [null, 2], title: [null, 'b'], data: [null, { x: [1] }], parentId: [null, 1] },
      },
      { tk: '1', action: 'updated', actor: 'user:1', changes: { title: ['a', 'A'] } },
      { tk: '2', action: 'updated', actor: 'user:1', changes: { data: [{ x: [1] }, null] } },
      { tk: '2', action: 'destroyed', actor: 'user:1', changes: {} },
      { tk: '2', action: 'restored', actor: 'user:1', changes: {} },
      {
        tk: '2',
        action: 'destroyed',
        actor: 'user:1',
        changes: { id: [2, null], title: ['b', null], parentId: [1, null] },
      },
    ]);
    await server.stop();
  });

  test('twenty parallel writers write one entry for each change, each from the previous state', async () => {
    const server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: { name: 'logs', fields: [{ name: 'n', type: 'integer' }], options: { logging: true } },
    });
    await server.data('POST /api/logs:create', { body: { n: 0 } });
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => server.call('POST /api/logs:update?filterByTk=1', { body: { n: n + 1 } })),
    );
    const done = replies.filter((reply) => reply.status === 200).length;
    const entries = (await history(server)).slice(1).map(({ changes }) => changes['n'] as [number, number]);
    expect(entries).toHaveLength(done);
    entries.reduce((before, [from, to]) => {
      expect(from).toBe(before);
      return to;
    }, 0);
    await server.stop();
  });

  test('a store of an earlier version is migrated', async () => {
    const server = await TestServer.start(engine);
    const { database } = server.running.applications.main;
    await database.write((transaction) => transaction.run({ text: 'DROP TABLE _history', values: [] }));
    await server.running.stop();
    await server.boot();
    await server.data('POST /api/collections:create', {
      body: { name: 'logs', fields: [{ name: 'n', type: 'integer' }], options: { logging: true } },
    });
    await server.data('POST /api/logs:create', { body: { n: 0 } });
    expect(await history(server)).toHaveLength(1);
    await server.stop();
  });
});
