/** `tablinum user`, `key`, `app`, `jobs`, `config`, `doctor`, `completion` and help, as an operator runs them: with and without a server. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { reportSettings } from '../../src/base/setting-reports.ts';
import { runAdminCommand } from '../../src/cli-admin.ts';
import { commands } from '../../src/cli-commands.ts';
import { findConfigProblem } from '../../src/cli-config.ts';
import { diagnose } from '../../src/cli-doctor.ts';
import { type CliProcess, startCliProcess } from '../support/cli-process.ts';
import { describeEngines, type Store } from '../support/engines.ts';
import { sendRequest } from '../support/http-client.ts';
import type { Json } from '../support/json.ts';

const program = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));
const appKey = 'a key for tests only, long enough to be quiet';

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

function run(args: readonly string[], env: Readonly<Record<string, string>>, input = ''): Promise<Run> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '', LOG_LEVEL: 'silent', ...env },
  });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (piece) => {
    out += String(piece);
  });
  child.stderr.on('data', (piece) => {
    errors += String(piece);
  });
  child.stdin.end(input);
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, errors })));
}

describeEngines('the command line', (engine) => {
  let store: Store;
  let env: Record<string, string>;
  let started: CliProcess | null = null;
  beforeAll(async () => {
    store = await engine.store(false);
    env = {
      DATA_DIR: store.dataDir,
      APP_KEY: appKey,
      DATABASE_DURABILITY: 'unchecked',
      ...(store.databaseUrl && { DATABASE_URL: store.databaseUrl }),
    };
  });
  afterAll(async () => {
    await started?.stop('SIGKILL');
  });

  /** Runs a command in this process, which is faster. */
  const json = async (command: string, ...args: string[]): Promise<Json> => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    try {
      expect(await runAdminCommand(command, [...args, '--json'], readConfig(env))).toBe(0);
      return JSON.parse(String(log.mock.lastCall?.[0]));
    } finally {
      log.mockRestore();
    }
  };

  test('works on the data when no server runs, and through the server otherwise', { timeout: 60_000 }, async () => {
    const ann = await json('user', 'create', 'ann@example.com', '--role', 'admin');
    expect(ann).toMatchObject({ id: 1, email: 'ann@example.com', password: expect.stringMatching(/^[\w-]{24}$/) });
    const refused = await run(['user', 'suspend', 'ann@example.com'], env);
    expect(refused).toMatchObject({ code: 1, out: '', errors: expect.stringContaining('The last admin') });
    expect(existsSync(join(store.dataDir, 'operator.json'))).toBe(false);

    const server = await startCliProcess(store.dataDir, { ...env, RATE_LIMIT_CREDENTIAL: 'off' });
    started = server;
    const file = join(store.dataDir, 'operator.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { token } = JSON.parse(readFileSync(file, 'utf8')) as { token: string };
    const bob = await run(['user', 'create', 'bob@example.com', '--password-stdin'], env, 'correct horse battery\n');
    expect(bob).toMatchObject({ code: 0, errors: '' });
    expect(bob.out).not.toContain('password');
    const signIn = (email: string, password: string): Promise<{ status: number }> =>
      sendRequest(`${server.url}/api/auth:signIn`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email, password }),
      });
    expect((await signIn('bob@example.com', 'correct horse battery')).status).toBe(200);
    const { password } = await json('user', 'reset-password', 'bob@example.com');
    expect((await signIn('bob@example.com', 'correct horse battery')).status).toBe(401);
    expect((await signIn('bob@example.com', password)).status).toBe(200);
    await json('user', 'suspend', 'bob@example.com');
    expect((await signIn('bob@example.com', password)).status).toBe(401);
    expect(await json('user', 'list')).toMatchObject([
      { email: 'ann@example.com', status: 'active', roles: 'admin' },
      { email: 'bob@example.com', status: 'suspended' },
    ]);

    await expect(json('key', 'create', '--role', 'admin', '--expires', '5')).rejects.toThrow(
      /--expires must be a duration/,
    );
    const key = await json('key', 'create', '--role', 'admin', '--name', 'ci');
    const useKey = (path: string, headers = {}): Promise<{ status: number; text: string }> =>
      sendRequest(`${server.url}/api/${path}`, {
        method: 'GET',
        headers: { authorization: `Bearer ${key.token}`, ...headers },
      });
    const audit = await useKey('audit:list?pageSize=100');
    expect(audit.status).toBe(200);
    expect(audit.text).toMatch(/"operator"/);
    expect(await json('key', 'list')).toMatchObject([{ id: key.id, name: 'ci', role: 'admin' }]);
    await json('key', 'revoke', String(key.id));
    expect((await useKey('users:list')).status).toBe(401);

    const asOperator = (headers: Record<string, string>): Promise<{ status: number }> =>
      sendRequest(`${server.url}/api/users:list`, { method: 'GET', headers });
    expect((await asOperator({ authorization: `Bearer ${token}` })).status).toBe(200);
    for (const forwarded of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'x-forwarded-host', 'via'])
      expect((await asOperator({ authorization: `Bearer ${token}`, [forwarded]: '203.0.113.7' })).status).toBe(401);
    const other = token.slice(0, -1) + (token.endsWith('x') ? 'y' : 'x');
    expect((await asOperator({ authorization: `Bearer ${other}` })).status).toBe(401);

    expect(await json('app', 'create', 'shop')).toMatchObject({ name: 'shop', status: 'running' });
    expect(await json('user', 'list', '--app', 'shop')).toEqual([]);
    await json('app', 'stop', 'shop');
    expect(await json('app', 'list')).toMatchObject([{ name: 'main' }, { name: 'shop', status: 'stopped' }]);
    await expect(json('app', 'destroy', 'shop')).rejects.toThrow('--confirm shop');
    expect(await json('app', 'destroy', 'shop', '--confirm', 'shop')).toMatchObject({ destroyed: true });
    expect(await json('jobs', 'list')).toEqual([]);
    expect(await diagnose(env)).toContainEqual(expect.objectContaining({ check: 'server', status: 'ok' }));
    await server.stop('SIGTERM');
    expect(existsSync(file)).toBe(false);
    expect(await json('app', 'list')).toMatchObject([{ name: 'main' }]);
  });

  test('does not send its token to another program that listens on the port of a killed server', async () => {
    const requests: string[] = [];
    const other = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.end('{}');
    });
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const ended = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(ended, 'exit');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const left = { url, token: 'tbo_left', pid: ended.pid, host: hostname() };
    writeFileSync(join(store.dataDir, 'operator.json'), JSON.stringify(left));
    expect(await json('app', 'list')).toMatchObject([{ name: 'main' }]);
    expect(await diagnose(env)).toContainEqual(
      expect.objectContaining({ check: 'server', message: expect.stringContaining('No running server') }),
    );
    other.close();
    expect(requests).toEqual([]);
  });

  test('doctor names problems and their cure, without a secret', async () => {
    const findings = await diagnose({
      ...env,
      APP_KEY: 'short',
      SMTP_URL: 'smtp://u:hidden@127.0.0.1:1',
      SMTP_FROM: 'a@example.com',
      PUBLIC_URL: 'https://a.example',
    });
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'keys', status: 'warning', cure: expect.stringContaining('openssl') }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ check: 'mail', status: 'failed' }));
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'store', status: expect.stringMatching('ok|warning') }),
    );
    expect(JSON.stringify(findings)).not.toContain('hidden');
  });
});

test('doctor finds a damaged database file', async () => {
  const { mkdtempSync, mkdirSync, writeFileSync, rmSync } = await import('node:fs');
  const { tmpdir } = await import('node:os');
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-doctor-'));
  mkdirSync(join(folder, 'applications'));
  writeFileSync(join(folder, 'applications', '1.db'), 'not a database'.repeat(1000));
  const findings = await diagnose({ DATA_DIR: folder, APP_KEY: appKey });
  expect(findings).toContainEqual(expect.objectContaining({ check: 'store', status: 'failed' }));
  rmSync(folder, { recursive: true });
});

describe('config', () => {
  test('names the source of each value, and never the value of a secret', async () => {
    const env = { PORT: '5000', APP_KEY: 'private text', DATABASE_URL_FILE: '/run/secrets/url' };
    const reports = new Map(reportSettings(env, ['PORT']).map((each) => [each.name, each]));
    expect(reports.get('PORT')).toMatchObject({ value: '5000', source: 'environment' });
    expect(reports.get('HOST')).toMatchObject({ value: '127.0.0.1', source: 'default' });
    expect(reports.get('DATABASE_URL')).toMatchObject({ value: null, source: 'file', isSet: true });
    expect(reports.get('APP_KEY')).toMatchObject({ value: null, isSet: true });
    expect(JSON.stringify([...reports.values()])).not.toContain('private');
    const shown = await run(['config'], { PORT: '5000', APP_KEY: 'private text' });
    expect(shown).toMatchObject({ code: 0, errors: '' });
    expect(shown.out).toMatch(/^PORT +environment +5000$/m);
    expect(shown.out).toMatch(/^APP_KEY +environment +\(secret\)$/m);
  });

  test('names an invalid value, and fails', async () => {
    expect(findConfigProblem({ PORT: 'x' })).toBe('PORT must be a whole number from 0 to 65535.');
    expect(await run(['config'], { PORT: 'x' })).toMatchObject({
      code: 1,
      out: expect.stringContaining('Invalid: PORT'),
    });
  });
});

test('every command has help, and wrong usage has the exit code 2', async () => {
  const { out } = await run(['help'], {});
  for (const { name } of commands) expect(out).toContain(`  ${name} `);
  const helps = await Promise.all(['user', 'import', 'start'].map((name) => run([name, '--help'], {})));
  for (const each of helps)
    expect(each).toMatchObject({ code: 0, errors: '', out: expect.stringContaining('tablinum ') });
  for (const args of [
    ['nothing'],
    ['user'],
    ['user', 'list', 'more'],
    ['key', 'list', '--role', 'x'],
    ['completion', 'tcsh'],
    ['user', 'list', '--what'],
  ])
    expect((await run(args, {})).code, args.join(' ')).toBe(2);
});

test('completion scripts are valid in their shells', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await run(['completion', shell], {});
    expect(code).toBe(0);
    expect(out).toContain('reset-password');
    const checked = spawnSync(shell, ['-n'], { input: out });
    if (checked.error === undefined) expect(checked.status, String(checked.stderr)).toBe(0); // an error: the shell is not installed
  }
});
