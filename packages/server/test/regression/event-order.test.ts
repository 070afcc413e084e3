import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('event order', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());

  // As texts, transaction numbers have another order: '10' comes before '9'. SQLite has none.
  test.runIf(engine.name === 'postgres')(
    'events are ordered by transaction number as a number, not as text',
    async () => {
      const { database, changes } = server.running.applications.main;
      await database.write(async (transaction) => {
        for (const xid of [10, 9, 8])
          await transaction.run({
            text: `INSERT INTO _events (xid,at,name,resource,changed) VALUES ('${xid}',now(),'n${xid}','n','[]')`,
            values: [],
          });
      });
      const events = await changes.read(null, 3);
      expect(events.map((event) => event.name)).toEqual(['n8', 'n9', 'n10']);
      const after = await changes.read(events[1]!.position, 1);
      expect(after.map((event) => event.name)).toEqual(['n10']);
    },
  );
});
