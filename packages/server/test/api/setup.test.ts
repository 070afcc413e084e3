import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeToken } from '../../src/base/token.ts';
import { describeEngines, type Store } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { hour, MovingClock } from '../support/moving-clock.ts';
import { TestServer } from '../support/scenario.ts';

const cli = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));
const password = 'correct horse battery';
const linkInvalid = { error: 'Bad Request', code: 'LINK_INVALID' };

describeEngines('the first administrator', (engine) => {
  describe('with the link that the program prints', () => {
    let store: Store;
    let child: ChildProcess;
    let printed = '';
    let url = '';
    const start = async (): Promise<void> => {
      printed = '';
      const env = {
        PATH: process.env['PATH'],
        PORT: '0',
        DATA_DIR: store.dataDir,
        ...(store.databaseUrl && { DATABASE_URL: store.databaseUrl }),
        APP_KEY: 'a key for tests only, long enough to be quiet',
        DATABASE_DURABILITY: 'unchecked',
        LOG_LEVEL: 'info',
      };
      child = spawn(process.execPath, [cli, 'start'], { cwd: store.dataDir, env, stdio: ['ignore', 'pipe', 'pipe'] });
      for (const stream of [child.stdout!, child.stderr!])
        stream.on('data', (chunk) => {
          printed += String(chunk);
        });
      // The link for the first administrator is printed directly after this line.
      for (let attempt = 0; !/listens on \S+,/.test(printed); attempt += 1) {
        if (attempt === 600) throw new Error(`it did not start: ${printed}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
      url = /listens on (\S+),/.exec(printed)![1]!;
    };
    const stop = async (): Promise<void> => {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('exit', resolve));
    };
    const call = async (path: string, body: unknown): Promise<{ status: number; text: string; body: Json }> => {
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(`${url}/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      const text = await reply.text();
      return { status: reply.status, text, body: JSON.parse(text) };
    };
    beforeAll(async () => {
      store = await engine.store();
      await start();
    });
    afterAll(async () => {
      await stop();
      await store.remove();
    });

    test('the link works once and signs in', async () => {
      const link = new RegExp(`${url}/setup#token=(tbi_[A-Za-z0-9]{49})\\n`).exec(printed);
      const token = link![1]!;
      const admin = { token, email: ' Root@Example.com', password };
      expect((await call('auth:signIn', { email: 'root@example.com', password })).status).toBe(401);
      const bad = await call('auth:setup', { ...admin, password: 'root@example.com' });
      expect(bad).toMatchObject({ status: 422, body: { details: { password: expect.any(String) } } });
      const tries = await Promise.all(
        [1, 2, 3].map((each) => call('auth:setup', { ...admin, nickname: `Root ${each}` })),
      );
      expect(tries.map((each) => each.status).sort()).toEqual([200, 400, 400]);
      const made = tries.find((each) => each.status === 200)!;
      expect(made.body.data).toMatchObject({
        user: { id: 1, email: 'root@example.com', roles: ['admin'], status: 'active' },
        token: expect.stringMatching(/^tbs_/),
      });
      expect((await call('auth:setup', { ...admin, email: 'two@example.com' })).body).toMatchObject(linkInvalid);
      expect((await call('auth:signIn', { email: 'root@example.com', password })).status).toBe(200);
      expect(made.text).not.toContain('argon2');
    });

    test('the log contains no token, and the next start prints no link', async () => {
      expect(printed.split('\n').filter((line) => line.startsWith('{') && line.includes('tbi_'))).toEqual([]);
      await stop();
      await start();
      expect(printed).not.toMatch(/tbi_|setup/);
    });
  });

  describe('a setup token', () => {
    const clock = new MovingClock();
    let server: TestServer;
    const setup = (token: string): ReturnType<TestServer['call']> =>
      server.call('POST /api/auth:setup', { as: 'nobody', body: { token, email: 'root@example.com', password } });
    beforeAll(async () => {
      server = await TestServer.start(engine, { clock, env: { INIT_ROOT_EMAIL: '' }, signIn: false });
    });
    afterAll(() => server.stop());

    test('that is unknown is refused', async () => {
      for (const token of [makeToken('tbi'), makeToken('tbr'), 'x', server.running.setupToken!.slice(0, -1)])
        expect(await setup(token)).toMatchObject({ status: 400, body: linkInvalid });
    });

    test('expires after a day; another start prints another one, and both are valid until one is used', async () => {
      const first = server.running.setupToken!;
      clock.advance(24 * hour);
      expect((await setup(first)).body).toMatchObject(linkInvalid);
      const starts: string[] = [];
      for (let start = 0; start < 2; start += 1) {
        await server.running.stop();
        await server.boot();
        starts.push(server.running.setupToken!);
      }
      expect((await setup(starts[0]!)).status).toBe(200);
      expect((await setup(starts[1]!)).status).toBe(400);
    });

    test('is invalid after a user exists', async () => {
      expect(server.running.setupToken).not.toBeNull();
      await server.running.stop();
      await server.boot();
      expect(server.running.setupToken).toBeNull();
    });
  });
});
