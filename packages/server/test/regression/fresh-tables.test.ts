import { expect, inject, test } from 'vitest';
import { postgres } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/** In an earlier version, eight thousand new records were joined row by row: in seconds, and with 503 for a few more. */
test.skipIf(inject('postgresSkipped') !== null)(
  'without statistics, PostgreSQL expects many records of a paranoid collection outside its trash',
  async () => {
    const server = await TestServer.start(postgres);
    const body = { name: 'notes', fields: [{ name: 'text', type: 'string' }], options: { paranoid: true } };
    await server.data('POST /api/collections:create', { body });
    const notes = Array.from({ length: 1000 }, (_, index) => ({ text: `note ${index}` }));
    await server.data('POST /api/notes:create', { body: notes });
    const { database } = server.running.applications.main;
    const ask = async (text: string): Promise<string> => {
      const [rows] = await database.read([{ text, values: [] }]);
      return String(rows![0]![0]);
    };
    const table = await ask("SELECT tablename FROM pg_tables WHERE tablename LIKE 'notes\\_%'");
    const mark = await ask(`SELECT column_name FROM information_schema.columns WHERE column_name LIKE 'deletedat\\_%'
      AND table_name='${table}'`);
    const plan = await ask(`EXPLAIN SELECT 1 FROM ${table} WHERE ${mark} IS NULL`);
    const expected = Number(/rows=(\d+)/.exec(plan)?.[1]);
    expect(expected).toBeGreaterThan(300);
    // Ids begin at 1, and the collection only contains these records.
    expect((await server.call('GET /api/notes:list?pageSize=1&withDeleted=true')).body).toMatchObject({
      data: [{ id: 1 }],
      meta: { count: 1000 },
    });
    await server.stop();
  },
);
