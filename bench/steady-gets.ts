/** Short requests at a steady rate, which show what others notice of the work of a server. */
import { Agent, request } from 'node:http';

/** Gets of one connection in a second. */
const getsPerSecond = 25;

/**
 * Sends gets until it is stopped.
 *
 * @param pathAt the path of a get, by its index.
 * @param connections how many; each sends 25 gets per second if the server answers in time.
 * @returns a function that stops them and returns their times in milliseconds, in ascending order.
 */
export function startGets(
  port: number,
  token: string,
  pathAt: (index: number) => string,
  connections = 4,
): () => Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  let isRunning = true;
  const get = (path: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const from = performance.now();
      request({ agent, port, path, headers: { authorization: `Bearer ${token}` } }, (response) => {
        response.resume().on('end', () => {
          if (response.statusCode !== 200) return reject(new Error(`${path}: ${response.statusCode}`));
          times.push(performance.now() - from);
          resolve();
        });
      })
        .on('error', reject)
        .end();
    });
  const run = async (first: number): Promise<void> => {
    for (let index = first; isRunning; index += connections) {
      await get(pathAt(index));
      await new Promise((resolve) => setTimeout(resolve, 1000 / getsPerSecond));
    }
  };
  const all = Promise.all(Array.from({ length: connections }, (_, index) => run(index)));
  return async () => {
    isRunning = false;
    await all;
    agent.destroy();
    return times.sort((one, other) => one - other);
  };
}

/** @param times in ascending order. */
export function formatTimes(times: readonly number[]): string {
  const at = (share: number): string => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(1);
  return `${times.length} gets p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms`;
}
