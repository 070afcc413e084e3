/**
 * Stores as earlier versions of the server wrote them, in `test/fixtures/stores`. There is one file for each version
 * and engine: the
 * files of DATA_DIR, a dump of the PostgreSQL database, and the replies of that version to {@link readings}.
 *
 * `MAKE_STORE_FIXTURE=0.1.0-1 npx vitest run store-upgrades` writes the files with the current version.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { inject } from 'vitest';
import { localSchemas } from './citus-cluster.ts';
import type { Engine, Store } from './engines.ts';
import type { Json } from './json.ts';
import { queryDatabase } from './query-database.ts';
import { makeRawMail } from './raw-mail.ts';
import type { TestServer } from './scenario.ts';
import { shopHeaders } from './shop-server.ts';

export interface StoreFixture {
  /** The files by their path below DATA_DIR, in base64. */
  readonly files: Readonly<Record<string, string>>;
  /** SQL that creates the schemas of PostgreSQL; null on SQLite. */
  readonly dump: string | null;
  /** The replies of that version to the {@link readings}, without `meta`. */
  readonly replies: Readonly<Record<string, Json>>;
  /** A token of an API key with the role editor. */
  readonly token: string;
}

const folder = fileURLToPath(new URL('../fixtures/stores/', import.meta.url));

/**
 * Requests whose replies are compared before and after an upgrade: the path below /api, in `main` or the application
 * `shop`.
 */
export const readings = [
  'albums:list?appends=artist,tags&sort=id',
  'artists:list?sort=id&appends=albums',
  'albums:list?search=needle',
  'albums:list?onlyDeleted=true',
  'albums:history?filterByTk=1',
  'conversations:list?sort=id&fields=id,subject,snippet,state',
  'emails:list?sort=id&fields=id,subject,from,to,folder,read,snippet',
  'emails:list?search=turntable&fields=id',
  'files:list?sort=id&fields=id,name,size,sha256',
  'roles:list?sort=name&fields=name,title',
  'permissions:list?sort=id&filter={"role":"clerk"}',
  'webhooks:list?fields=id,url,events',
  'shop things:list?sort=id',
] as const;

/** Replies to the {@link readings}. */
export async function takeReadings(server: TestServer): Promise<Record<string, Json>> {
  const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
  server.tokens.set('shop', token);
  const replies: Record<string, Json> = {};
  for (const reading of readings) {
    const path = reading.replace(/^shop /, '');
    const more = path === reading ? {} : { as: 'shop', headers: shopHeaders };
    replies[reading] = await server.data(`GET /api/${path}`, more);
  }
  return replies;
}

/** Fills a server with data of every kind that can be stored. @returns a token of an API key with the role editor. */
export async function fillStore(server: TestServer): Promise<string> {
  const make = (action: string, body: unknown): Promise<Json> => server.data(`POST /api/${action}`, { body });
  await make('collections:apply', [
    { name: 'artists', fields: [{ name: 'name', type: 'string', unique: true }] },
    { name: 'tags', fields: [{ name: 'name', type: 'string' }] },
    {
      name: 'albums',
      fields: [
        { name: 'title', type: 'string', searchIndex: true },
        { name: 'price', type: 'decimal', precision: 10, scale: 2 },
        { name: 'released', type: 'date' },
        { name: 'facts', type: 'json' },
        { name: 'words', type: 'array' },
        { name: 'artist', type: 'belongsTo', target: 'artists' },
        { name: 'tags', type: 'belongsToMany', target: 'tags' },
      ],
      options: { paranoid: true, logging: true, authors: true },
    },
  ]);
  await make('fields:create', { collectionName: 'artists', name: 'albums', type: 'hasMany', target: 'albums' });
  await make('artists:create', [{ name: 'Ännchen' }, { name: 'O’Hara' }]);
  const albums = [
    { title: 'A needle', price: '12.30', released: '2026-02-28', facts: { a: [1, null] }, words: ['x', 'y'] },
    { title: 'Another', artist: { name: 'Third' }, tags: [{ name: 'new' }, { name: 'live' }] },
    { title: 'In the trash' },
  ];
  await make('albums:create', albums);
  await make('albums:update?filterByTk=1', { title: 'A second needle', artistId: 1 });
  await make('albums:destroy?filterByTk=3', undefined);
  await make('roles:create', { name: 'clerk', title: 'Clerk' });
  await make('permissions:create', { role: 'clerk', resource: 'albums', actions: ['list'], fields: ['id', 'title'] });
  await make('webhooks:create', { url: 'https://hooks.example/in', events: ['albums.created'], role: 'admin' });
  await fillMail(server);
  await make('applications:create', { name: 'shop' });
  const entered = await make('applications:enter?filterByTk=shop', undefined);
  server.tokens.set('shop', entered.token);
  const shop = { as: 'shop', headers: shopHeaders };
  const things = { name: 'things', fields: [{ name: 'n', type: 'integer' }] };
  await server.data('POST /api/collections:create', { ...shop, body: things });
  await server.data('POST /api/things:create', { ...shop, body: [{ n: 1 }, { n: 2 }] });
  return (await make('apiKeys:create', { role: { name: 'editor' } })).token as string;
}

async function fillMail(server: TestServer): Promise<void> {
  await server.data('POST /api/accounts:create', { body: { name: 'Shop', address: 'shop@example.com', members: [1] } });
  const headers = { 'content-type': 'message/rfc822' };
  const from = 'Cora <cora@example.net>';
  for (const raw of [
    makeRawMail({ subject: 'Broken turntable', from, id: 'a1@example.net' }),
    makeRawMail({ subject: 'Re: Broken turntable', from, id: 'a2@example.net', references: ['a1@example.net'] }),
  ])
    await server.data('POST /api/emails:import?account=1', { headers, body: raw });
  const form = ['--b', 'Content-Disposition: form-data; name="f"; filename="a.txt"', '', 'A file.', '--b--', ''];
  const type = { 'content-type': 'multipart/form-data; boundary=b' };
  await server.data('POST /api/files:upload', { headers: type, body: form.join('\r\n') });
}

/** The versions that have fixtures, the oldest first. */
export function listStoreFixtures({ name }: Engine): string[] {
  if (!existsSync(folder)) return [];
  const suffix = `.${name}.json.gz`;
  return readdirSync(folder)
    .filter((each) => each.endsWith(suffix))
    .map((each) => each.slice(0, -suffix.length))
    .sort();
}

const pathOf = (version: string, { name }: Engine): string => join(folder, `${version}.${name}.json.gz`);

/** Stores the data of a stopped server as the fixture of a version. */
export function writeStoreFixture(
  version: string,
  engine: Engine,
  store: Store,
  parts: Pick<StoreFixture, 'replies' | 'token'>,
): void {
  const files: Record<string, string> = {};
  for (const entry of readdirSync(store.dataDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && entry.name !== 'server.lock')
      files[path.slice(store.dataDir.length + 1)] = readFileSync(path).toString('base64');
  }
  const dump = store.databaseUrl === null ? null : dumpDatabase(store.databaseUrl);
  mkdirSync(folder, { recursive: true });
  writeFileSync(pathOf(version, engine), gzipSync(JSON.stringify({ files, dump, ...parts }), { level: 9 }));
}

/** A dump as SQL, without the lines that begin with a backslash, which are commands of psql. */
export function dumpDatabase(url: string): string {
  const options = ['--no-owner', '--no-privileges', '--inserts', '--rows-per-insert=100', '--no-comments', url];
  const { stdout, stderr, status } = spawnSync('pg_dump', options, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (status !== 0) throw new Error(stderr);
  return stdout.replaceAll(/^\\.*\n/gm, '').replaceAll(/^--.*\n/gm, '');
}

export function readStoreFixture(version: string, engine: Engine): StoreFixture {
  return JSON.parse(gunzipSync(readFileSync(pathOf(version, engine))).toString()) as StoreFixture;
}

/** An engine that starts with the store of a fixture. */
export function openStoreFixture(engine: Engine, { files, dump }: StoreFixture): Engine {
  const open = async (): Promise<Store> => {
    const store = await engine.store();
    for (const [path, bytes] of Object.entries(files)) {
      const target = join(store.dataDir, path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, Buffer.from(bytes, 'base64'));
    }
    if (dump !== null) await queryDatabase(store.databaseUrl!, `${inject('clusterNodes') ? localSchemas : ''}${dump}`);
    return store;
  };
  return { name: engine.name, store: open };
}
