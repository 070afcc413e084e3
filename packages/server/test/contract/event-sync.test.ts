import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, type Store } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { ServerProcess } from '../support/server-process.ts';
import { SocketClient } from '../support/socket-client.ts';

/** For a larger run: `EVENT_SYNC_WRITES=10000 EVENT_SYNC_KILLS=20 vitest run event-sync`. */
const writesWanted = Number(process.env['EVENT_SYNC_WRITES'] ?? 300);
const rounds = Number(process.env['EVENT_SYNC_KILLS'] ?? 2);
const writers = 4;
const timeout = 60_000 + writesWanted * 40 + rounds * 5000;

/** A copy of a collection that is only updated by events after it was first read. */
class Copy {
  readonly records = new Map<string, Json>();
  readonly #filter: object | undefined;
  #client: SocketClient | null = null;
  #cursor: string | null = null;
  #taken = 0;

  constructor(filter?: object) {
    this.#filter = filter;
  }

  /**
   * Subscribes. The first time, it also reads all existing records; later it continues after its last event.
   *
   * @returns whether the server required a reload, which this method then does.
   */
  async connect(server: ServerProcess): Promise<boolean> {
    this.#client = await SocketClient.connect(server.url);
    this.#client.send({ type: 'authenticate', token: server.token });
    this.#taken = 0;
    const { cursor, type } = await this.#client.subscribe('copy', 'things', {
      values: true,
      ...(this.#filter && { filter: this.#filter }),
      ...(this.#cursor !== null && { since: this.#cursor }),
    });
    expect(type).toBe('subscribed');
    const anew = this.#cursor !== null && cursor !== this.#cursor;
    if (this.#cursor !== null && !anew) return false;
    if (anew) expect(await this.#client.next((message) => message.type === 'resync')).toMatchObject({ cursor });
    this.#taken = this.#client.heard.length;
    this.#cursor = cursor;
    this.records.clear();
    for (const record of await tableOf(server, this.#filter)) this.records.set(String(record.id), record);
    return anew;
  }

  /** Whether events have arrived that are not applied yet. */
  get hasEvents(): boolean {
    return this.#client!.heard.slice(this.#taken).some(({ type }) => type === 'event');
  }

  /** Applies the received events. @returns whether one of them was about the record `tk`. */
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

  /** Closes the client of a killed server, after all received events were applied. */
  async drop(): Promise<void> {
    await this.#client!.end();
    this.take('');
  }
}

/** All records, page by page. */
async function tableOf(server: ServerProcess, filter?: object): Promise<Json[]> {
  const table: Json[] = [];
  for (let page = 1; ; page += 1) {
    const records = await server.data('things:list', { pageSize: 1000, page, ...(filter && { filter }) });
    table.push(...records);
    if (records.length < 1000) return table;
  }
}

/** Makes random writes until the server is gone. @param wrote is called after each successful write. */
async function writeOn(server: ServerProcess, wrote: () => void): Promise<void> {
  let highest = 50;
  for (;;) {
    const draw = Math.random();
    const target = 1 + Math.floor(Math.random() * highest);
    const body = { n: Math.floor(Math.random() * 1000), on: Math.random() < 0.5 };
    let done: Json;
    if (draw < 0.35) {
      done = await server.data('things:create', body);
      highest = Math.max(highest, done?.id ?? 0);
    } else if (draw < 0.75) done = await server.data(`things:update?filterByTk=${target}`, body);
    else if (draw < 0.8) done = await server.data(`things:update?filterByTk=${target}`, { madeOfId: target - 1 });
    else if (draw < 0.9) done = await server.data(`things:destroy?filterByTk=${target}`);
    else done = await server.data('things:create', [body, { ...body, ownerId: target }, body]);
    if (done === null && !(await reached(server))) return;
    wrote();
  }
}

describeEngines('a copy that is kept current by events', (engine) => {
  let store: Store;
  let server: ServerProcess;
  const copies = [new Copy(), new Copy({ on: true })];
  beforeAll(async () => {
    store = await engine.store(true);
    server = await ServerProcess.start(store);
    await server.data('collections:create', {
      name: 'things',
      fields: [
        { name: 'n', type: 'integer' },
        { name: 'on', type: 'boolean' },
        { name: 'owner', type: 'belongsTo', target: 'things', onDelete: 'cascade' },
        { name: 'madeOf', type: 'belongsTo', target: 'things' },
      ],
    });
    const first = Array.from({ length: 50 }, (_, n) => ({ n, on: n % 2 === 0 }));
    await server.data('things:create', first);
  });
  afterAll(async () => {
    await server.kill();
    await store.remove();
  });

  const connect = async (): Promise<boolean[]> => {
    const anew: boolean[] = [];
    for (const copy of copies) anew.push(await copy.connect(server));
    return anew;
  };

  /** Kills the server during writes; the copies keep the events that they received. */
  const round = async (count: number): Promise<void> => {
    let writes = 0;
    const writing = Array.from({ length: writers }, () => writeOn(server, () => (writes += 1)));
    // Without an event, a copy would continue from before the round.
    while (writes < count || !copies.every(({ hasEvents }) => hasEvents))
      await new Promise((resolve) => setTimeout(resolve, 20));
    await server.kill();
    await Promise.all([...writing, ...copies.map((copy) => copy.drop())]);
  };

  const compare = async (): Promise<void> => {
    const last = await server.data('things:create', { n: -1, on: true });
    for (const [index, copy] of copies.entries()) {
      await copy.until(String(last.id));
      const table = await tableOf(server, index === 0 ? undefined : { on: true });
      const held = [...copy.records.values()].sort((one, other) => one.id - other.id);
      expect(held).toEqual(table);
      expect(held.length).toBeGreaterThan(20);
    }
  };

  test('equals the table after random writes, kills and reconnects', { timeout }, async () => {
    for (let kills = 0; kills < rounds; kills += 1) {
      expect(await connect()).toEqual([false, false]);
      await round(writesWanted / rounds);
      server = await ServerProcess.start(store);
    }
    expect(await connect()).toEqual([false, false]);
    await compare();
  });

  test('must reload after a backup was restored, and then equals the table again', { timeout: 240_000 }, async () => {
    await server.kill();
    await Promise.all(copies.map((copy) => copy.drop()));
    const putBack = await store.copy();
    server = await ServerProcess.start(store);
    expect(await connect()).toEqual([false, false]);
    await round(30);
    await putBack();
    server = await ServerProcess.start(store);
    // The last events that the copies received no longer exist, and other writes have their positions.
    for (let n = 0; n < 40; n += 1) await server.data('things:create', { n, on: true });
    expect(await connect()).toEqual([true, true]);
    await compare();
  });
});

async function reached({ url }: ServerProcess): Promise<boolean> {
  return fetch(`${url}/api/health`).then(
    () => true,
    () => false,
  );
}
