import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runExportCommand } from '../../src/cli-export.ts';
import { sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';
import { readSheetValues, readWorkbook } from '../support/workbook.ts';

const program = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));

/** The program talks HTTP only, so one engine is enough. */
describe('tablinum export', () => {
  let server: TestServer;
  let folder: string;
  const printed: string[] = [];
  beforeAll(async () => {
    server = await TestServer.start(sqlite);
    const fields = [
      { name: 'name', type: 'string' },
      { name: 'big', type: 'bigInt' },
      { name: 'time', type: 'datetime' },
    ];
    await server.data('POST /api/collections:create', {
      body: { name: 'items', fields, options: { timestamps: false } },
    });
    const time = '2026-07-01T12:00:00.000Z';
    await server.data('POST /api/items:create', {
      body: [
        { name: 'one', big: 1, time },
        { name: 'two', big: '9007199254740993' },
      ],
    });
    folder = mkdtempSync(join(tmpdir(), 'export-cli-'));
    vi.spyOn(console, 'error').mockImplementation((line: string) => void printed.push(line));
    vi.stubEnv('TABLINUM_TOKEN', server.tokens.get('admin')!);
  });
  beforeEach(() => void printed.splice(0));
  afterAll(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
    await server.stop();
  });

  const run = (...args: string[]): Promise<void> => runExportCommand(['--url', server.running.url, ...args]);
  const path = (name: string): string => join(folder, name);

  test('writes the records that match into a file', async () => {
    const filter = '{"big":{"$gte":9007199254740993}}';
    await run('items', '--out', path('a.csv'), '--fields', 'name,id', '--sort', '-id');
    expect(readFileSync(path('a.csv'), 'utf8')).toBe('name,id\r\ntwo,2\r\none,1\r\n');
    expect(printed).toEqual([`The export is complete: 1 kB in ${path('a.csv')}.`]);
    await run('items', '--out', path('b.csv'), '--fields', 'name', '--filter', filter);
    expect(readFileSync(path('b.csv'), 'utf8')).toBe('name\r\ntwo\r\n');
    await run('items', '--out', path('c.csv'), '--fields', 'time', '--search', 'one', '--time-zone', 'Europe/Berlin');
    expect(readFileSync(path('c.csv'), 'utf8')).toBe('time\r\n2026-07-01T14:00:00.000+02:00\r\n');
    await run(
      'items',
      '--out',
      path('d.csv'),
      '--delimiter',
      ';',
      '--bom',
      '--header',
      'titles',
      '--fields',
      'id,name',
    );
    expect(readFileSync(path('d.csv'), 'utf8')).toBe('\uFEFFid;name\r\n1;one\r\n2;two\r\n');
  });

  test('--json prints what was written, and needs a file', async () => {
    const output: string[] = [];
    const log = vi.spyOn(console, 'log').mockImplementation((text: string) => void output.push(text));
    await run('items', '--out', path('j.ndjson'), '--json');
    const { size } = statSync(path('j.ndjson'));
    expect(output.map((text) => JSON.parse(text))).toEqual([{ file: path('j.ndjson'), format: 'ndjson', bytes: size }]);
    await expect(run('items', '--json')).rejects.toThrow('--json needs --out');
    log.mockRestore();
  });

  test('takes the format from the extension of the file, or as it is given', async () => {
    await run('items', '--out', path('e.XLSX'), '--fields', 'name');
    expect(readSheetValues(readWorkbook(readFileSync(path('e.XLSX')))[0]!)).toEqual([['name'], ['one'], ['two']]);
    await run('items', '--out', path('f.txt'), '--fields', 'name', '--format', 'ndjson');
    expect(readFileSync(path('f.txt'), 'utf8')).toBe('{"name":"one"}\n{"name":"two"}\n');
  });

  test('leaves no file after a refusal, and repeats the message of the server', async () => {
    const before = readdirSync(folder);
    const refused = (...args: string[]): Promise<void> => run(...args, '--out', path('none.csv'));
    await expect(refused('nothing')).rejects.toThrow('There is no collection "nothing".');
    await expect(refused('items', '--fields', 'x')).rejects.toThrow('items has no field "x".');
    await expect(refused('items', '--format', 'pdf')).rejects.toThrow('"format" must be "csv"');
    await expect(refused('items', '--filter', '{')).rejects.toThrow('--filter is not JSON.');
    await expect(refused()).rejects.toThrow('Use: tablinum export <collection>');
    await expect(refused('items', '--app', 'other')).rejects.toThrow('The server refused the request');
    await expect(refused('items', '--url', 'http://127.0.0.1:1')).rejects.toThrow('cannot be reached');
    expect(readdirSync(folder)).toEqual(before);
  });

  test('leaves no file when the reply ends early', async () => {
    const headers = { 'content-type': 'application/x-ndjson; charset=utf-8', 'x-request-id': 'r1' };
    const broken = createServer((request, response) => {
      request.resume();
      response.writeHead(200, headers);
      response.write('{"id":1}\n');
      if (request.url!.includes('lines'))
        response.end('{"error":"No permissions","message":"Withdrawn.","requestId":"r1"}\n');
      else setImmediate(() => response.destroy());
    });
    await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
    const before = readdirSync(folder);
    try {
      await expect(run('items', '--url', url, '--out', path('g.ndjson'))).rejects.toThrow('The export is incomplete');
      await expect(run('lines', '--url', url, '--out', path('h.ndjson'))).rejects.toThrow(
        'The export is incomplete: Withdrawn. No file was written.',
      );
    } finally {
      broken.close();
    }
    expect(readdirSync(folder)).toEqual(before);
  });

  test('writes to the standard output without --out, and exits with 1 after a refusal', async () => {
    const start = async (...args: string[]): Promise<{ code: number | null; out: string; error: string }> => {
      const child = spawn(process.execPath, [program, 'export', '--url', server.running.url, ...args], {
        cwd: folder,
        env: { PATH: process.env['PATH'] ?? '', TABLINUM_TOKEN: server.tokens.get('admin')! },
      });
      let [out, error] = ['', ''];
      child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()));
      const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
      return { code, out, error };
    };
    const [complete, refused] = await Promise.all([start('items', '--fields', 'name'), start('nothing')]);
    expect(complete).toEqual({ code: 0, out: 'name\r\none\r\ntwo\r\n', error: 'The export is complete: 1 kB.\n' });
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.error).toContain('There is no collection "nothing".');
  });
});
