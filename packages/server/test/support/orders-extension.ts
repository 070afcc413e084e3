import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, vi } from 'vitest';
import type { CommittedEvent } from '../../src/extensions/extension.ts';
import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

const page = readFileSync(new URL('../../../../docs/extensions.md', import.meta.url), 'utf8');
/** The example of the documentation, unchanged. */
const example = /```ts\n(.*?)```/s.exec(page)![1]!;

/**
 * Hooks that misbehave, selected by a name in the note of an order. Types are stripped from this source, not checked.
 */
const misbehaving = `
import { defineExtension } from '@tablinum/server/extension';
export const committedEvents: unknown[] = [];
export const beforeCalls: unknown[] = [];
export const blocked = new Set<string>();
let hired = 0;
export default defineExtension({
  name: 'misbehaving',
  before: [
    {
      collection: '*',
      actions: ['create', 'update', 'destroy', 'restore'],
      async run({ values, action, key, caller, application, collection, refuse }) {
        beforeCalls.push([collection, action, key, values]);
        if (blocked.has([collection, action, key].join(' '))) refuse('Not this one.');
        if (values.note === 'throws') throw new Error('the secret of the extension');
        if (values.note === 'hangs') await new Promise(() => {});
        if (values.note === 'nonsense') return 5;
        if (values.note === 'unknown') return { nope: 1 };
        if (values.note === 'who') return { note: [application, action, key, caller?.role].join() };
      },
    },
    {
      collection: 'orders',
      actions: ['destroy'],
      run({ key, refuse }) {
        if (key === 1) refuse('The first order stays.');
      },
    },
    {
      collection: 'collections',
      actions: ['create', 'destroy'],
      run({ key, action, refuse }) {
        if (key === 'forbidden' || (key === 'orders' && action === 'destroy')) refuse('This name is spoken for.');
      },
    },
  ],
  after: [
    { events: ['*'], run: (event) => void committedEvents.push(event) },
    { events: ['orders.created'], run: () => { throw new Error('after'); } },
  ],
  actions: [
    {
      action: 'orders:book',
      summary: 'Book an order',
      reads: false,
      permission: { resource: 'orders', action: 'create' },
      async run({ records, body }) {
        return records.create('orders', body);
      },
    },
    {
      action: 'orders:twice',
      summary: 'Two orders, and how many there are',
      reads: false,
      permission: { resource: 'orders', action: 'create' },
      async run({ records, body, dryRun, parameters }) {
        const { pieces, swallow, late } = body;
        const first = await records.create('orders', { pieces: 1, note: 'twice' });
        const second = await records.create('orders', { pieces }).catch((error) => { if (!swallow) throw error; return null; });
        const seen = await records.list('orders', { filter: { note: 'twice' } });
        if (late) setTimeout(() => void records.create('orders', { note: 'late' }).catch(() => {}), 50);
        return { dryRun, seen: seen.length, second: second?.pieces ?? null };
      },
    },
    {
      action: 'orders:hire',
      summary: 'Makes a role, and refuses',
      reads: false,
      permission: { resource: 'orders', action: 'create' },
      async run({ records, body, refuse }) {
        hired += 1;
        await records.create('roles', { name: body.name + hired });
        refuse('The role stays.');
      },
    },
    { action: 'weather:today', summary: 'The weather', reads: true, permission: 'public', run: ({ caller, parameters }) => ({ sunny: true, caller: caller.role, parameters }) },
    { action: 'weather:storm', summary: 'Fails', reads: false, permission: 'public', run: () => { throw new Error('lightning'); } },
    { action: 'weather:refuse', summary: 'Refuses', reads: false, permission: 'public', run: ({ refuse }) => refuse('No.', { sky: 'It is grey.' }) },
  ],
});
`;

/** Writes the files to a temporary folder, which is removed after the tests of the file. */
export function makeExtensionsFolder(files: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(tmpdir(), 'tablinum-extensions-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  afterAll(() => {
    rmSync(path, { recursive: true });
    // Types of fields stay registered as long as the sources are loaded: the next test file of the worker loads them
    // again.
    vi.resetModules();
  });
  return path;
}

/** Installs the example of the documentation and the misbehaving extension, next to files that are not extensions. */
export const installExtensions = (): string =>
  makeExtensionsFolder({ 'orders.ts': example, 'other.ts': misbehaving, 'types.d.ts': 'nonsense', 'notes.md': '' });

/** The exports of the misbehaving extension, for the tests. */
export interface ObservedCalls {
  readonly committedEvents: CommittedEvent[];
  readonly beforeCalls: unknown[][];
  /** Changes that the extension refuses, as `<collection> <action> <key>`. */
  readonly blocked: Set<string>;
}

/** Reads the calls that the misbehaving extension has recorded. This imports the module that the server has loaded. */
export const readObservedCalls = (installed: string): Promise<ObservedCalls> =>
  import(pathToFileURL(join(installed, 'other.ts')).href);

/** A server with both extensions, and orders that have lines. */
export async function startWithExtensions(engine: Engine, installed: string): Promise<TestServer> {
  const server = await TestServer.start(engine, { env: { EXTENSIONS_DIR: installed } });
  const fields = [
    { name: 'pieces', type: 'integer' },
    { name: 'note', type: 'string' },
    { name: 'article', type: 'articleNumber', unique: true },
    { name: 'lines', type: 'hasMany', target: 'lines' },
  ];
  await server.data('POST /api/collections:apply', {
    body: [
      { name: 'orders', fields },
      { name: 'lines', fields: [{ name: 'note', type: 'string' }] },
    ],
  });
  await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
  for (const role of ['viewer', 'editor', 'clerk']) await server.createKey(role);
  return server;
}
