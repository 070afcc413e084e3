import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Row } from '../support/oracle/model.ts';
import { Draw } from '../support/random-data/draw.ts';
import { installUser } from '../support/random-data/install.ts';
import { makeRandomDataset } from '../support/random-data/random-dataset.ts';
import { now } from '../support/random-data/values.ts';
import { RandomReadChecker } from '../support/random-read-checker.ts';
import { TestServer } from '../support/scenario.ts';

const runs = Number(process.env['PROPERTY_RUNS'] ?? 20);
const seed = Number(process.env['RANDOM_SEED'] ?? 20261121);

describeEngines('reads compared with an oracle', (engine) => {
  let server: TestServer;
  let user: Row;
  let count = 0;
  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { LIMIT_COLLECTIONS: '100000' }, clock: { now: () => now } });
    user = await installUser({ server, as: 'admin', headers: {} });
  });
  afterAll(() => server.stop());

  test('have the expected replies for random schemas, data, roles and requests', { timeout: 3_600_000 }, async () => {
    const property = fc.asyncProperty(fc.gen(), async (value) => {
      count += 1;
      const draw = new Draw(value);
      const random = makeRandomDataset(draw, `w${count}`);
      const reader = await RandomReadChecker.install(server, random, user);
      await reader.play(draw);
    });
    await fc.assert(property, { numRuns: runs, seed, endOnFailure: true, verbose: 0 });
    expect(count).toBe(runs);
  });
});
