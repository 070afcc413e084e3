/**
 * Strapi, a Node.js program, on PostgreSQL (its guide to deployment advises against SQLite in production).
 *
 * Its documentation (https://docs.strapi.io/cms/deployment) asks for NODE_ENV=production, fixed secrets and a built admin
 * panel; the panel is not served here, as no case needs it. One process; the log from warnings on. Draft and publish is
 * off for both collections, which saves Strapi a condition on each read.
 */
import { join } from 'node:path';
import { freePort, type Served, startProcess } from '../child.ts';
import { postCount, userCount } from '../seed-data.ts';
import { Filler } from './fill-postgres.ts';
import { folderOf, installPackages, pathOfNode, writeFiles } from './install.ts';
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

const folder = (): string => folderOf('strapi');
/** Identifiers of documents have 24 characters. */
const postId = (index: number): string => `post${String(index).padStart(20, '0')}`;
const authorId = (index: number): string => `user${String(index).padStart(20, '0')}`;

const contentType = (name: string, attributes: object): Record<string, string> => {
  const factory = (part: string): string =>
    `module.exports = require('@strapi/strapi').factories.createCore${part}('api::${name}.${name}');\n`;
  const schema = {
    kind: 'collectionType',
    collectionName: `${name}s`,
    info: { singularName: name, pluralName: `${name}s`, displayName: name },
    options: { draftAndPublish: false },
    attributes,
  };
  return {
    [`src/api/${name}/content-types/${name}/schema.json`]: JSON.stringify(schema),
    [`src/api/${name}/controllers/${name}.js`]: factory('Controller'),
    [`src/api/${name}/routes/${name}.js`]: factory('Router'),
    [`src/api/${name}/services/${name}.js`]: factory('Service'),
  };
};

const string = { type: 'string' };
const project: Readonly<Record<string, string>> = {
  ...contentType('author', { name: string, email: string, nickname: string }),
  ...contentType('post', {
    title: string,
    body: { type: 'text' },
    views: { type: 'integer' },
    published: { type: 'boolean' },
    posted: { type: 'integer' },
    author: { type: 'relation', relation: 'manyToOne', target: 'api::author.author' },
  }),
  'src/index.js': 'module.exports = { register() {}, bootstrap() {} };\n',
  'config/server.js': `module.exports = ({ env }) => ({
  host: '127.0.0.1', port: env.int('PORT'), app: { keys: env.array('APP_KEYS') }, logger: { updates: { enabled: false } },
});\n`,
  'config/database.js': `module.exports = ({ env }) => ({
  connection: { client: 'postgres', connection: { connectionString: env('DATABASE_URL') }, pool: { min: 2, max: 10 } },
});\n`,
  'config/admin.js': `module.exports = ({ env }) => ({
  serveAdminPanel: false, auth: { secret: env('ADMIN_JWT_SECRET') }, apiToken: { salt: env('API_TOKEN_SALT') },
  transfer: { token: { salt: env('TRANSFER_TOKEN_SALT') } }, secrets: { encryptionKey: env('ENCRYPTION_KEY') },
});\n`,
  'config/api.js': 'module.exports = { rest: { defaultLimit: 25, maxLimit: 100, withCount: true } };\n',
  'config/plugins.js':
    "module.exports = { 'users-permissions': { config: { jwtSecret: 'bench bench bench bench' } } };\n",
  'config/logger.js': "module.exports = { level: 'warn' };\n",
  // The default list without strapi::logger, which reports each request at the level http.
  'config/middlewares.js': `module.exports = ['strapi::errors', 'strapi::security', 'strapi::cors', 'strapi::poweredBy',
  'strapi::query', 'strapi::body', 'strapi::session', 'strapi::favicon', 'strapi::public'];\n`,
  // The folder of uploads has to exist.
  'public/uploads/.keep': '',
};

async function install(): Promise<Installed> {
  const installed = await installPackages('strapi', {
    dependencies: {
      '@strapi/strapi': '5.54.0',
      '@strapi/plugin-users-permissions': '5.54.0',
      pg: '8.20.0',
      react: '18.3.1',
      'react-dom': '18.3.1',
      'react-router-dom': '6.30.3',
      'styled-components': '6.6.0',
    },
  });
  writeFiles(folder(), project);
  return installed;
}

const dialect: Dialect = {
  createdStatus: 201,
  call(question: Question): Call {
    const page = 'pagination[pageSize]=20&pagination[withCount]=false';
    switch (question.kind) {
      case 'get':
        return { method: 'GET', path: `/api/posts/${postId(question.post)}` };
      case 'list':
      case 'author': {
        const filter = `filters[published][$eq]=true&filters[views][$lt]=${question.below}`;
        const author = question.kind === 'author' ? '&populate=author' : '';
        return { method: 'GET', path: `/api/posts?${filter}&sort=posted:desc&${page}${author}` };
      }
      case 'search':
        return { method: 'GET', path: `/api/authors?_q=${encodeURIComponent(question.word)}&${page}` };
      case 'create':
        return {
          method: 'POST',
          path: '/api/posts',
          body: { data: { ...question.post, author: authorId(question.post.author) } },
        };
      case 'update':
        return {
          method: 'PUT',
          path: `/api/posts/${postId(question.post)}`,
          body: { data: { views: question.views } },
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

async function start(store: Store): Promise<Served> {
  const port = await freePort();
  return startProcess({
    command: 'node',
    args: [join(folder(), 'node_modules/@strapi/strapi/bin/strapi.js'), 'start'],
    env: {
      PATH: await pathOfNode(),
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: store.databaseUrl!,
      APP_KEYS: 'bench-key-1,bench-key-2',
      ADMIN_JWT_SECRET: 'bench bench bench bench',
      API_TOKEN_SALT: 'bench salt of tokens',
      TRANSFER_TOKEN_SALT: 'bench salt of transfers',
      ENCRYPTION_KEY: 'bench bench bench bench bench be',
      STRAPI_TELEMETRY_DISABLED: 'true',
    },
    port,
    probe: '/admin/init',
    cwd: folder(),
    log: join(folder(), 'server.log'),
  });
}

async function post(served: Served, path: string, token: string | null, body: object): Promise<Raw> {
  const response = await fetch(`http://127.0.0.1:${served.port}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: Raw }).data;
}

async function fill(store: Store): Promise<void> {
  const served = await start(store);
  await post(served, 'admin/register-admin', null, { ...account, firstname: 'Bench' });
  await served.stop();
  await Filler.on(store.databaseUrl!, async (filler) => {
    const now = new Date().toISOString();
    const common = { created_at: now, updated_at: now, published_at: now };
    await filler.insert('authors', userCount, (index) => ({
      id: index,
      document_id: authorId(index),
      ...common,
      ...authorRow(index),
    }));
    await filler.insert('posts', postCount, (index) => {
      const { author: _, ...row } = postRow(index);
      return { id: index, document_id: postId(index), ...common, ...row };
    });
    await filler.insert('posts_author_lnk', postCount, (index) => ({
      id: index,
      post_id: index,
      author_id: postRow(index).author,
    }));
    for (const table of ['authors', 'posts', 'posts_author_lnk'])
      await filler.continueAfter(table, table === 'authors' ? userCount : postCount);
    for (const name of ['views', 'posted']) await filler.query(`CREATE INDEX ON posts (${name})`);
  });
}

export const strapi: Peer = {
  name: 'Strapi',
  engine: 'postgres',
  writes: 'synced before the reply (PostgreSQL, synchronous_commit = on)',
  configuration:
    'NODE_ENV=production, one process, draft and publish off, no request log, log from warnings on; API token with full access',
  install,
  fill,
  start,
  async signIn(served) {
    const session = await post(served, 'admin/login', null, account);
    const token = String(session['accessToken'] ?? session['token']);
    const key = await post(served, 'admin/api-tokens', token, {
      name: 'bench',
      description: '',
      type: 'full-access',
      lifespan: null,
    });
    return { served, headers: { Authorization: `Bearer ${key['accessKey']}` }, dialect };
  },
};
