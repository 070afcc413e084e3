import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { RandomRequests } from '../support/random-requests.ts';
import { TestServer } from '../support/scenario.ts';

const requests = Number(process.env['RANDOM_REQUESTS'] ?? 1500);
const seed = Number(process.env['RANDOM_SEED'] ?? 20_261_121);

describeEngines('random requests', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());

  test('cause no internal error, and their results survive a restart', { timeout: 300_000 }, async () => {
    const random = new RandomRequests(seed);
    const failed: unknown[] = [];
    const seen = new Set<number>();
    for (let count = 0; count < requests; count += 1) {
      const [request, body] = random.next();
      const reply = await server.call(request, body === undefined ? {} : { body });
      seen.add(reply.status);
      if (reply.status >= 500) failed.push([request, body, reply.text]);
    }
    expect(failed).toEqual([]);
    expect([200, 400, 404, 409, 422].filter((status) => !seen.has(status))).toEqual([]);
    const before = await server.readSnapshot();
    await server.running.stop();
    await server.boot();
    expect(await server.readSnapshot()).toBe(before);
  });
});
