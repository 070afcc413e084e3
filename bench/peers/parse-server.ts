/**
 * Parse Server, a Node.js program, on PostgreSQL (it needs MongoDB or PostgreSQL).
 *
 * Its guide (https://docs.parseplatform.org/parse-server/guide/) asks for NODE_ENV=production, for no creation of classes by
 * clients, and for indexes that one makes in the database oneself. One process; the log from warnings on.
 */
import { join } from 'node:path';
import { freePort, type Served, startProcess } from '../child.ts';
import { postCount, userCount } from '../seed-data.ts';
import { Filler } from './fill-postgres.ts';
import { folderOf, installPackages, pathOfNode } from './install.ts';
import { authorRow, postRow } from './questions.ts';
import type { Call, Dialect, Peer, Question, Raw, Store } from './subject.ts';

const key = 'bench-master-key';
const headers = { 'X-Parse-Application-Id': 'bench', 'X-Parse-Master-Key': key };
const postId = (index: number): string => `post${String(index).padStart(6, '0')}`;
const authorId = (index: number): string => `user${String(index).padStart(6, '0')}`;
const pointer = (index: number): object => ({ __type: 'Pointer', className: 'Author', objectId: authorId(index) });

const dialect: Dialect = {
  createdStatus: 201,
  call(question: Question): Call {
    const list = (name: string, where: object, more: string): Call => ({
      method: 'GET',
      path: `/parse/classes/${name}?where=${encodeURIComponent(JSON.stringify(where))}&limit=20${more}`,
    });
    switch (question.kind) {
      case 'get':
        return { method: 'GET', path: `/parse/classes/Post/${postId(question.post)}` };
      case 'list':
      case 'author': {
        const author = question.kind === 'author' ? '&include=author' : '';
        return list('Post', { published: true, views: { $lt: question.below } }, `&order=-posted${author}`);
      }
      case 'search': {
        const pattern = { $regex: question.word, $options: 'i' };
        return list('Author', { $or: [{ name: pattern }, { email: pattern }] }, '');
      }
      case 'create':
        return {
          method: 'POST',
          path: '/parse/classes/Post',
          body: { ...question.post, author: pointer(question.post.author) },
        };
      case 'update':
        return { method: 'PUT', path: `/parse/classes/Post/${postId(question.post)}`, body: { views: question.views } };
    }
  },
  rows(kind, reply) {
    if (kind === 'get') return [reply as Raw];
    const { results } = reply as { results: Raw[] };
    return kind === 'author'
      ? results.map((record) => ({ ...record, author: (record['author'] as Raw | null)?.['name'] }))
      : results;
  },
};

async function start(store: Store): Promise<Served> {
  const port = await freePort();
  const folder = folderOf('parse');
  return startProcess({
    command: 'node',
    args: [join(folder, 'node_modules/parse-server/bin/parse-server')],
    env: {
      PATH: await pathOfNode(),
      NODE_ENV: 'production',
      PORT: String(port),
      PARSE_SERVER_HOST: '127.0.0.1',
      PARSE_SERVER_APPLICATION_ID: 'bench',
      PARSE_SERVER_MASTER_KEY: key,
      PARSE_SERVER_URL: `http://127.0.0.1:${port}/parse`,
      PARSE_SERVER_DATABASE_URI: store.databaseUrl!,
      PARSE_SERVER_ALLOW_CLIENT_CLASS_CREATION: 'false',
      PARSE_SERVER_LOG_LEVEL: 'warn',
      PARSE_SERVER_LOGS_FOLDER: join(store.folder, 'logs'),
    },
    port,
    probe: '/parse/health',
    cwd: store.folder,
    log: join(folder, 'server.log'),
  });
}

async function createClass(served: Served, className: string, fields: object): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${served.port}/parse/schemas/${className}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ className, fields }),
  });
  if (!response.ok) throw new Error(`${className}: ${response.status} ${await response.text()}`);
}

async function fill(store: Store): Promise<void> {
  const served = await start(store);
  const string = { type: 'String' };
  const number = { type: 'Number' };
  await createClass(served, 'Author', { name: string, email: string, nickname: string });
  await createClass(served, 'Post', {
    title: string,
    body: string,
    views: number,
    published: { type: 'Boolean' },
    posted: number,
    author: { type: 'Pointer', targetClass: 'Author' },
  });
  await served.stop();
  await Filler.on(store.databaseUrl!, async (filler) => {
    const now = new Date().toISOString();
    const times = { createdAt: now, updatedAt: now };
    await filler.insert('Author', userCount, (index) => ({ objectId: authorId(index), ...times, ...authorRow(index) }));
    await filler.insert('Post', postCount, (index) => {
      const post = postRow(index);
      return { objectId: postId(index), ...times, ...post, author: authorId(post.author) };
    });
    for (const name of ['views', 'posted', 'author']) await filler.query(`CREATE INDEX ON "Post" ("${name}")`);
  });
}

export const parseServer: Peer = {
  name: 'Parse Server',
  engine: 'postgres',
  writes: 'synced before the reply (PostgreSQL, synchronous_commit = on)',
  configuration: 'NODE_ENV=production, one process, log from warnings on; master key',
  install: () => installPackages('parse', { dependencies: { 'parse-server': '9.10.0' }, flags: ['--ignore-scripts'] }),
  fill,
  start,
  signIn: async (served) => ({ served, headers, dialect }),
};
