import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

const definitions = [
  {
    name: 'authors',
    fields: [
      { name: 'name', type: 'string', required: true },
      { name: 'books', type: 'hasMany', target: 'books', foreignKey: 'authorId' },
      { name: 'card', type: 'hasOne', target: 'cards', foreignKey: 'ownerId' },
    ],
  },
  {
    name: 'books',
    fields: [
      { name: 'title', type: 'string' },
      { name: 'author', type: 'belongsTo', target: 'authors' },
      {
        name: 'tags',
        type: 'belongsToMany',
        target: 'tags',
        through: 'bookTags',
        foreignKey: 'bookId',
        otherKey: 'tagId',
      },
    ],
  },
  { name: 'cards', fields: [{ name: 'no', type: 'integer' }] },
  { name: 'tags', fields: [{ name: 'name', type: 'string' }] },
  {
    name: 'bookTags',
    fields: [
      { name: 'weight', type: 'integer', defaultValue: 1 },
      { name: 'book', type: 'belongsTo', target: 'books', onDelete: 'cascade' },
      { name: 'tag', type: 'belongsTo', target: 'tags', onDelete: 'cascade' },
    ],
    options: { timestamps: false, indexes: [{ fields: ['bookId', 'tagId'], unique: true }] },
  },
];

/** Authors with their books and cards, and tags. The first two of the four books are by the first author. */
export async function startLibraryServer(engine: Engine): Promise<TestServer> {
  const server = await TestServer.start(engine);
  await server.data('POST /api/collections:apply', { body: definitions });
  await server.data('POST /api/authors:create', { body: [{ name: 'Ann' }, { name: 'Bob' }, { name: 'Cid' }] });
  const books = ['One', 'Two', 'Three', 'Four'].map((title, index) => ({ title, authorId: index < 2 ? 1 : null }));
  await server.data('POST /api/books:create', { body: books });
  await server.data('POST /api/tags:create', { body: ['red', 'blue', 'old'].map((name) => ({ name })) });
  await server.data('POST /api/cards:create', { body: [{ no: 7, ownerId: 1 }, { no: 8 }] });
  return server;
}
