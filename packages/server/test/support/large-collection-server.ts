import type { Engine, Store } from './engines.ts';
import { TestServer } from './scenario.ts';
import { ServerProcess } from './server-process.ts';

/** A server in a process of its own over `items` with as many records as wanted; signed in as admin. */
export class LargeCollectionServer {
  readonly server: ServerProcess;
  readonly #store: Store;

  constructor(store: Store, server: ServerProcess) {
    this.#store = store;
    this.server = server;
  }

  /** Headers of a GET request. */
  get headers(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.server.token}` };
  }

  async remove(): Promise<void> {
    await this.server.kill();
    await this.#store.remove();
  }
}

/**
 * Creates `items` with the fields `n` (1…), `words` (some 60 characters), and `next` (belongsTo items, with an indexed
 * key).
 */
export async function startLargeCollectionServer(engine: Engine, records: number): Promise<LargeCollectionServer> {
  const server = await TestServer.start(engine);
  const fields = [
    { name: 'n', type: 'integer' },
    { name: 'words', type: 'string' },
    { name: 'next', type: 'belongsTo', target: 'items' },
  ];
  await server.data('POST /api/collections:create', { body: { name: 'items', fields } });
  await server.data('POST /api/items:create', { body: { n: 1, words: 'one' } });
  await fill(server, engine, records);
  await server.running.stop();
  return new LargeCollectionServer(server.store, await ServerProcess.start(server.store));
}

async function fill(server: TestServer, engine: Engine, records: number): Promise<void> {
  const { database, registry } = server.running.applications.main;
  const { table, byName } = registry.get('items');
  const column = (name: string): string => `"${byName.get(name)!.column}"`;
  const counted =
    engine.name === 'sqlite'
      ? `WITH RECURSIVE c(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM c WHERE i<${records})`
      : `WITH c(i) AS (SELECT generate_series(2,${records}))`;
  const stamps = ['createdAt', 'updatedAt'].map(column);
  const text = `${counted} INSERT INTO "${table}" (${column('n')},${column('words')},${column('nextId')},${stamps})
SELECT i,'some words that make a line of usual length, number ' || i,i-1,${stamps.map((each) => `o.${each}`)} FROM c,(SELECT * FROM "${table}") o`;
  await database.write((transaction) => transaction.run({ text, values: [] }), { heavy: true, longRunning: true });
}
