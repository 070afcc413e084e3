import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

/** Text of a field that the roles of {@link startNewsroomServer} may not read. */
export const hiddenText = 'nobody may read this';

/**
 * Posts and their writers. `reader` sees parts of published posts, `mover` writes them, and `viewer` sees all
 * collections that are not system collections.
 */
export async function startNewsroomServer(engine: Engine): Promise<TestServer> {
  const server = await TestServer.start(engine);
  const make = (path: string, body: unknown): Promise<unknown> => server.data(`POST /api/${path}`, { body });
  await make('collections:create', {
    name: 'writers',
    fields: [
      { name: 'name', type: 'string' },
      { name: 'open', type: 'boolean' },
    ],
  });
  const fields = [
    { name: 'title', type: 'string' },
    { name: 'secret', type: 'string' },
    { name: 'published', type: 'boolean' },
    { name: 'author', type: 'belongsTo', target: 'writers' },
  ];
  await make('collections:create', { name: 'posts', fields });
  await make('fields:create', {
    collectionName: 'writers',
    name: 'posts',
    type: 'hasMany',
    target: 'posts',
    foreignKey: 'authorId',
  });
  await make('writers:create', [
    { name: 'Ann', open: true },
    { name: 'Bob', open: false },
  ]);
  await make('posts:create', [
    { title: 'Open', secret: hiddenText, published: true, authorId: 1 },
    { title: 'Hidden', secret: hiddenText, published: false, authorId: 2 },
    { title: 'Open too', secret: hiddenText, published: true },
  ]);
  const published = { published: true };
  await make('roles:create', { name: 'reader' });
  await make('permissions:create', {
    role: 'reader',
    resource: 'posts',
    actions: 'view',
    filter: published,
    fields: ['title', 'published'],
  });
  await make('permissions:create', {
    role: { name: 'reader' },
    resource: 'posts',
    actions: ['update'],
    filter: published,
    fields: ['title'],
  });
  await make('permissions:create', { role: 'reader', resource: 'writers', actions: 'view' });
  await make('roles:create', { name: 'mover' });
  await make('permissions:create', {
    role: 'mover',
    resource: 'posts',
    actions: ['list', 'get', 'create', 'update', 'destroy'],
    filter: published,
  });
  await make('permissions:create', { role: 'mover', resource: 'writers', actions: ['get'], filter: { open: true } });
  for (const role of ['reader', 'mover', 'viewer']) await server.createKey(role);
  return server;
}
