import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { exitCodes, runImportCommand } from '../../src/cli-import.ts';

const program = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));

/** A request of the command, as the server receives it. */
interface Sent {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly options: unknown;
  readonly file: string | null;
  readonly filename: string | null;
}

type Answer = (sent: Sent, response: ServerResponse) => void;

/** A server that replies as each test defines. */
let server: Server;
let url: string;
let folder: string;
let answer: Answer;
const received: Sent[] = [];
const printed: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), 'import-cli-'));
  vi.spyOn(console, 'error').mockImplementation((line: string) => void printed.push(line));
  vi.stubEnv('TABLINUM_TOKEN', 'a token');
});
beforeEach(() => {
  printed.splice(0);
  received.splice(0);
});
afterAll(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url: path = '', headers } = request;
  if (request.method === 'GET' || !headers['content-type']) {
    const sent = { path, headers, options: null, file: null, filename: null };
    received.push(sent);
    return answer(sent, response);
  }
  const body = new Response(Readable.toWeb(request) as never, { headers: { 'content-type': headers['content-type'] } });
  const form = await body.formData().catch(() => null);
  if (!form) return;
  const file = form.get('file') as File;
  const options = form.get('options');
  const sent = {
    path,
    headers,
    options: JSON.parse(typeof options === 'string' ? options : await (options as File).text()),
    file: await file.text(),
    filename: file.name,
  };
  received.push(sent);
  answer(sent, response);
}

const reply = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};
const record = (more: object = {}): object => ({
  data: { id: 7, status: 'done', rows: 2, processed: 2, created: 2, updated: 0, refused: 0, error: null, ...more },
});
const path = (name: string): string => join(folder, name);
const run = (...args: string[]): Promise<number> => runImportCommand(['--url', url, '--collection', 'items', ...args]);
const write = (name: string, text: string): string => {
  writeFileSync(path(name), text);
  return path(name);
};

test('sends the file with all options, and reports what was written', async () => {
  const file = write('orders "1".csv', 'a;b\r\n1;2\r\n');
  const mapping = [{ column: 0, field: 'a' }];
  answer = (_, response) => reply(response, 200, record());
  const code = await run(
    file,
    ...['--mode', 'upsert', '--match', 'a, b', '--mapping', write('m.json', JSON.stringify(mapping)), '--sheet', '1'],
    ...['--delimiter', ';', '--encoding', 'latin1', '--header', 'true', '--format', 'csv', '--skip-invalid'],
    ...['--ignore-unknown', '--add-options', '--time-zone', 'Europe/Berlin', '--app', 'shop'],
  );
  expect(code).toBe(exitCodes.done);
  expect(printed).toEqual(['The import is complete: 2 created, 0 updated, 0 refused.']);
  expect(received).toMatchObject([
    {
      path: '/api/items:import',
      headers: { authorization: 'Bearer a token', 'x-app': 'shop', 'x-timezone': 'Europe/Berlin' },
      file: 'a;b\r\n1;2\r\n',
      filename: 'orders _1_.csv',
      options: {
        mode: 'upsert',
        matchFields: ['a', 'b'],
        mapping,
        sheet: 1,
        delimiter: ';',
        encoding: 'latin1',
        header: true,
        format: 'csv',
        skipInvalid: true,
        ignoreUnknown: true,
        addOptions: true,
      },
    },
  ]);
});

test('watches a job until it ends, and saves the rows that were refused', async () => {
  const states = [
    { status: 'running', processed: 1000, created: 990, refused: 10 },
    { status: 'done', processed: 5000, created: 4980, refused: 20 },
  ];
  answer = ({ path: asked }, response) => {
    if (asked.startsWith('/api/imports:refusedRows')) response.end('line,reason,a\r\n');
    else if (asked === '/api/imports:get?filterByTk=7') reply(response, 200, record(states.shift()));
    else reply(response, 202, record({ status: 'pending', rows: null, created: 0 }));
  };
  const file = write('b.csv', 'a\r\n');
  expect(await run(file, '--refused', path('refused.csv'))).toBe(exitCodes.refused);
  expect(printed[0]).toBe('The import is complete: 4980 created, 0 updated, 20 refused.');
  expect(printed[1]).toContain(`The refused rows are in ${path('refused.csv')}`);
  expect(readFileSync(path('refused.csv'), 'utf8')).toBe('line,reason,a\r\n');
  expect(received.at(-1)?.path).toBe('/api/imports:refusedRows?filterByTk=7&format=csv');
  answer = (_, response) =>
    reply(response, 200, record({ status: 'failed', created: 3, error: 'The key was revoked.' }));
  await expect(run(file)).rejects.toThrow('The import failed: The key was revoked. Before that: 3 created');
});

test('--json prints the report, and messages go to the standard error', async () => {
  const output: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((text: string) => void output.push(text));
  const file = write('c.csv', 'a\r\n');
  const report = { rows: 2, created: 1, updated: 0, refused: 1, errors: [{ line: 2, column: 'a', reason: 'empty' }] };
  answer = (_, response) => reply(response, 200, { data: report });
  expect(await run(file, '--json', '--dry-run')).toBe(exitCodes.refused);
  answer = (_, response) => reply(response, 200, record({ status: 'failed', error: 'The key was revoked.' }));
  await expect(run(file, '--json')).rejects.toThrow('The import failed');
  answer = (_, response) => reply(response, 422, { message: 'No.', errors: report.errors });
  await expect(run(file, '--json')).rejects.toThrow('The server refused the import: No.');
  expect(output.map((text) => JSON.parse(text))).toEqual([
    report,
    expect.objectContaining({ id: 7, status: 'failed', error: 'The key was revoked.' }),
    { errors: report.errors },
  ]);
  expect(printed.some((line) => line.startsWith('Dry run'))).toBe(true);
  log.mockRestore();
});

test('shows refused rows as a table, without characters that a terminal could interpret as commands', async () => {
  const errors = [
    { path: '[line 7].price', line: 7, column: 'Price', field: 'price', value: 'a\u001b[2Jb', reason: 'Not a number.' },
    { path: '[line 12]', line: 12, column: null, field: null, value: null, reason: 'A row of\r\nanother kind.' },
  ];
  answer = (_, response) => reply(response, 422, { message: 'Two rows are invalid.', code: 'IMPORT_INVALID', errors });
  const file = write('c.csv', 'a\r\n');
  await expect(run(file)).rejects.toThrow('The server refused the import: Two rows are invalid.');
  expect(printed).toEqual([
    [
      'Line  Column  Value   Reason',
      '7     Price   a [2Jb  Not a number.',
      '12                    A row of another kind.',
    ].join('\n'),
  ]);
  printed.splice(0);
  answer = (_, response) =>
    reply(response, 200, { data: { rows: 50, created: 10, updated: 0, refused: 40, errors, truncated: true } });
  expect(await run(file, '--dry-run')).toBe(exitCodes.refused);
  expect(received.at(-1)?.options).toEqual({ dryRun: true });
  expect(printed[0]).toMatch(/… and 38 more\.$/);
  expect(printed[1]).toBe('Dry run, nothing was written: of 50 rows, 10 would be created, 0 updated and 40 refused.');
});

test('retries while the server is busy, and reports the reason of other refusals', async () => {
  let attempts = 0;
  answer = (_, response) => {
    attempts += 1;
    if (attempts === 1) reply(response, 503, { message: 'Busy.' }, { 'retry-after': '1' });
    else reply(response, 200, record());
  };
  const file = write('d.csv', 'a\r\n1\r\n');
  expect(await run(file)).toBe(exitCodes.done);
  expect(received.map((each) => each.file)).toEqual(['a\r\n1\r\n', 'a\r\n1\r\n']);
  answer = (_, response) => reply(response, 403, { message: 'You may not import into items.' });
  await expect(run(file)).rejects.toThrow('The server refused the import: You may not import into items.');
  await expect(runImportCommand(['--url', 'http://127.0.0.1:9', '--collection', 'items', file])).rejects.toThrow(
    'http://127.0.0.1:9 cannot be reached',
  );
});

test.each([
  [[], 'Use: tablinum import'],
  [['a.csv', 'b.csv'], 'Use: tablinum import'],
  [['--nothing', 'a.csv'], "Unknown option '--nothing'"],
  [['no-such-file.csv'], 'does not exist'],
  [['-', '--refused', 'a.txt'], '--refused must end with'],
  [['-', '--header', 'yes'], '--header must be true or false'],
  [['-', '--mapping', 'no-such-file.json'], '--mapping cannot be used'],
])('wrong usage %j has a code of its own, and sends nothing', async (args, message) => {
  expect(await run(...args)).toBe(exitCodes.usage);
  expect(printed[0]).toContain(message);
  expect(received).toEqual([]);
});

/** The command in a process of its own. */
function start(...args: string[]): { child: ReturnType<typeof spawn>; ended: Promise<[number | null, string]> } {
  const env = { ...process.env, TABLINUM_TOKEN: 'a token', TABLINUM_URL: url };
  const child = spawn(process.execPath, [program, 'import', '--collection', 'items', ...args], { env });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return { child, ended: new Promise((resolve) => child.once('close', (code) => resolve([code, text]))) };
}

test('reads the standard input, and Ctrl+C cancels a job that runs', async () => {
  const watched = Promise.withResolvers<void>();
  let isCancelled = false;
  answer = ({ path: asked }, response) => {
    if (asked.startsWith('/api/imports:cancel')) isCancelled = true;
    if (asked.startsWith('/api/imports:get')) watched.resolve();
    const status = isCancelled ? 'cancelled' : 'running';
    reply(response, asked.endsWith(':import') ? 202 : 200, record({ status, rows: 9000, created: 3000, refused: 1 }));
  };
  const { child, ended } = start('-');
  child.stdin?.end('a\r\n1\r\n');
  await watched.promise;
  child.kill('SIGINT');
  expect(await ended).toEqual([
    exitCodes.failed,
    'The import was cancelled. Before that: 3000 created, 0 updated, 1 refused.\n',
  ]);
  expect(received[0]).toMatchObject({ file: 'a\r\n1\r\n', filename: 'standard-input' });
  expect(received.filter((each) => each.path === '/api/imports:cancel?filterByTk=7')).toHaveLength(1);
});

test('Ctrl+C during the upload writes nothing', async () => {
  answer = () => {
    throw new Error('the file never arrives completely');
  };
  const { child, ended } = start('-');
  const connected = new Promise<void>((resolve) => server.once('request', () => resolve()));
  child.stdin?.write('a\r\n');
  await connected;
  child.kill('SIGINT');
  expect(await ended).toEqual([
    exitCodes.failed,
    'The import was stopped before the file had arrived. Nothing was written.\n',
  ]);
  expect(received).toEqual([]);
  expect(existsSync(path('refused.csv.part'))).toBe(false);
});
