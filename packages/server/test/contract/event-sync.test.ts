import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, type Store } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { ServerChild } from '../support/server-child.ts';
import { SocketClient } from '../support/socket-client.ts';

const rounds = 3;
/** `EVENT_SYNC_WRITES=3000 vitest run event-sync` does as many. */
const writesWanted = Number(process.env['EVENT_SYNC_WRITES'] ?? 450);
const writers = 4;

/** A copy of a collection that lives on events alone once it is made. */
class Copy {
  readonly records = new Map<string, Json>();
  readonly #filter: object | undefined;
  #client: SocketClient | null = null;
  #cursor: string | null = null;
  #taken = 0;

  constructor(filter?: object) {
    this.#filter = filter;
  }

  /** Subscribes; the first time it also reads what is there, afterwards it goes on from its last event. */
  async connect(server: ServerChild): Promise<void> {
    this.#client = await SocketClient.connect(server.url);
    this.#client.send({ type: 'authenticate', token: server.token });
    this.#taken = 0;
    const { cursor, type } = await this.#client.subscribe('copy', 'things', {
      values: true,
      ...(this.#filter && { filter: this.#filter }),
      ...(this.#cursor !== null && { since: this.#cursor }),
    });
    expect(type).toBe('subscribed');
    if (this.#cursor !== null) return;
    this.#cursor = cursor;
    for (const record of await server.data('things:list', {
      pageSize: 1000,
      ...(this.#filter && { filter: this.#filter }),
    }))
      this.records.set(String(record.id), record);
  }

  /** Applies what was heard; @returns whether the event of a record was among it. */
  take(tk: string): boolean {
    const { heard } = this.#client!;
    for (; this.#taken < heard.length; this.#taken += 1) {
      const message = heard[this.#taken];
      expect(['authenticated', 'subscribed', 'event']).toContain(message.type);
      if (message.type === 'event') this.#apply(message.event);
    }
    return this.records.has(tk);
  }

  #apply({ name, tk, record, cursor }: Json): void {
    if (name === 'things.destroyed' || name === 'things.left' || record === null) this.records.delete(tk);
    else this.records.set(tk, record);
    this.#cursor = cursor;
  }

  async until(tk: string): Promise<void> {
    await this.#client!.until(() => (this.take(tk) ? true : undefined));
  }

  /** What a killed server's clients have: all that came before. */
  async drop(): Promise<void> {
    await this.#client!.end();
    this.take('');
  }
}

describeEngines('a copy that lives on events', (engine) => {
  let store: Store;
  beforeAll(async () => {
    store = await engine.store();
  });
  afterAll(() => store.remove());

  test('equals the table after random writes, kills and reconnects', { timeout: 240_000 }, async () => {
    let server = await ServerChild.start(store);
    await server.data('collections:create', {
      name: 'things',
      fields: [
        { name: 'n', type: 'integer' },
        { name: 'on', type: 'boolean' },
      ],
    });
    await server.data(
      'things:create',
      Array.from({ length: 50 }, (_, n) => ({ n, on: n % 2 === 0 })),
    );
    const copies = [new Copy(), new Copy({ on: true })];
    let writes = 0;
    const write = async (to: ServerChild): Promise<void> => {
      let highest = 50;
      for (;;) {
        const draw = Math.random();
        const target = 1 + Math.floor(Math.random() * highest);
        const body = { n: Math.floor(Math.random() * 1000), on: Math.random() < 0.5 };
        let done: Json;
        if (draw < 0.4) {
          done = await to.data('things:create', body);
          highest = Math.max(highest, done?.id ?? 0);
        } else if (draw < 0.8) done = await to.data(`things:update?filterByTk=${target}`, body);
        else if (draw < 0.9) done = await to.data(`things:destroy?filterByTk=${target}`);
        else done = await to.data('things:create', [body, body, body]);
        if (done === null && !(await reached(to))) return;
        writes += 1;
      }
    };
    for (let round = 0; round < rounds; round += 1) {
      for (const copy of copies) await copy.connect(server);
      const writing = Array.from({ length: writers }, () => write(server));
      while (writes < ((round + 1) * writesWanted) / rounds) await new Promise((resolve) => setTimeout(resolve, 20));
      await server.kill();
      await Promise.all([...writing, ...copies.map((copy) => copy.drop())]);
      server = await ServerChild.start(store);
    }
    for (const copy of copies) await copy.connect(server);
    const last = await server.data('things:create', { n: -1, on: true });
    for (const [index, copy] of copies.entries()) {
      await copy.until(String(last.id));
      const filter = index === 0 ? {} : { filter: { on: true } };
      const table: Json[] = [];
      for (let page = 1; ; page += 1) {
        const records = await server.data('things:list', { pageSize: 1000, page, ...filter });
        table.push(...records);
        if (records.length < 1000) break;
      }
      const held = [...copy.records.values()].sort((one, other) => one.id - other.id);
      expect(held).toEqual(table);
      expect(held.length).toBeGreaterThan(20);
    }
    await server.kill();
  });
});

async function reached({ url }: ServerChild): Promise<boolean> {
  return fetch(`${url}/api/health`).then(
    () => true,
    () => false,
  );
}
