import { afterAll, beforeAll, expect, test } from 'vitest';
import { fileScope } from '../../src/base/blob-store.ts';
import { readImport } from '../../src/database/import-rows.ts';
import { describeEngines } from '../support/engines.ts';
import { importText, makeOrders, startImportServer, waitForImport } from '../support/import-server.ts';
import type { TestServer } from '../support/scenario.ts';

const dayMilliseconds = 86_400_000;

describeEngines('the life of an import', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startImportServer(engine);
  });
  afterAll(() => server.stop());

  test('1,000 rows are one transaction of the request, and 1,001 an import in the background', async () => {
    const short = await importText(server, '', makeOrders(0, 1000));
    expect({ status: short.status, data: short.body.data }).toMatchObject({ status: 200, data: { created: 1000 } });
    const invalid = await importText(server, '', `${makeOrders(5000, 999)}A-1,1.00\r\n`);
    expect(invalid.body).toMatchObject({ code: 'IMPORT_INVALID', errors: [{ line: 1001, field: 'number' }] });
    const [{ count }] = await server.data('POST /api/orders:query', { body: { measures: [{ aggregation: 'count' }] } });
    expect(count).toBe(1000);
    const since = await server.lastCursor();
    const long = await importText(server, '', makeOrders(10_000, 1001));
    expect(long.status).toBe(202);
    await waitForImport(server, long.body.data.id);
    const names = new Set(await server.eventNames(since, 'imports.updated'));
    expect([...names]).toEqual(expect.arrayContaining(['imports.created', 'orders.created', 'imports.updated']));
  });

  test('with wait=true, the reply is that of the import that has ended', async () => {
    const reply = await importText(server, '?wait=true', makeOrders(20_000, 1500));
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body.data).toMatchObject({ status: 'done', rows: 1500, created: 1500 });
  });

  test('the file of refused rows can be corrected and imported again in the same form', async () => {
    const first = await importText(server, '?skipInvalid=true', 'number,price\r\nR-1,abc\r\nR-2,2\r\n=R-3,x\r\n');
    expect(first.body.data).toMatchObject({ created: 1, refused: 2 });
    for (const format of ['csv', 'xlsx']) {
      const refused = await fetch(
        `${server.running.url}/api/imports:refusedRows?filterByTk=${first.body.data.id}&format=${format}`,
        { headers: { authorization: `Bearer ${server.tokens.get('admin')}` } },
      );
      expect(refused.headers.get('content-disposition')).toContain(`.${format}`);
      const again = await fetch(`${server.running.url}/api/orders:import?dryRun=true`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.tokens.get('admin')}`,
          'content-type':
            format === 'csv' ? 'text/csv' : 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
        },
        body: await refused.arrayBuffer(),
      });
      expect(await again.json()).toMatchObject({
        data: {
          rows: 2,
          refused: 2,
          errors: [
            { column: 'price', value: 'abc' },
            { column: 'price', value: 'x' },
          ],
        },
      });
    }
    const text = (await server.call(`GET /api/imports:refusedRows?filterByTk=${first.body.data.id}`)).text;
    expect(text).toContain("'=R-3");
    const corrected = await importText(server, '', text.replace('abc', '1.00').replace(',x', ',3.00'));
    expect(corrected.body.data, corrected.text).toMatchObject({ created: 2, refused: 0 });
    const orders = await server.data(
      'GET /api/orders:list?filter={"number":{"$in":["R-1","=R-3"]}}&fields=number,price&sort=price',
    );
    expect(orders).toEqual([
      { number: 'R-1', price: '1.00' },
      { number: '=R-3', price: '3.00' },
    ]);
  });

  test('an import keeps its file, and is deleted a month after its end with its refused rows and its file', async () => {
    const { body } = await importText(server, '?skipInvalid=true', 'number,price\r\nS-1,abc\r\nS-2,2\r\n');
    const { id } = body.data;
    const { database, files, imports } = server.running.applications.main;
    const { sha256 } = (await readImport(database, id))!;
    const now = Date.now();
    await files.sweep(now + 3 * dayMilliseconds);
    expect(await files.blobs.open(fileScope, sha256)).not.toBeNull();
    await imports.sweep(now + 29 * dayMilliseconds);
    expect(await readImport(database, id)).not.toBeNull();
    await imports.sweep(now + 31 * dayMilliseconds);
    expect(await readImport(database, id)).toBeNull();
    const [[counted] = []] = await database.read([{ text: 'SELECT count(*) FROM "importRefusedRows"', values: [] }]);
    expect(Number(counted?.[0])).toBe(0);
    await files.sweep(now + 40 * dayMilliseconds);
    expect(await files.blobs.open(fileScope, sha256)).toBeNull();
  });

  test('a damaged file changes nothing', async () => {
    await server.play({
      name: 'a damaged file',
      request: 'POST /api/orders:import',
      body: '{"number":"T-1"}\n{"number":\n',
      headers: { 'content-type': 'application/x-ndjson' },
      expect: { status: 400, code: 'FILE_INVALID' },
    });
    const long = `${Array.from({ length: 1500 }, (_, index) => `{"number":"U-${index}"}`).join('\n')}\n{"number":\n`;
    const reply = await importText(server, '', long, { type: 'application/x-ndjson' });
    if (reply.status === 202)
      expect(await waitForImport(server, reply.body.data.id)).toMatchObject({ status: 'failed', created: 0 });
    else expect(reply.body.code).toBe('FILE_INVALID');
    expect(await server.data('GET /api/orders:list?filter={"number":{"$startsWith":"U-"}}')).toEqual([]);
  });
});
