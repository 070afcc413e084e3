import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const program = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

interface Started {
  readonly url: string;
  readonly lines: () => string;
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

async function start(dataDir: string, env: Record<string, string>): Promise<Started> {
  const child = spawn(process.execPath, [program, 'start'], {
    cwd: dataDir,
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'silent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const gone = new Promise<number | null>((resolve) => child.once('close', resolve));
  const listening = new Promise<string>((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      text += chunk.toString();
      const url = /listens on (\S+),/.exec(text)?.[1];
      if (url) resolve(url);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    void gone.then((code) => reject(new Error(`ended with ${code}: ${text}`)));
  });
  const url = await listening;
  const stop = (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return gone;
  };
  return { url, lines: () => text, stop };
}

const post = (url: string, token: string | null, body: unknown): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });

describe('the process', () => {
  const folder = (): string => mkdtempSync(join(tmpdir(), 'tablinum-process-'));

  test('says what is missing, and refuses a bad setting by name', async () => {
    const dataDir = folder();
    const server = await start(dataDir, {});
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await server.stop('SIGTERM')).toBe(0);
    expect(server.lines()).toMatch(/engine SQLite/);
    expect(server.lines()).toMatch(/APP_KEY is not set/);
    expect(server.lines()).toMatch(/There is no user yet. This link makes the first admin[\s\S]*set INIT_ROOT_EMAIL/);
    await expect(start(dataDir, { PORT: 'x' })).rejects.toThrow(/ended with 1: PORT must be a whole number/);
    rmSync(dataDir, { recursive: true });
  });

  test('SIGTERM: what is under way is answered, what was acknowledged is there', async () => {
    const dataDir = folder();
    const env = {
      APP_KEY: 'a key for tests only, long enough to be quiet',
      INIT_ROOT_EMAIL: 'root@example.com',
      INIT_ROOT_PASSWORD: 'correct horse battery',
      RATE_LIMIT_CREDENTIAL: 'off',
    };
    const account = { email: 'root@example.com', password: 'correct horse battery' };
    const server = await start(dataDir, env);
    const signedIn = (await (await post(`${server.url}/api/auth:signIn`, null, account)).json()) as {
      data: { token: string };
    };
    const { token } = signedIn.data;
    const things = { name: 'things', fields: [{ name: 'n', type: 'integer' }] };
    await post(`${server.url}/api/collections:create`, token, things);
    const acknowledged: number[] = [];
    const statuses = new Set<number>();
    let resets = 0;
    const writers = Array.from({ length: 8 }, async (_, offset) => {
      for (let n = offset; ; n += 8) {
        const reply = await post(`${server.url}/api/things:create`, token, { n }).catch(() => null);
        if (!reply) {
          resets += 1;
          return;
        }
        statuses.add(reply.status);
        if (reply.status !== 200) return;
        acknowledged.push(n);
      }
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await server.stop('SIGTERM')).toBe(0);
    await Promise.all(writers);
    expect([...statuses].filter((status) => ![200, 503].includes(status))).toEqual([]);
    expect(resets).toBeLessThanOrEqual(8);
    const again = await start(dataDir, env);
    const listed = (await (
      await post(`${again.url}/api/things:list`, token, { count: 'exact', pageSize: 1 })
    ).json()) as { meta: { count: number } };
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(listed.meta.count).toBeGreaterThanOrEqual(acknowledged.length);
    expect(await again.stop('SIGTERM')).toBe(0);
    rmSync(dataDir, { recursive: true });
  });
});
