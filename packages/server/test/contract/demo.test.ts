import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../../..');

test('the demo starts, accepts a sign-in, shows its store and its mail, and leaves no files', {
  timeout: 240_000,
}, async () => {
  const temporary = mkdtempSync(join(tmpdir(), 'tablinum-test-'));
  const env = { ...process.env, TMPDIR: temporary, PORT: '0', DEMO_MAILS: '30' };
  const demo = spawn(process.execPath, [join(root, 'scripts/demo.ts')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const isReady = new Promise<void>((resolve, reject) => {
    for (const stream of [demo.stdout, demo.stderr])
      stream.on('data', (piece: Buffer) => {
        said += piece;
        if (said.includes('curl')) resolve();
      });
    demo.once('exit', () => reject(new Error(said)));
  });
  try {
    await isReady;
    const url = /runs on (\S+);/.exec(said)![1]!;
    const email = /Sign in as +(\S+)/.exec(said)![1]!;
    const password = /with password +(\S+)/.exec(said)![1]!;
    const key = /a key +(\S+)/.exec(said)![1]!;
    const read = async (path: string, token: string): Promise<{ data: Record<string, unknown>[] }> =>
      (await fetch(`${url}/api/${path}`, { headers: { authorization: `Bearer ${token}` } })).json() as never;
    const signed = await fetch(`${url}/api/auth:signIn`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    const { data } = (await signed.json()) as { data: { token: string } };
    expect((await read('emails?pageSize=100', data.token)).data.length).toBeGreaterThan(25);
    expect((await read('emails?folder=drafts', data.token)).data).toHaveLength(1);
    expect((await read('orders:list', data.token)).data).toHaveLength(20);
    const [album] = (await read('albums:list?appends=artist', key)).data;
    expect(album).toMatchObject({ artist: { name: expect.any(String) } });
    expect(album).not.toHaveProperty('stock');
    expect(readdirSync(temporary).some((name) => name.startsWith('tablinum-demo-'))).toBe(true);
    demo.kill('SIGINT');
    await once(demo, 'exit');
    expect(readdirSync(temporary).filter((name) => name.startsWith('tablinum-demo-'))).toEqual([]);
  } finally {
    demo.kill('SIGKILL');
    if (existsSync(temporary)) rmSync(temporary, { recursive: true, force: true });
  }
});
