/** The check of a file for a collection that does not exist yet. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { uploadFile } from '../support/file-server.ts';
import { startImportServer } from '../support/import-server.ts';
import type { TestServer } from '../support/scenario.ts';

const request = 'POST /api/collections:importPreview';

describeEngines('the check of a file for a new collection', (engine) => {
  let server: TestServer;
  let file: number;
  beforeAll(async () => {
    server = await startImportServer(engine);
    const rows = ['Tea,2.50,a', 'Milk,cheap,b', ',3.00,c', 'Tea,1.00,d', `${'x'.repeat(30)},1.00,e`, 'Salt,0.50,'];
    const content = `Article,Price,Kind\r\n${rows.join('\r\n')}\r\n`;
    file = (await uploadFile(server, { name: 'prices.csv', content }, 'admin')).id;
  });
  afterAll(() => server.stop());

  const definition = {
    name: 'prices',
    fields: [
      { name: 'article', type: 'string', required: true, unique: true, maxLength: 20 },
      { name: 'price', type: 'decimal', precision: 10, scale: 2 },
    ],
  };
  const mapping = [
    { column: 'Article', field: 'article' },
    { column: 1, field: 'price' },
  ];

  test('all rows are checked for the definition, and nothing is created', async () => {
    const before = await server.readSnapshot();
    const since = await server.lastCursor();
    const { report, columns } = await server.data(request, { body: { file, definition, mapping } });
    expect(columns).toHaveLength(3);
    expect(report).toMatchObject({ rows: 6, created: 2, updated: 0, refused: 4, truncated: false });
    expect(report.errors).toMatchObject([
      { line: 3, column: 'Price', field: 'price', value: 'cheap', cells: ['Milk', 'cheap', 'b'] },
      { line: 4, column: 'Article', field: 'article', value: null, cells: [null, '3.00', 'c'] },
      { line: 5, column: 'Article', field: 'article', value: 'Tea' },
      { line: 6, column: 'Article', field: 'article' },
    ]);
    expect(await server.readSnapshot()).toBe(before);
    expect(await server.lastCursor()).toBe(since);
    // The import into the collection, once it exists, refuses the same rows for the same reasons.
    await server.data('POST /api/collections:create', { body: definition });
    const dryRun = await server.data('POST /api/prices:import?dryRun=true', { body: { file, mapping } });
    expect(dryRun.errors.map(({ line, field }: { line: number; field: string }) => [line, field])).toEqual(
      report.errors.map(({ line, field }: { line: number; field: string }) => [line, field]),
    );
    expect(dryRun.errors.slice(0, 2)).toEqual(report.errors.slice(0, 2));
    await server.data('POST /api/collections:destroy?filterByTk=prices');
  });

  test('the proposed definition fits its own file', async () => {
    const { definition: proposed, report: none } = await server.data(request, { body: { file } });
    expect(none).toBeUndefined();
    const { report } = await server.data(request, { body: { file, definition: proposed } });
    expect(report).toMatchObject({ rows: 6, created: 6, refused: 0, errors: [] });
  });

  test('a file of many rows is checked completely, and a form can contain the definition', async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `A${index === 2900 ? 7 : index},1.00`);
    const form = new FormData();
    form.append('options', JSON.stringify({ definition, mapping }));
    form.append('file', new Blob([`Article,Price\n${lines.join('\n')}\n`]), 'many.csv');
    const reply = await fetch(`${server.running.url}/api/collections:importPreview`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.tokens.get('admin')}` },
      body: form,
    });
    const { data } = (await reply.json()) as { data: { report: unknown; lines: number[] } };
    expect(data.report).toMatchObject({ rows: 3000, created: 2999, refused: 1, errors: [{ line: 2902 }] });
    expect(data.lines.slice(0, 3)).toEqual([2, 3, 4]);
  });

  test.each([
    ['a name that is taken', { definition: { ...definition, name: 'orders' } }, 409, 'COLLECTION_EXISTS'],
    [
      'an invalid definition',
      { definition: { ...definition, fields: [{ name: 'a', type: 'nothing' }] } },
      422,
      'DEFINITION_INVALID',
    ],
    ['a mapping without a definition', { mapping }, 400, 'PARAMETER_INVALID'],
    ['a mapping of an unknown field', { definition, mapping: [{ column: 0, field: 'nope' }] }, 400, 'FIELD_UNKNOWN'],
    ['a definition that is no object', { definition: [] }, 422, 'DEFINITION_INVALID'],
  ] as const)('%s is refused as in the later request', async (name, options, status, code) => {
    await server.play({ name, request, body: { file, ...options }, expect: { status, code } });
  });

  test('the check needs the permission to create collections', async () => {
    await server.play({
      name: 'no permission',
      request,
      as: 'ann',
      body: { file, definition },
      expect: { status: 403, code: 'NO_PERMISSION' },
    });
  });
});
