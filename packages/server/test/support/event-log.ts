import { expect } from 'vitest';
import type { Json } from './json.ts';
import type { TestServer } from './scenario.ts';

/** The parts of a cursor: its epoch, transaction, number, and mark. */
export const cursorParts = (cursor: string): string[] => Buffer.from(cursor, 'base64url').toString().split('.');

/** The event log of a server, as `changes:list` shows it. */
export class EventLog {
  readonly #server: TestServer;

  constructor(server: TestServer) {
    this.#server = server;
  }

  /** @param query a query such as `?pageSize=3`. */
  async page(query = '', as = 'admin'): Promise<Json> {
    const reply = await this.#server.call(`GET /api/changes:list${query}`, { as });
    expect(reply.status).toBe(200);
    return reply.body;
  }

  /**
   * Reads a page, and waits until it has at least `count` events. On PostgreSQL another transaction of the cluster may
   * delay the log for a moment.
   */
  async settled(query: string, as: string, count: number): Promise<Json> {
    let found: Json;
    const countEvents = async (): Promise<number> => {
      found = await this.page(query, as);
      return found.data.length;
    };
    await expect.poll(countEvents, { interval: 50 }).toBeGreaterThanOrEqual(count);
    return found;
  }

  /**
   * Waits until the log shows the newest event.
   *
   * @returns the cursor of this event, which must be among the first 1,000.
   */
  async end(): Promise<string> {
    const newest = await this.#server.lastCursor();
    let cursor = '';
    const findNewest = async (): Promise<string> => {
      cursor = (await this.page('?pageSize=1000')).data.at(-1).cursor;
      return cursorParts(cursor).slice(1, 3).join('.');
    };
    await expect.poll(findNewest, { interval: 50 }).toBe(newest);
    return cursor;
  }
}
