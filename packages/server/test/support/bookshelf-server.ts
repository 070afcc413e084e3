import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

/**
 * Books on shelves, linked by a unique field of the shelf instead of its primary key, and a reader who only sees the
 * pages of longer books.
 */
export async function startBookshelfServer(engine: Engine): Promise<TestServer> {
  const server = await TestServer.start(engine);
  const make = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
  const options = { timestamps: false };
  await make('collections:create', {
    name: 'shelves',
    fields: [{ name: 'code', type: 'string', unique: true }],
    options,
  });
  await make('collections:create', {
    name: 'books',
    fields: [
      { name: 'title', type: 'string' },
      { name: 'pages', type: 'integer', index: true },
      { name: 'lang', type: 'string' },
      { name: 'shelf', type: 'belongsTo', target: 'shelves', targetKey: 'code', foreignKey: 'shelfCode' },
    ],
    options,
  });
  await make('fields:create', {
    collectionName: 'shelves',
    name: 'books',
    type: 'hasMany',
    target: 'books',
    sourceKey: 'code',
    foreignKey: 'shelfCode',
  });
  await make('shelves:create', { code: 'A1' });
  await make('books:create', [
    { title: 'A', pages: 100, lang: 'en', shelfCode: 'A1' },
    { title: 'B', pages: 200, lang: 'en' },
    { title: 'C', pages: 300 },
  ]);
  await make('roles:create', { name: 'reader' });
  await make('permissions:create', {
    role: 'reader',
    resource: 'books',
    actions: ['list', 'get'],
    filter: { $and: [{ pages: { $gt: 150 } }] },
    fields: ['pages'],
  });
  await server.createKey('reader');
  await server.createKey('viewer');
  return server;
}
