/**
 * Directus, a Node.js program, on PostgreSQL (its guide to self-hosting uses PostgreSQL in production).
 *
 * Its documentation (https://directus.io/docs/self-hosting/overview, /docs/configuration) asks for fixed secrets and
 * NODE_ENV=production. Rate limiter and cache are off by default and stay off. The pressure limiter, which refuses requests
 * of an overloaded process with 503, is off, as a refused request would be counted against it. One process; the log from
 * warnings on; telemetry off. The collections keep no record of activity and revisions, as ours do not.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort, type Served, startProcess } from '../child.ts';
import { postCount, userCount } from '../seed-data.ts';
import { Filler } from './fill-postgres.ts';
import { folderOf, installPackages, pathOfNode } from './install.ts';
import { authorRow, postRow } from './questions.ts';
import {
  account,
  type Call,
  type Dialect,
  type Peer,
  type Question,
  type Raw,
  type Row,
  type Store,
} from './subject.ts';

/** Its part `isolated-vm` does not compile with the headers of Node.js 24 (C++20). */
const node = '22.23.3';
const token = 'bench-static-token-of-the-administrator';
const folder = (): string => folderOf('directus');
const program = (): string => join(folder(), 'node_modules/directus/cli.js');

const dialect: Dialect = {
  createdStatus: 200,
  call(question: Question): Call {
    switch (question.kind) {
      case 'get':
        return { method: 'GET', path: `/items/posts/${question.post}` };
      case 'list':
      case 'author': {
        const filter = encodeURIComponent(
          JSON.stringify({ _and: [{ published: { _eq: true } }, { views: { _lt: question.below } }] }),
        );
        const author = question.kind === 'author' ? '&fields=*,author.*' : '';
        return { method: 'GET', path: `/items/posts?filter=${filter}&sort=-posted&limit=20${author}` };
      }
      case 'search':
        return { method: 'GET', path: `/items/authors?search=${encodeURIComponent(question.word)}&limit=20` };
      case 'create':
        return { method: 'POST', path: '/items/posts', body: question.post };
      case 'update':
        return { method: 'PATCH', path: `/items/posts/${question.post}`, body: { views: question.views } };
    }
  },
  rows(kind, reply): Row[] {
    const { data } = reply as { data: Raw | Raw[] };
    const records = Array.isArray(data) ? data : [data];
    return kind === 'author'
      ? records.map((record) => ({ ...record, author: (record['author'] as Raw | null)?.['name'] }))
      : records;
  },
};

async function environment(store: Store, port: number): Promise<Record<string, string>> {
  return {
    PATH: await pathOfNode(node),
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    SECRET: 'bench bench bench bench bench bench bench bench',
    DB_CLIENT: 'pg',
    DB_CONNECTION_STRING: store.databaseUrl!,
    ADMIN_EMAIL: account.email,
    ADMIN_PASSWORD: account.password,
    ADMIN_TOKEN: token,
    LOG_LEVEL: 'warn',
    TELEMETRY: 'false',
    PRESSURE_LIMITER_ENABLED: 'false',
  };
}

async function start(store: Store): Promise<Served> {
  const port = await freePort();
  return startProcess({
    command: 'node',
    args: [program(), 'start'],
    env: await environment(store, port),
    port,
    probe: '/server/ping',
    cwd: store.folder,
    log: join(folder(), 'server.log'),
  });
}

async function defineCollections(served: Served): Promise<void> {
  const call = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${served.port}/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  };
  const id = {
    field: 'id',
    type: 'integer',
    meta: { hidden: true },
    schema: { is_primary_key: true, has_auto_increment: true },
  };
  const field = (name: string, type: string, isIndexed = false): object => ({
    field: name,
    type,
    meta: {},
    schema: { is_indexed: isIndexed },
  });
  const time = (name: string, special: string): object => ({
    field: name,
    type: 'timestamp',
    meta: { special: [special] },
    schema: {},
  });
  const collection = (name: string, fields: object[]): Promise<void> =>
    call('collections', { collection: name, meta: { accountability: null }, schema: {}, fields: [id, ...fields] });
  await collection('authors', [field('name', 'string'), field('email', 'string'), field('nickname', 'string')]);
  await collection('posts', [
    field('title', 'string'),
    field('body', 'text'),
    field('views', 'integer', true),
    field('published', 'boolean'),
    field('posted', 'integer', true),
    field('author', 'integer', true),
    time('created', 'date-created'),
    time('updated', 'date-updated'),
  ]);
  await call('relations', {
    collection: 'posts',
    field: 'author',
    related_collection: 'authors',
    schema: {},
    meta: {},
  });
}

async function fill(store: Store): Promise<void> {
  execFileSync('node', [program(), 'bootstrap'], {
    env: await environment(store, 0),
    cwd: store.folder,
    stdio: 'pipe',
  });
  const served = await start(store);
  await defineCollections(served);
  await served.stop();
  await Filler.on(store.databaseUrl!, async (filler) => {
    const created = new Date().toISOString();
    await filler.insert('authors', userCount, (index) => ({ id: index, ...authorRow(index) }));
    await filler.insert('posts', postCount, (index) => ({ id: index, ...postRow(index), created }));
    await filler.continueAfter('posts', postCount);
  });
}

export const directus: Peer = {
  name: 'Directus',
  engine: 'postgres',
  writes: 'synced before the reply (PostgreSQL, synchronous_commit = on)',
  configuration:
    'NODE_ENV=production, one process, cache and rate limiter off (defaults), pressure limiter and activity log off, log from warnings on; static token of the administrator',
  install: () => installPackages('directus', { dependencies: { directus: '12.4.0' }, node }),
  fill,
  start,
  signIn: async (served) => ({ served, headers: { Authorization: `Bearer ${token}` }, dialect }),
};
