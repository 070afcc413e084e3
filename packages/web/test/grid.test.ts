/** The positions of the cells of a grid, and the effects of its keys. */
import { expect, test } from 'vitest';
import { Client } from '../../client/src/client.ts';
import { buildTracks, computeEdges, findColumnsBetween, rowHeaderWidth } from '../src/admin/records/column-tracks.ts';
import { findDestination } from '../src/admin/records/grid-navigation.ts';
import { RowWindow } from '../src/data/records/row-window.ts';

const fields = Array.from({ length: 200 }, (_, n) => ({ name: `f${n}`, type: 'string' }));
const edges = computeEdges(fields.map(() => 100));

test('of two hundred columns only the visible ones and a few next to them are rendered', () => {
  expect(findColumnsBetween(edges, 0, 1000)).toEqual({ first: 0, last: 11 });
  expect(findColumnsBetween(edges, 5076, 5176)).toEqual({ first: 48, last: 52 });
  expect(findColumnsBetween(edges, 19_000, 20_076)).toEqual({ first: 187, last: 199 });
  expect(findColumnsBetween(computeEdges([]), 0, 1000)).toEqual({ first: 0, last: -1 });
});

test('the space between rendered columns is one track, and all tracks together have the total width', () => {
  const { drawn, template } = buildTracks([0, 50, 51, 120], fields, edges);
  expect(drawn.map(({ column, track }) => [column, track])).toEqual([
    [0, 2],
    [50, 4],
    [51, 5],
    [120, 7],
  ]);
  const tracks = template.split(' ').map(Number.parseFloat);
  expect(tracks).toEqual([rowHeaderWidth, 100, 4900, 100, 100, 6800, 100, 7900]);
  expect(tracks.reduce((sum, each) => sum + each, 0)).toBe(edges.at(-1));
});

test.each([
  ['ArrowDown', false, { row: 6, column: 3 }],
  ['ArrowUp', true, { row: 0, column: 3 }],
  ['ArrowRight', true, { row: 5, column: 9 }],
  ['Home', true, { row: 0, column: 0 }],
  ['End', false, { row: 5, column: 9 }],
  ['PageDown', false, { row: 25, column: 3 }],
  ['a', false, null],
] as const)('%s, with Ctrl: %s', (key, ctrlKey, expected) => {
  const bounds = { count: 100, columns: 10, page: 20 };
  expect(findDestination({ key, ctrlKey, metaKey: false }, { row: 5, column: 3 }, bounds)).toEqual(expected);
});

test('rows that other users change are loaded again, however many there are', async () => {
  let title = 'before';
  const records = Array.from({ length: 500 }, (_, n) => n + 1);
  const respond = (url: URL): object => {
    const requestedKeys = JSON.parse(url.searchParams.get('filterByTk') ?? 'null') as number[] | null;
    const from = (Number(url.searchParams.get('page') ?? 1) - 1) * 100;
    const keys = requestedKeys ?? records.slice(from, from + 100);
    return { data: keys.map((id) => ({ id, title })), meta: { count: 500, hasNext: from < 400, nextCursor: null } };
  };
  const reply = (input: unknown): Promise<Response> =>
    Promise.resolve(new Response(JSON.stringify(respond(new URL(String(input))))));
  const rows = new RowWindow(new Client({ url: 'http://x', fetch: reply }), 'notes', 'id', {});
  rows.ensure(0, 499);
  await expect.poll(() => rows.rowsBetween(0, 499).length).toBe(500);
  title = 'after';
  for (const key of records) rows.refresh(key);
  const after = (): number => rows.rowsBetween(0, 499).filter(({ values }) => values['title'] === 'after').length;
  await expect.poll(after).toBe(500);
});
