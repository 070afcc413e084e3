import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines, type Store, shareStore, sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';

/** Changes of one collection. Each one is undone by a later one. */
const rounds: readonly (readonly [string, object])[] = [
  ['fields:update', { name: 'n', type: 'string' }],
  ['fields:create', { name: 'extra', type: 'integer', required: true, defaultValue: 7 }],
  ['fields:update', { name: 'n', type: 'bigInt' }],
  ['fields:destroy', { name: 'extra' }],
  ['fields:update', { name: 'n', newName: 'm' }],
  ['fields:update', { name: 'm', newName: 'n' }],
  ['fields:update', { name: 'n', type: 'integer' }],
  ['collections:update', { paranoid: true, authors: true, logging: true }],
  ['collections:update', { timestamps: false, authors: false, logging: false }],
  ['collections:update', { timestamps: true, paranoid: false }],
];

/** This change is not undone: every record must have the default, also those that were written during the change. */
const last = ['fields:create', { name: 'last', type: 'integer', required: true, defaultValue: 3 }] as const;

const patience = { timeout: 60_000, interval: 20 };

describeEngines('definition changes under readers and writers', (engine) => {
  let store: Store;
  let nodes: TestServer[];
  beforeAll(async () => {
    store = await engine.store(true);
    const shared = shareStore(engine, store);
    nodes = [await TestServer.start(shared)];
    if (engine.name === 'postgres') nodes.push(await TestServer.start(shared));
    await nodes[0]!.data('POST /api/collections:create', {
      body: {
        name: 'things',
        fields: [
          { name: 'n', type: 'integer' },
          { name: 'mark', type: 'integer', unique: true },
        ],
      },
    });
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await store.remove();
  });

  test('keep every acknowledged value and every default, and cause no internal error', {
    timeout: 240_000,
  }, async () => {
    const changer = nodes[0]!;
    const other = nodes.at(-1)!;
    let going = true;
    let answered = 0;
    const acknowledged = new Map<number, number>();
    const odd: string[] = [];
    const writer = async (offset: number): Promise<void> => {
      for (let mark = offset; going; mark += 4) {
        const reply = await other.call('POST /api/things:create', { body: { n: mark, mark } });
        answered += 1;
        if (reply.status === 200) acknowledged.set(mark, mark);
        // The body may use a former name of the field, or contain a number while the field is a text.
        else if (![400, 422, 503].includes(reply.status)) odd.push(reply.text);
      }
    };
    const reader = async (): Promise<void> => {
      while (going) {
        const reply = await other.call('GET /api/things:list?sort=-id&pageSize=5');
        if (![200, 503].includes(reply.status)) odd.push(reply.text);
      }
    };
    const others = [writer(0), writer(1), writer(2), writer(3), reader(), reader()];
    const failed: string[] = [];
    for (const [action, body] of [...rounds, ...rounds, last]) {
      for (let attempt = 0; ; attempt += 1) {
        const target = action.startsWith('fields') ? '' : '?filterByTk=things&force=true';
        const named = target === '' ? { collectionName: 'things', ...body } : body;
        const reply = await changer.call(`POST /api/${action}${target}`, { body: named });
        if (reply.status === 200) break;
        if (reply.status !== 503 || attempt === 20) {
          failed.push(`${action} ${JSON.stringify(body)}: ${reply.text}`);
          break;
        }
      }
      const before = answered;
      await expect.poll(() => answered, patience).toBeGreaterThan(before + 8);
    }
    await expect.poll(() => acknowledged.size, patience).toBeGreaterThan(50);
    going = false;
    await Promise.all(others);
    expect({ failed, odd: odd.slice(0, 3) }).toEqual({ failed: [], odd: [] });
    const found = new Map<number, unknown>();
    for (let after = ''; ; ) {
      const { body } = await changer.call(`GET /api/things:list?pageSize=1000&count=none${after}`);
      for (const each of body.data as { n: unknown; mark: number; last: unknown }[]) {
        found.set(each.mark, each.n);
        expect(each.last).toBe(3);
      }
      if (!body.meta.hasNext) break;
      after = `&after=${body.meta.nextCursor}`;
    }
    const lost = [...acknowledged].filter(([mark, n]) => found.get(mark) !== n);
    expect(lost).toEqual([]);
  });
});

describe('definition changes in a process that is killed (sqlite)', () => {
  test('are completely present or completely absent, with their data', { timeout: 120_000 }, async () => {
    const store = await sqlite.store();
    let random = 20_261_121;
    const next = (below: number): number => {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((random / 2 ** 32) * below);
    };
    for (let round = 0; round < 10; round += 1) {
      const server = await ServerProcess.start(store);
      if (round === 0) {
        await server.data('collections:create', { name: 'parents', fields: [{ name: 'n', type: 'integer' }] });
        const parent = { name: 'parent', type: 'belongsTo', target: 'parents', onDelete: 'cascade' };
        await server.data('collections:create', { name: 'children', fields: [parent] });
        await server.data(
          'parents:create',
          Array.from({ length: 1000 }, (_, n) => ({ n })),
        );
        await server.data(
          'children:create',
          Array.from({ length: 1000 }, (_, n) => ({ parentId: n + 1 })),
        );
      }
      // Every defined collection can be listed and has all its records: a rebuilt table of parents keeps its children.
      const defined = (await server.data('collections:list', {})) as { name: string; fields: { name: string }[] }[];
      for (const { name, fields } of defined.filter((each) => ['parents', 'children'].includes(each.name))) {
        const columns = fields.map((field) => field.name).filter((each) => each !== 'parent');
        const listed = await server.call(`${name}:list`, { pageSize: 1000, fields: columns });
        const { data } = (await listed!.json()) as { data: Record<string, unknown>[] };
        expect([name, listed!.status, data.length]).toEqual([name, 200, 1000]);
        for (const row of data)
          for (const key of ['n', 'm', 'parentId']) if (key in row) expect(row[key]).not.toBeNull();
      }
      const is = defined.find((each) => each.name === 'parents')!.fields.map((field) => field.name);
      // Each set of changes was applied completely or not at all.
      for (let earlier = 0; earlier < round; earlier += 1) {
        const parts = [`set${earlier}`, `peer${earlier}`].map((name) => defined.some((each) => each.name === name));
        expect([earlier, ...parts, is.includes(`g${earlier}`)]).toEqual([earlier, ...Array(3).fill(parts[0])]);
      }
      const key = is.includes('n') ? 'n' : 'm';
      const changes = (async () => {
        const about = { collectionName: 'parents', name: key };
        const set = [
          { name: 'parents', fields: [{ name: `g${round}`, type: 'integer', defaultValue: 2 }] },
          {
            name: `set${round}`,
            fields: [
              { name: 'parent', type: 'belongsTo', target: 'parents' },
              { name: 'peers', type: 'hasMany', target: `peer${round}` },
            ],
          },
          { name: `peer${round}` },
        ];
        if (round % 2 === 0) await server.data('collections:apply', set);
        await server.data('fields:update', { ...about, type: 'string' });
        await server.data('fields:create', {
          collectionName: 'parents',
          name: `f${round}`,
          type: 'integer',
          defaultValue: 1,
        });
        await server.data('fields:update', { ...about, type: 'integer', newName: key === 'n' ? 'm' : 'n' });
        await server.data('fields:destroy', { collectionName: 'parents', name: `f${round}` });
        if (round % 2 === 1) await server.data('collections:apply', set);
      })();
      await new Promise((resolve) => setTimeout(resolve, next(220)));
      await Promise.all([server.kill(), changes]);
    }
    await store.remove();
  });
});
