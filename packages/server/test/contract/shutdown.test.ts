import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliProcess, postJson, rootSettings, signInAsRoot, startCliProcess } from '../support/cli-process.ts';

describe('the process', () => {
  const folder = (): string => mkdtempSync(join(tmpdir(), 'tablinum-process-'));

  test('reports a missing setting, and names an invalid setting', async () => {
    const dataDir = folder();
    const server = await startCliProcess(dataDir, {});
    await expect.poll(server.output).toMatch(/first admin[\s\S]*set INIT_ROOT_EMAIL/);
    expect(await server.stop('SIGTERM')).toBe(0);
    expect(server.output()).toMatch(/engine SQLite/);
    expect(server.output()).toMatch(/APP_KEY is not set/);
    expect(server.output()).toMatch(
      /There is no user yet. This link creates the first admin[\s\S]*set INIT_ROOT_EMAIL/,
    );
    await expect(startCliProcess(dataDir, { PORT: 'x' })).rejects.toThrow(/ended with 1: PORT must be a whole number/);
    rmSync(dataDir, { recursive: true });
  });

  test('completes running requests and keeps acknowledged writes after SIGTERM', async () => {
    const dataDir = folder();
    const server = await startCliProcess(dataDir, rootSettings);
    const token = await signInAsRoot(server);
    const things = { name: 'things', fields: [{ name: 'n', type: 'integer' }] };
    await postJson(`${server.url}/api/collections:create`, token, things);
    const acknowledged: number[] = [];
    const statuses = new Set<number>();
    let resets = 0;
    const writers = Array.from({ length: 8 }, async (_, offset) => {
      for (let n = offset; ; n += 8) {
        const reply = await postJson(`${server.url}/api/things:create`, token, { n }).catch(() => null);
        if (!reply) {
          resets += 1;
          return;
        }
        statuses.add(reply.status);
        if (reply.status !== 200) return;
        acknowledged.push(n);
      }
    });
    await expect.poll(() => acknowledged.length).toBeGreaterThan(8);
    expect(await server.stop('SIGTERM')).toBe(0);
    await Promise.all(writers);
    expect([...statuses].filter((status) => ![200, 503].includes(status))).toEqual([]);
    expect(resets).toBeLessThanOrEqual(8);
    const again = await startCliProcess(dataDir, rootSettings);
    const listed = (await (
      await postJson(`${again.url}/api/things:list`, token, { count: 'exact', pageSize: 1 })
    ).json()) as { meta: { count: number } };
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(listed.meta.count).toBeGreaterThanOrEqual(acknowledged.length);

    // Requests that never end do not delay a stop, and a request that ends in time is answered.
    const held = await endlessRequests(again, token);
    const head = 'POST /api/things:create HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
    const timely = open(again, `${head}authorization: Bearer ${token}\r\ncontent-length: 8\r\n\r\n{"n":`);
    await Promise.all([...held, timely].map(({ connected }) => connected));
    await new Promise((resolve) => setTimeout(resolve, 300)); // until they have arrived
    const since = performance.now();
    again.signal('SIGTERM');
    await expect.poll(async () => (await fetch(`${again.url}/ready`).catch(() => null))?.status ?? 503).toBe(503);
    timely.socket.write('-1}');
    expect(await timely.closed).toMatch(/^HTTP\/1.1 (200|503) /);
    expect(await again.exitCode).toBe(0);
    expect(performance.now() - since).toBeLessThan(30_000); // about five seconds on an idle machine
    await Promise.all(held.map(({ closed }) => closed));
    rmSync(dataDir, { recursive: true });
  });

  test('ends immediately at a second signal', async () => {
    const dataDir = folder();
    const server = await startCliProcess(dataDir, rootSettings);
    const { socket, connected, closed } = open(server, 'POST /api/things:create HTTP/1.1\r\nhost: x\r\n');
    await connected;
    await new Promise((resolve) => setTimeout(resolve, 100));
    server.signal('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 700)); // a second signal that arrives at once is taken for an echo of the first
    expect(socket.destroyed).toBe(false);
    expect(await server.stop('SIGINT')).toBe(130);
    await closed;
    rmSync(dataDir, { recursive: true });
  });
});

interface Opened {
  readonly socket: Socket;
  readonly connected: Promise<void>;
  /** Resolves with everything that was received. */
  readonly closed: Promise<string>;
}

/** A connection on which only this text is sent. */
function open({ url }: CliProcess, text: string): Opened {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  let received = '';
  socket.on('data', (chunk) => {
    received += String(chunk);
  });
  const connected = new Promise<void>((resolve) => socket.write(text, () => resolve()));
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  return { socket, connected, closed };
}

/**
 * Requests that never end: with an endless head or an endless body, a stream and a list that are not read, a long poll,
 * a WebSocket.
 */
async function endlessRequests(server: CliProcess, token: string): Promise<Opened[]> {
  const authorised = `host: x\r\nauthorization: Bearer ${token}\r\n`;
  const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\n${authorised}${more}\r\n`;
  const texts = [
    '',
    'GET /api/things:list HTTP/1.1\r\nhost: x\r\n',
    `POST /api/things:create HTTP/1.1\r\n${authorised}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    get('/api/realtime?resource=things', 'accept: text/event-stream\r\n'),
    get('/api/changes:list?wait=30'),
    get(
      '/api/realtime',
      'connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
    ),
  ];
  return texts.map((text) => {
    const opened = open(server, text);
    opened.socket.pause(); // reads nothing until the server has exited
    void server.exitCode.then(() => opened.socket.resume());
    return opened;
  });
}
