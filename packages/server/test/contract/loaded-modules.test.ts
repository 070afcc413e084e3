/**
 * Modules that a server loads: each library and each part is loaded when it is first needed, and nothing is loaded
 * twice.
 * Modules are counted because time and memory depend on the machine.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliProcess, postJson, rootSettings, signInAsRoot, startCliProcess } from '../support/cli-process.ts';
import { serverProgram } from '../support/server-program.ts';

const source = fileURLToPath(new URL('../../src/', import.meta.url));
const serverPackage = new URL('../../package.json', import.meta.url);
/** Libraries that every start needs. All others are loaded with the first request that needs them. */
const neededToStart = ['fastify', 'ipaddr.js', 'pino', 'xxhash-wasm'];
/** Libraries that ordinary work with records needs too. All others belong to mail, PostgreSQL, sockets or the documentation page. */
const neededByWrites = ['ajv'];
/**
 * The modules of the server and of libraries that a server loads to start from its sources, without those of Node: 841
 * on 2026-11-29. Each additional module delays the start.
 */
const maxModulesToStart = 860;
const compiler = 'internal/deps/amaro/dist/index';
const httpClient = 'internal/deps/undici/undici';

/**
 * The command that runs from the sources. Module names in the bundle would not help, because a bundled file contains
 * many modules.
 */
const sourceProgram = join(source, 'cli.ts');

/**
 * Records which modules each thread of a process loads. It is JavaScript, because a TypeScript file would load the
 * compiler.
 */
const recorder = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { appendFileSync } from 'node:fs';
  import { isMainThread } from 'node:worker_threads';
  const write = (name) => appendFileSync(process.env.LOADED_MODULES, (isMainThread ? 'main ' : 'thread ') + name + '\\n');
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      write(url);
      for (const name of ['${compiler}', '${httpClient}'])
        if (process.moduleLoadList.includes('NativeModule ' + name)) write(name);
      return loaded;
    },
  });
`)}`;

let root: string;
let starts = 0;
let first: Loaded;
let second: Loaded;
let third: Loaded;
let bundled: Loaded;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'tablinum-loaded-'));
  mkdirSync(join(root, 'tmp'));
  first = await runServer('SIGKILL', sourceProgram);
  second = await runServer('SIGTERM', sourceProgram);
  third = await runServer('SIGTERM', sourceProgram);
  bundled = await runServer('SIGTERM');
});
afterAll(() => rmSync(root, { recursive: true }));

/** The modules that the main thread and the other threads of a server loaded until it ended. */
interface Loaded {
  /** Modules of the main thread that were loaded before the server listened. */
  readonly toStart: readonly string[];
  readonly main: readonly string[];
  readonly threads: readonly string[];
}

async function runServer(end: 'SIGTERM' | 'SIGKILL', program?: string): Promise<Loaded> {
  starts += 1;
  const list = join(root, `${starts}.txt`);
  // Its compile cache is in the folder for temporary files.
  const flags = program === undefined ? [] : serverProgram.flags;
  const env = { ...rootSettings, LOADED_MODULES: list, TMPDIR: join(root, 'tmp') };
  const server = await startCliProcess(join(root, 'data'), env, ['--import', recorder, ...flags], program);
  const started = readFileSync(list, 'utf8').trim().split('\n').length;
  await workWithRecords(server);
  expect(await server.stop(end)).toBe(end === 'SIGTERM' ? 0 : null);
  const lines = readFileSync(list, 'utf8').trim().split('\n');
  const listOf = (thread: string): string[] =>
    lines.filter((line) => line.startsWith(`${thread} `)).map((line) => line.slice(thread.length + 1));
  return { toStart: listOf('main').slice(0, started), main: listOf('main'), threads: listOf('thread') };
}

/** Ordinary work with records. The batch runs in a thread. */
async function workWithRecords(server: CliProcess): Promise<void> {
  const token = await signInAsRoot(server);
  const call = async (action: string, body: unknown): Promise<void> => {
    const reply = await postJson(`${server.url}/api/${action}`, token, body);
    expect(reply.status, await reply.text()).toBe(200);
  };
  const name = `notes${starts}`;
  await call('collections:create', { name, fields: [{ name: 'title', type: 'string' }] });
  await call(`${name}:create`, { title: 'a' });
  await call(`${name}:update?filterByTk=1`, { title: 'b' });
  await call(`${name}:list`, {});
  await call('batch', { operations: [{ op: 'create', resource: name, values: { title: 'c' } }] });
}

const packageName = (url: string): string | undefined =>
  /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? undefined;
const sourceFiles = (urls: readonly string[]): string[] =>
  urls
    .flatMap((url) => (url.startsWith('file:') ? [fileURLToPath(url)] : []))
    .filter((path) => path.startsWith(source));

test('a server without mail accounts loads neither libraries of mail nor modules that work for accounts', () => {
  const { main, threads } = first;
  const { dependencies } = JSON.parse(readFileSync(serverPackage, 'utf8')) as { dependencies: object };
  const needed = [...neededToStart, ...neededByWrites];
  const rare = Object.keys(dependencies).filter((name) => !needed.includes(name));
  expect(rare).toEqual(expect.arrayContaining(['imapflow', 'mailauth', 'nodemailer', 'pg', 'sanitize-html']));
  const packages = new Set([...main, ...threads].map(packageName));
  expect(needed.filter((name) => !packages.has(name))).toEqual([]);
  expect(rare.filter((name) => packages.has(name))).toEqual([]);
  expect(main).not.toContain(httpClient);
  const files = sourceFiles(main).map((path) => path.slice(source.length));
  expect(files).toContain('mail/mail-store.ts');
  const unused = [
    'files/picture-process.ts',
    'files/thumbnails.ts',
    'mail/actions/action-operations.ts',
    'mail/automation/apply-rules.ts',
    'mail/connect/open-smtp.ts',
    'mail/connect/test-account.ts',
    'mail/parse/parse-mail.ts',
    'mail/store/rebuild-conversations.ts',
    'mail/sync/account-runner.ts',
    'openapi/openapi-document.ts',
  ];
  expect(files.filter((path) => unused.includes(path))).toEqual([]);
});

test('a start loads few libraries and modules', () => {
  const { dependencies } = JSON.parse(readFileSync(serverPackage, 'utf8')) as { dependencies: object };
  const loaded = new Set(third.toStart.map(packageName));
  expect(Object.keys(dependencies).filter((name) => loaded.has(name))).toEqual(neededToStart);
  const files = third.toStart.filter((url) => url.startsWith('file:'));
  expect(new Set(files).size).toBeGreaterThan(300);
  expect(new Set(files).size).toBeLessThanOrEqual(maxModulesToStart);
});

test('from the second start on, sources come from the cache without the compiler, also in threads after that', () => {
  expect(first.main).toContain(compiler);
  expect(second.main).not.toContain(compiler);
  expect(third.main).not.toContain(compiler);
  expect(sourceFiles(third.threads)).toContain(join(source, 'database/sqlite/sqlite-worker.ts'));
  expect(third.threads).not.toContain(compiler);
});

test('the bundled server starts with few files, which contain the libraries for the start, and never loads the compiler', () => {
  const files = bundled.toStart.filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url));
  const bundle = files.filter((path) => path.includes('/packages/server/dist/'));
  expect(files.length - bundle.length).toBeLessThanOrEqual(2); // the command, and the module that finds the bundle
  expect(bundle.length).toBeGreaterThan(2);
  expect(bundle.length).toBeLessThanOrEqual(20);
  expect(bundled.threads.filter((url) => url.endsWith('/dist/sqlite-worker.js'))).not.toEqual([]);
  expect([...bundled.main, ...bundled.threads].filter((url) => url === compiler || url.endsWith('.ts'))).toEqual([]);
  const { dependencies } = JSON.parse(readFileSync(serverPackage, 'utf8')) as { dependencies: object };
  const packages = new Set(bundled.main.map(packageName));
  expect(Object.keys(dependencies).filter((name) => packages.has(name))).toEqual(neededByWrites);
});

test('everything that is loaded later exists and can be loaded', async () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  const imports = files.flatMap((file) =>
    [
      ...readFileSync(join(source, file), 'utf8').matchAll(
        /(?:(?<!typeof )\bimport|\bloadLater<.*>)\(\s*'([^']+)'\s*\)/g,
      ),
    ].map(([, name = '']) => ({ file, name: name.startsWith('.') ? join(source, dirname(file), name) : name })),
  );
  const names = imports.map(({ name }) => name.replace(source, ''));
  expect(names).toEqual(
    expect.arrayContaining([
      'ajv/dist/2020.js',
      'imapflow',
      'mailauth/lib/spf/index.js',
      'mail/sync/account-runner.ts',
    ]),
  );
  for (const { file, name } of imports) await expect(import(name), `${file} imports ${name}`).resolves.toBeTruthy();
});
