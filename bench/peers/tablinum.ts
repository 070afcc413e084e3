/** This server, in the same frame as the products it is compared with. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Api, inBatches } from '../api.ts';
import { postCount, userCount } from '../seed-data.ts';
import { account, startServer } from '../server-under-test.ts';
import { authorRow, postRow } from './questions.ts';
import type { Call, Dialect, Peer, Question, Raw, Row, Store } from './subject.ts';

const dialect: Dialect = {
  createdStatus: 200,
  call(question: Question): Call | null {
    switch (question.kind) {
      case 'get':
        return { method: 'GET', path: `/api/posts:get?filterByTk=${question.post}` };
      case 'list':
      case 'author': {
        const filter = encodeURIComponent(JSON.stringify({ published: true, views: { $lt: question.below } }));
        const author = question.kind === 'author' ? '&appends=author' : '';
        return { method: 'GET', path: `/api/posts:list?filter=${filter}&sort=-posted&pageSize=20&count=none${author}` };
      }
      case 'search':
        return {
          method: 'GET',
          path: `/api/authors:list?search=${encodeURIComponent(question.word)}&searchFields=name,email&pageSize=20&count=none`,
        };
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

async function fill(store: Store): Promise<void> {
  const served = await startServer(store.folder, store.databaseUrl);
  const api = new Api(served.port);
  api.token = ((await api.post('auth:signIn', account)).data as { token: string }).token;
  const text = (name: string): object => ({ name, type: 'string' });
  await api.post('collections:create', { name: 'authors', fields: ['name', 'email', 'nickname'].map(text) });
  await api.post('collections:create', {
    name: 'posts',
    fields: [
      text('title'),
      { name: 'body', type: 'text' },
      { name: 'views', type: 'integer', index: true },
      { name: 'published', type: 'boolean' },
      { name: 'posted', type: 'integer', index: true },
      { name: 'author', type: 'belongsTo', target: 'authors', foreignKey: 'authorId' },
    ],
  });
  await inBatches(userCount, authorRow, (batch) => api.post('authors:create', batch));
  const post = (index: number): object => {
    const { author, ...rest } = postRow(index);
    return { ...rest, authorId: author };
  };
  await inBatches(postCount, post, (batch) => api.post('posts:create', batch));
  await served.stop();
}

/** This server on an engine. */
export function tablinumOn(engine: Peer['engine']): Peer {
  return {
    name: 'Tablinum',
    engine,
    writes: 'synced before the reply',
    configuration: 'defaults; rate limits off, log at error',
    install: async () => {
      const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
      return { version: (JSON.parse(manifest) as { version: string }).version, runtime: `Node.js ${process.version}` };
    },
    fill,
    start: (store) => startServer(store.folder, store.databaseUrl),
    async signIn(served) {
      const api = new Api(served.port);
      api.token = ((await api.post('auth:signIn', account)).data as { token: string }).token;
      const key = await api.post('apiKeys:create', { role: { name: 'admin' } });
      return { served, headers: { Authorization: `Bearer ${(key.data as { token: string }).token}` }, dialect };
    },
  };
}
