/**
 * NocoBase, a Node.js program, on PostgreSQL (which its guide to installation recommends; it has no SQLite any more).
 *
 * Its documentation (https://docs.nocobase.com/get-started/deployment/production) asks for APP_ENV=production and a fixed
 * APP_KEY. One process without the process manager; the log from warnings on. The posts use the simple pagination that it
 * advises for large tables, which counts nothing. `xlsx` comes from a host outside of the registry; the registry's release
 * of the same library stands in for it, and no case uses it.
 */
import { join } from 'node:path';
import { Api } from '../api.ts';
import { freePort, type Served, startProcess } from '../child.ts';
import { postCount, userCount } from '../seed-data.ts';
import { Filler } from './fill-postgres.ts';
import { folderOf, installPackages, pathOfNode, run, writeFiles } from './install.ts';
import { authorRow, postRow } from './questions.ts';
import {
  account,
  type Call,
  type Dialect,
  type Installed,
  type Peer,
  type Question,
  type Raw,
  type Row,
  type Store,
} from './subject.ts';

const folder = (): string => folderOf('nocobase');
const program = (): string => join(folder(), 'server.js');
/** What `nocobase start --launch-mode node` executes after its checks: they need yarn, and look for commercial plug-ins. */
const main = `require('@nocobase/cli-v1').initEnv();
require('@nocobase/app/lib/index.js');
`;

const dialect: Dialect = {
  createdStatus: 200,
  call(question: Question): Call {
    const list = (name: string, filter: object, more: string): Call => ({
      method: 'GET',
      path: `/api/${name}:list?filter=${encodeURIComponent(JSON.stringify(filter))}&pageSize=20${more}`,
    });
    switch (question.kind) {
      case 'get':
        return { method: 'GET', path: `/api/posts:get?filterByTk=${question.post}` };
      case 'list':
      case 'author': {
        const author = question.kind === 'author' ? '&appends[]=author' : '';
        return list('posts', { published: true, views: { $lt: question.below } }, `&sort[]=-posted${author}`);
      }
      case 'search': {
        const includes = { $includes: question.word };
        return list('authors', { $or: [{ name: includes }, { email: includes }] }, '');
      }
      case 'create': {
        const { author, ...rest } = question.post;
        return { method: 'POST', path: '/api/posts:create', body: { ...rest, authorId: author } };
      }
      case 'update':
        return {
          method: 'POST',
          path: `/api/posts:update?filterByTk=${question.post}`,
          body: { views: question.views },
        };
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
  const url = new URL(store.databaseUrl!);
  return {
    PATH: await pathOfNode(),
    HOME: store.folder,
    APP_ENV: 'production',
    NODE_ENV: 'production',
    APP_KEY: 'bench bench bench bench bench bench bench bench',
    APP_PORT: String(port),
    STORAGE_PATH: join(store.folder, 'storage'),
    DB_DIALECT: 'postgres',
    DB_HOST: url.hostname,
    DB_PORT: url.port,
    DB_DATABASE: url.pathname.slice(1),
    DB_USER: url.username,
    DB_PASSWORD: 'unused',
    INIT_ROOT_EMAIL: account.email,
    INIT_ROOT_PASSWORD: account.password,
    INIT_ROOT_NICKNAME: 'Root',
    INIT_ROOT_USERNAME: 'bench',
    LOGGER_LEVEL: 'warn',
    LOGGER_TRANSPORT: 'console',
    TZ: 'UTC',
  };
}

async function start(store: Store): Promise<Served> {
  const port = await freePort();
  return startProcess({
    command: 'node',
    args: [program(), 'start'],
    env: await environment(store, port),
    port,
    probe: '/api/__health_check',
    cwd: folder(),
    log: join(folder(), 'server.log'),
  });
}

async function signedIn(served: Served): Promise<Api> {
  const api = new Api(served.port);
  const reply = await api.post('auth:signIn?authenticator=basic', account);
  api.token = (reply.data as { token: string }).token;
  return api;
}

async function install(): Promise<Installed> {
  const installed = await installPackages('nocobase', {
    dependencies: { '@nocobase/app': '2.2.15', pg: '8.23.1', 'pg-hstore': '2.3.4', mysql2: '3.24.4', mariadb: '2.5.6' },
    flags: ['--ignore-scripts', '--legacy-peer-deps'],
    overrides: { cytoscape: '3.28.0', xlsx: '0.18.5' },
  });
  writeFiles(folder(), { 'server.js': main });
  return installed;
}

async function defineCollections(api: Api): Promise<void> {
  const id = { name: 'id', type: 'bigInt', autoIncrement: true, primaryKey: true, allowNull: false, interface: 'id' };
  const text = (name: string): object => ({ name, type: 'string', interface: 'input' });
  const integer = (name: string): object => ({ name, type: 'integer', interface: 'integer' });
  const collection = (name: string, fields: object[]): Promise<unknown> =>
    api.post('collections:create', {
      name,
      template: 'general',
      autoGenId: false,
      simplePaginate: true,
      createdAt: true,
      updatedAt: true,
      fields: [id, ...fields],
    });
  await collection('authors', ['name', 'email', 'nickname'].map(text));
  await collection('posts', [
    text('title'),
    { name: 'body', type: 'text', interface: 'textarea' },
    integer('views'),
    { name: 'published', type: 'boolean', interface: 'checkbox' },
    integer('posted'),
    { name: 'author', type: 'belongsTo', target: 'authors', foreignKey: 'authorId', targetKey: 'id', interface: 'm2o' },
    { name: 'createdAt', type: 'date', field: 'createdAt', interface: 'createdAt' },
    { name: 'updatedAt', type: 'date', field: 'updatedAt', interface: 'updatedAt' },
  ]);
}

async function fill(store: Store): Promise<void> {
  await run(folder(), ['node', program(), 'install', '--lang=en-US'], await environment(store, 0));
  const served = await start(store);
  await defineCollections(await signedIn(served));
  await served.stop();
  await Filler.on(store.databaseUrl!, async (filler) => {
    const now = new Date().toISOString();
    const times = { createdAt: now, updatedAt: now };
    await filler.insert('authors', userCount, (index) => ({ id: index, ...times, ...authorRow(index) }));
    await filler.insert('posts', postCount, (index) => {
      const { author, ...row } = postRow(index);
      return { id: index, ...times, ...row, authorId: author };
    });
    await filler.continueAfter('posts', postCount);
    for (const name of ['views', 'posted', 'authorId']) await filler.query(`CREATE INDEX ON posts ("${name}")`);
  });
}

export const nocobase: Peer = {
  name: 'NocoBase',
  engine: 'postgres',
  writes: 'synced before the reply (PostgreSQL, synchronous_commit = on)',
  configuration: 'APP_ENV=production, one process, simple pagination, log from warnings on; session of the root user',
  install,
  fill,
  start,
  signIn: async (served) => ({
    served,
    headers: { Authorization: `Bearer ${(await signedIn(served)).token}`, 'X-Authenticator': 'basic' },
    dialect,
  }),
};
