/** `tablinum schema`: files that are written, compared and applied, between engines, after a crash, and from hostile folders. */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { runSchemaCommand } from '../../src/cli-schema.ts';
import { readSchemaFolder } from '../../src/cli-schema-folder.ts';
import { startCliProcess } from '../support/cli-process.ts';
import { type Engine, postgres, type Store, sqlite } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { serverProgram } from '../support/server-program.ts';

/** A killed process does not write the compile cache, so it uses the cache that the setup of the tests has filled. */
const keptSources = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' };
const appKey = 'a key for tests only, long enough to be quiet';
let root: string;
let folder: string;
let store: Store;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'tablinum-schema-'));
  store = await sqlite.store(false);
});
afterAll(async () => {
  await store.remove();
  rmSync(root, { recursive: true });
});
beforeEach(() => {
  folder = mkdtempSync(join(root, 'files-'));
});

const settings = (each: Store): Record<string, string> => ({
  DATA_DIR: each.dataDir,
  APP_KEY: appKey,
  DATABASE_DURABILITY: 'unchecked',
  LOG_LEVEL: 'silent',
  READERS: '0',
  ...(each.databaseUrl && { DATABASE_URL: each.databaseUrl }),
});

/** Runs a command in this process. @returns its exit code and what it printed. */
async function run(args: readonly string[], of = store): Promise<{ readonly code: number; readonly out: string }> {
  const lines: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: unknown) => void lines.push(String(line)));
  try {
    const code = await runSchemaCommand(args, readConfig(settings(of)));
    return { code, out: lines.join('\n') };
  } finally {
    log.mockRestore();
  }
}

function write(name: string, text: string): void {
  mkdirSync(join(folder, name, '..'), { recursive: true });
  writeFileSync(join(folder, name), text);
}

function readAll(from: string): Record<string, string> {
  const names = readdirSync(from, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(yaml|json)$/.test(name));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(from, name), 'utf8')]));
}

const shop = `name: orders
title: Orders
options: {paranoid: true, indexes: [{fields: [number], unique: true}]}
fields:
  - {name: number, type: integer}
  - {name: customer, type: belongsTo, target: customers, foreignKey: customerId}
  - {name: total, type: decimal, precision: 12, scale: 2}
`;
const customers = `name: customers
fields:
  - {name: name, type: string, required: true}
  - {name: orders, type: hasMany, target: orders, foreignKey: customerId}
`;

test('files are written, edited and applied; pulled files are canonical; other files stay', async () => {
  expect((await run(['pull', folder])).out).toContain('wrote schema.yaml');
  write('collections/shop-orders.yaml', shop);
  write('collections/customers.yaml', customers);
  write('collections/NOTES.md', 'not a schema file');
  write('roles/clerk.yaml', 'name: clerk\npermissions:\n  - {resource: orders, actions: [list]}\n');
  const before = await run(['diff', folder]);
  expect(before).toMatchObject({ code: 4, out: expect.stringContaining('+ create collection orders') });
  expect(before.out).toContain('all writes to the application wait');
  expect(JSON.parse((await run(['diff', folder, '--json'])).out)).toMatchObject({ same: false, destructive: 0 });
  expect((await run(['apply', folder, '--dry-run'])).out).toContain('Nothing was changed');
  expect((await run(['apply', folder, '--summary', 'a shop'])).out).toContain('Applied as revision 1.');
  expect((await run(['pull', folder])).out).toContain('removed collections/shop-orders.yaml');
  expect(existsSync(join(folder, 'collections/NOTES.md'))).toBe(true);
  expect(await run(['diff', folder])).toMatchObject({ code: 0, out: 'Nothing differs.' });
  const files = readAll(folder);
  expect((await run(['pull', folder])).out).toBe('The files are up to date.');
  expect(readAll(folder)).toEqual(files);
  expect(files['roles/clerk.yaml']).toMatch(/^id: \w{12}\nname: clerk\n/);

  // The JSON files replace the YAML files, and mean the same.
  await run(['pull', folder, '--format', 'json']);
  expect(Object.keys(readAll(folder)).every((name) => name.endsWith('.json'))).toBe(true);
  expect((await run(['diff', folder])).code).toBe(0);

  const text = readFileSync(join(folder, 'collections/orders.json'), 'utf8');
  writeFileSync(join(folder, 'collections/orders.json'), text.replace('"name": "total"', '"name": "amount"'));
  expect((await run(['diff', folder])).out).toContain('> rename field orders.total to amount');
  rmSync(join(folder, 'collections/orders.json'));
  await expect(run(['apply', folder])).rejects.toThrow(/customers\.json:\d+: .*orders|destructive/);
  expect((await run(['revisions'])).out).toContain('operator  a shop');
  expect((await run(['rollback', '--allow-destructive'])).out).toContain('Applied as revision 2.');
  expect((await run(['rollback', '--to', '1'])).out).toContain('Applied as revision 3.');
  await run(['pull', folder, '--format', 'yaml']);
  expect(readAll(folder)).toEqual(files);
});

const refusals: readonly [name: string, prepare: () => void, message: RegExp][] = [
  [
    'no folder of schema files',
    () => rmSync(join(folder, 'schema.yaml')),
    /has no file schema\.yaml.*tablinum schema pull/s,
  ],
  ['a newer format', () => write('schema.yaml', 'format: 7\n'), /format 1.*upgrade this server/s],
  [
    'an unknown member in schema.yaml',
    () => write('schema.yaml', 'format: 1\nx: 1\n'),
    /schema\.yaml has an unknown member "x"/,
  ],
  [
    'YAML that cannot be parsed',
    () => write('collections/a.yaml', 'name: a\nfields: [\n'),
    /collections\/a\.yaml:\d: /,
  ],
  [
    'a member that is given twice',
    () => write('collections/a.yaml', 'name: a\nname: b\n'),
    /collections\/a\.yaml:2: .*unique/,
  ],
  ['a list', () => write('collections/a.yaml', '- a\n'), /collections\/a\.yaml must contain members/],
  [
    'an unknown member',
    () => write('collections/a.yaml', 'name: a\ncolour: red\n'),
    /collections\/a\.yaml:2: A collection has no property "colour"/,
  ],
  [
    'an unknown type',
    () => write('collections/a.yaml', 'name: a\nfields:\n  - name: x\n    type: nothing\n'),
    /collections\/a\.yaml:4: Give one of the field types/,
  ],
  [
    'an unknown target',
    () => write('collections/a.yaml', 'name: a\nfields:\n  - name: x\n    type: belongsTo\n    target: nowhere\n'),
    /collections\/a\.yaml:\d: There is no collection "nowhere"/,
  ],
  [
    'a permission on nothing',
    () => write('roles/r.yaml', 'name: r\npermissions:\n  - resource: nothing\n    actions: [list]\n'),
    /roles\/r\.yaml:3: .*"nothing" does not exist/,
  ],
  [
    'two files with one id',
    () => {
      write('collections/a.yaml', 'id: x\nname: a\n');
      write('collections/b.yaml', 'id: x\nname: b\n');
    },
    /collections\/b\.yaml:1: collections\/a\.yaml has the id "x" too/,
  ],
  [
    'two fields with one id',
    () =>
      write(
        'collections/a.yaml',
        'name: a\nfields:\n  - {id: x, name: p, type: string}\n  - {id: x, name: q, type: string}\n',
      ),
    /collections\/a\.yaml:4: the field at collections\/a\.yaml:3 has the id/,
  ],
  [
    'a link to a file',
    () => {
      mkdirSync(join(folder, 'collections'), { recursive: true });
      symlinkSync('/etc/passwd', join(folder, 'collections/a.yaml'));
    },
    /collections\/a\.yaml must be a file, not a link/,
  ],
  ['a link to a folder', () => symlinkSync('/etc', join(folder, 'webhooks')), /must be a folder, not a link/],
  ['a huge file', () => write('collections/a.yaml', `name: ${'a'.repeat(5 * 1024 * 1024)}`), /larger than 4 MiB/],
  [
    'aliases that multiply',
    () =>
      write(
        'collections/a.yaml',
        `name: a\nx: &x [1,1,1,1,1,1,1,1,1,1]\ny: &y [${'*x,'.repeat(50)}]\nz: [${'*y,'.repeat(50)}]\n`,
      ),
    /collections\/a\.yaml: .*alias/i,
  ],
  [
    'bytes that are no text',
    () => writeFileSync(join(folder, 'schema.yaml'), Buffer.from([0xff, 0xfe, 0x00])),
    /is not encoded in UTF-8/,
  ],
  ['a missing built-in role', () => rmSync(join(folder, 'roles/admin.yaml')), /The built-in role "admin" is missing/],
  ['a renamed built-in role', () => write('roles/editor.yaml', 'id: editor\nname: author\n'), /built-in role/],
];

test.each(refusals)('refused, without a change: %s', async (_, prepare, message) => {
  await run(['pull', folder]);
  const before = readAll(folder);
  prepare();
  await expect(run(['apply', folder, '--allow-destructive'])).rejects.toThrow(message);
  const again = mkdtempSync(join(root, 'again-'));
  await run(['pull', again]);
  expect(readAll(again)).toEqual(before);
});

test('wrong usage is refused', async () => {
  for (const args of [
    [],
    ['pull'],
    ['push', folder],
    ['diff', folder, '--to', '1'],
    ['rollback', '--to', 'x'],
    ['apply', folder, folder],
  ])
    await expect(run(args)).rejects.toThrow(/tablinum schema|--to/);
});

const bothEngines = inject('postgresUrl') ? test : test.skip;
bothEngines(
  'files of SQLite make the same schema on an empty PostgreSQL, and back',
  async () => {
    const [source, target] = [await sqlite.store(false), await postgres.store(false)];
    try {
      await run(['pull', folder], source);
      write('collections/orders.yaml', shop);
      write('collections/customers.yaml', customers);
      write(
        'roles/clerk.yaml',
        'name: clerk\npermissions:\n  - {resource: orders, actions: [list], filter: {number: {$gt: 1}}}\n',
      );
      await run(['apply', folder], source);
      await run(['pull', folder], source);
      const files = readAll(folder);
      await run(['apply', folder], target);
      const copy = mkdtempSync(join(root, 'copy-'));
      await run(['pull', copy], target);
      expect(readAll(copy)).toEqual(files);
      expect(await run(['diff', copy], source)).toMatchObject({ code: 0 });
      expect((await run(['apply', copy], target)).out).toBe('Nothing differs.');
    } finally {
      await source.remove();
      await target.remove();
    }
  },
  60_000,
);

/** Starts an apply in a process of its own, and kills it after the given time. */
async function killDuringApply(each: Store, milliseconds: number): Promise<void> {
  const script = `
    import { readConfig } from ${JSON.stringify(new URL('../../src/base/config.ts', import.meta.url).href)};
    import { runSchemaCommand } from ${JSON.stringify(new URL('../../src/cli-schema.ts', import.meta.url).href)};
    console.error('begins');
    await runSchemaCommand(['apply', ${JSON.stringify(folder)}, '--allow-destructive'], readConfig(process.env));`;
  const child = spawn(process.execPath, [...serverProgram.flags, '--input-type=module-typescript', '-e', script], {
    env: { PATH: process.env['PATH'] ?? '', ...keptSources, ...settings(each) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await new Promise<void>((resolve) => child.stderr.once('data', () => resolve()));
  const timer = setTimeout(() => child.kill('SIGKILL'), milliseconds);
  await ended;
  clearTimeout(timer);
}

test.each<[string, Engine]>(
  inject('postgresUrl')
    ? [
        ['sqlite', sqlite],
        ['postgres', postgres],
      ]
    : [['sqlite', sqlite]],
)(
  'after kill -9 during an apply, the schema is as before or as wanted, and the same apply leads to it (%s)',
  async (_, engine) => {
    const crashed = await engine.store(false);
    try {
      await run(['pull', folder], crashed);
      const empty = mkdtempSync(join(root, 'empty-'));
      cpSync(folder, empty, { recursive: true });
      for (let index = 0; index < 30; index += 1)
        write(
          `collections/c${index}.yaml`,
          `name: c${index}\nfields:\n  - {name: a, type: string, index: true}\n  - {name: to, type: belongsTo, target: c${(index + 1) % 30}}\n`,
        );
      const states = new Set<number>();
      for (const milliseconds of [350, 600, 1000]) {
        await killDuringApply(crashed, milliseconds);
        const { code, out } = await run(['diff', folder, '--json'], crashed);
        const { steps } = JSON.parse(out) as Json;
        states.add(steps.length);
        expect(
          code === 0 ? 0 : steps.filter((each: Json) => each.kind === 'collection' && each.action === 'create').length,
        ).toBe(code === 0 ? 0 : 30);
        if (code === 0) break;
      }
      expect(states.size).toBeGreaterThan(0);
      await run(['apply', folder], crashed);
      expect((await run(['diff', folder], crashed)).code).toBe(0);
      expect((await run(['apply', empty, '--allow-destructive'], crashed)).code).toBe(0);
    } finally {
      await crashed.remove();
    }
  },
  90_000,
);

test('the command sends its requests to a running server', async () => {
  const own = await sqlite.store(false);
  const server = await startCliProcess(own.dataDir, settings(own));
  try {
    await run(['pull', folder], own);
    write('collections/live.yaml', 'name: live\nfields: [{name: a, type: string}]\n');
    expect((await run(['apply', folder], own)).out).toContain('revision 1');
    expect((await readSchemaFolder(folder)).schema.collections).toHaveLength(1);
  } finally {
    await server.stop('SIGTERM');
    await own.remove();
  }
}, 30_000);
