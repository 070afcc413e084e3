import { describe, expect, test } from 'vitest';
import type { BoundStatement } from '../database/database.ts';
import type { StatementAccess } from '../database/statement-access.ts';
import type { IndexNeed } from '../query/index-need.ts';
import { type Collection, type Field, Registry } from '../schema/registry.ts';
import { type RequestShape, RequestShapes } from './request-shapes.ts';

const clock = { now: () => 1000 };
const access: StatementAccess = { tables: [], sorts: false, visited: null, visitedByTotal: null };
const statement: BoundStatement = { text: 'SELECT 1', values: [] };
const makeCollection = (id: number): Collection => ({ id, name: `c${id}` }) as unknown as Collection;
const posts = makeCollection(1);

function makeNeed(condition: string, collection = posts): IndexNeed {
  const needed = { equal: [], ranges: [], hasOthers: false, named: [], order: [], related: [], sort: [] };
  return { ...needed, alternatives: [], searched: [], collection, conditions: [condition] };
}

function run(shape: RequestShape | null, visited: number): void {
  if (shape && shape.begin() >= 0)
    shape.record({ visited, returned: 1, hasMore: false, visitedByTotal: 0, milliseconds: 1, statement });
}

function makeRegistry(...collections: readonly Collection[]): Registry {
  return new Registry(1, new Map(collections.map((each) => [each.name, each])), new Map());
}

describe('request shapes', () => {
  test('are bounded in number, and the expensive ones are kept', () => {
    const shapes = new RequestShapes({ clock, inspect: async () => access });
    const hot = shapes.open(makeNeed('hot $eq'));
    run(hot, 100_000);
    for (let index = 0; index < 3000; index += 1) {
      run(shapes.open(makeNeed(`f${index} $eq`)), index % 7 === 0 ? 5000 : 0);
      expect(shapes.size).toBeLessThanOrEqual(501);
    }
    expect(shapes.open(makeNeed('hot $eq'))).toBe(hot);
    shapes.close();
  });

  test('that were dropped while they were cheap return when they become expensive', () => {
    const shapes = new RequestShapes({ clock, inspect: async () => access });
    const cheap = shapes.open(makeNeed('cheap $eq'));
    run(cheap, 0);
    for (let index = 0; index < 1000; index += 1) run(shapes.open(makeNeed(`f${index} $eq`)), 5000);
    expect(shapes.listCurrent(makeRegistry(posts))).not.toContain(cheap);
    for (let index = 0; index < 100; index += 1) run(cheap, 1_000_000);
    expect(shapes.listCurrent(makeRegistry(posts))).toContain(cheap);
    expect([cheap?.calls, cheap?.visited]).toEqual([101, (39 / 40) * 101_000_000]);
    shapes.close();
  });

  test('with very long names are not recorded, and the queue of statements to inspect is bounded', async () => {
    let inspected = 0;
    const shapes = new RequestShapes({
      clock,
      inspect: async () => {
        inspected += 1;
        return access;
      },
    });
    expect(shapes.open(makeNeed('x'.repeat(3000)))).toBeNull();
    for (let index = 0; index < 400; index += 1) run(shapes.open(makeNeed(`f${index} $eq`)), 0);
    const long = shapes.open(makeNeed('long $eq'));
    long?.begin();
    long?.record({
      ...{ visited: 0, returned: 0, hasMore: false, visitedByTotal: 0, milliseconds: 0 },
      statement: { text: 'SELECT 1', values: ['x'.repeat(100_000)] },
    });
    await shapes.settle();
    expect([inspected, long?.access]).toEqual([50, null]);
    shapes.close();
  });

  test('are only read for the definition that they were planned for', () => {
    const shapes = new RequestShapes({ clock, inspect: async () => access });
    const [before, others] = [makeRegistry(posts, makeCollection(2)), makeCollection(1)];
    run(shapes.open(makeNeed('status $eq')), 10);
    expect(shapes.listCurrent(before)).toHaveLength(1);
    clock.now = () => 5000;
    shapes.noteDefinitions(before, makeRegistry(others));
    expect(shapes.size).toBe(0);
    expect([shapes.observedSince(others), shapes.observedSince(makeCollection(2))]).toEqual([5000, 1000]);
    shapes.close();
  });

  test('of another thread are added for the same definitions, and counted once', () => {
    const [thread, main] = [1, 2].map(() => new RequestShapes({ clock, inspect: async () => access }));
    const field = { id: 7, name: 'status' } as unknown as Field;
    const collection = { ...posts, fields: [field] } as unknown as Collection;
    const need = { ...makeNeed('status $eq', collection), equal: [field], named: [field] };
    const registry = makeRegistry(collection);
    run(main!.open(need), 1000);
    for (let calls = 0; calls < 2; calls += 1) run(thread!.open(need), 4000);
    main!.add(structuredClone(thread!.drain()), registry);
    main!.add(thread!.drain(), registry);
    const [shape, ...others] = main!.listCurrent(registry);
    expect([shape?.calls, shape?.visited, shape?.need.equal, others]).toEqual([3, 9000, [field], []]);
    run(thread!.open(need), 4000);
    main!.add(thread!.drain(), makeRegistry({ ...collection, fields: [] } as unknown as Collection));
    expect(shape?.calls).toBe(3);
    for (const each of [thread!, main!]) each.close();
  });
});
