import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, type Store } from '../support/engines.ts';
import { ServerProcess } from '../support/server-process.ts';

const attempts = 700;
const atOnce = 120;
const root = { email: 'root@example.com', password: 'correct horse battery' };

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | undefined;
}

/** Rate limits are off, as if the flood came from thousands of addresses. */
describeEngines('a flood of sign-ins', (engine) => {
  let store: Store;
  let server: ServerProcess;
  const agents = { flood: new Agent({ keepAlive: true, maxSockets: atOnce }), reads: new Agent({ keepAlive: true }) };

  beforeAll(async () => {
    store = await engine.store();
    server = await ServerProcess.start(store, { RATE_LIMIT_SIGN_IN: 'off', TEST_FULL_HASHING: true });
  });
  afterAll(async () => {
    await server.kill();
    agents.flood.destroy();
    agents.reads.destroy();
    await store.remove();
  });

  test('does not delay reads, and refuses sign-ins that cannot be checked soon', { timeout: 180_000 }, async () => {
    const token = await signIn();
    const plain = await readsUnder(token, () => post('users:list', {}, agents.flood));
    expect([...plain.counts.keys()]).toEqual([401]);
    const guessed = await readsUnder(token, async (left) => {
      const email = left % 2 ? root.email : `u${left}@example.com`;
      const reply = await post('auth:signIn', { email, password: `wrong ${left}` }, agents.flood);
      if (reply.status === 503) expect(reply.retryAfter).toBe('2');
      return reply;
    });
    // With an unlimited queue, every sign-in would be checked and none refused with 503.
    expect([...guessed.counts.keys()].sort()).toEqual([401, 503]);
    expect(guessed.counts.get(503)).toBeGreaterThan(attempts / 4);
    // Compared with a flood of cheap requests, only the processor time of one hash at a time is added.
    expect(guessed.slowest).toBeLessThan(500 + 6 * plain.slowest);
    expect(await signIn()).toMatch(/^tbs_/);
  });

  test('does not prevent signed-in users from changing passwords', { timeout: 120_000 }, async () => {
    const token = await signIn();
    let going = true;
    const flooding = Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (going) {
          await post('auth:signIn', { email: 'x', password: 'wrong wrong' }, agents.flood);
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }),
    );
    const statuses: number[] = [];
    for (let each = 0; each < 3; each += 1) {
      const person = { email: `new${each}@example.com`, password: root.password };
      statuses.push((await post('users:create', person, agents.reads, token)).status);
    }
    going = false;
    await flooding;
    expect(statuses).toEqual([200, 200, 200]);
  });

  async function signIn(): Promise<string> {
    return JSON.parse((await post('auth:signIn', root, agents.reads)).text).data.token;
  }

  /** Counts the replies to a flood by status, and measures the 99th percentile of reads during it, in milliseconds. */
  async function readsUnder(
    token: string,
    knock: (left: number) => Promise<Answered>,
  ): Promise<{ counts: Map<number, number>; slowest: number }> {
    const counts = new Map<number, number>();
    let left = attempts;
    const flooding = Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (left > 0) {
          left -= 1;
          const { status } = await knock(left);
          counts.set(status, (counts.get(status) ?? 0) + 1);
        }
      }),
    );
    const times: number[] = [];
    while (left > 0) {
      const began = performance.now();
      expect((await post('users:get?filterByTk=1', undefined, agents.reads, token)).status).toBe(200);
      times.push(performance.now() - began);
    }
    await flooding;
    times.sort((one, other) => one - other);
    return { counts, slowest: times[Math.floor(times.length * 0.99)]! };
  }

  function post(path: string, body: unknown, agent: Agent, token?: string): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
      const sent = request(`${server.url}/api/${path}`, { method: 'POST', agent, headers }, (reply) => {
        let text = '';
        reply.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        reply.on('end', () => resolve({ status: reply.statusCode!, text, retryAfter: reply.headers['retry-after'] }));
      });
      sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
});
