import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

const program = fileURLToPath(new URL('./killable-server.ts', import.meta.url));

/** A server in a process of its own over `items` with as many records as wanted; signed in as admin. */
export interface BigStore {
  readonly url: string;
  readonly process: ChildProcess;
  readonly headers: Readonly<Record<string, string>>;
  post(action: string, body?: unknown): Promise<Response>;
  /** Megabytes that the server has held at most since it began; null where the system does not tell. */
  peakMegabytes(): number | null;
  remove(): Promise<void>;
}

/** `items` of `n` (1…), `words` (some 60 characters), and `next` (belongsTo items, by an indexed key). */
export async function bigStore(engine: Engine, records: number): Promise<BigStore> {
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
  return started(server);
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
  await database.write((transaction) => transaction.run({ text, values: [] }), { heavy: true, patient: true });
}

async function started({ store }: TestServer): Promise<BigStore> {
  const child = spawn(process.execPath, [program, store.dataDir, store.databaseUrl ?? ''], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve) =>
    child.stdout!.once('data', (chunk) => resolve(String(chunk).trim())),
  );
  const post = (action: string, body: unknown, headers: object): Promise<Response> =>
    fetch(`${url}/api/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const account = { email: 'root@example.com', password: 'correct horse battery' };
  const { data } = (await (await post('auth:signIn', account, {})).json()) as { data: { token: string } };
  const headers = { authorization: `Bearer ${data.token}` };
  return {
    url,
    process: child,
    headers,
    post: (action, body) => post(action, body, headers),
    peakMegabytes: () => peakMegabytes(child.pid!),
    async remove() {
      child.kill('SIGKILL');
      await store.remove();
    },
  };
}

function peakMegabytes(pid: number): number | null {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  } catch {
    return null;
  }
}
