import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

/** Two artists with one album each. */
export async function startMusicServer(engine: Engine): Promise<TestServer> {
  const server = await TestServer.start(engine);
  await server.data('POST /api/collections:create', {
    body: {
      name: 'artists',
      fields: [
        { name: 'name', type: 'string', required: true, maxLength: 50 },
        { name: 'rating', type: 'float' },
        { name: 'rank', type: 'integer' },
        { name: 'born', type: 'datetime' },
        { name: 'notes', type: 'json' },
      ],
    },
  });
  await server.data('POST /api/collections:create', {
    body: {
      name: 'albums',
      fields: [
        { name: 'title', type: 'string', unique: true },
        { name: 'artist', type: 'belongsTo', target: 'artists' },
      ],
    },
  });
  await server.data('POST /api/fields:create', {
    body: { collectionName: 'artists', name: 'albums', type: 'hasMany', target: 'albums', foreignKey: 'artistId' },
  });
  await server.data('POST /api/artists:create', { body: [{ name: 'AC/DC' }, { name: 'Queen' }] });
  await server.data('POST /api/albums:create', {
    body: [
      { title: 'Let There Be Rock', artistId: 1 },
      { title: 'Jazz', artistId: 2 },
    ],
  });
  return server;
}

/** Six more albums, two of which have an artist. */
export async function startMusicServerWithAlbums(engine: Engine): Promise<TestServer> {
  const server = await startMusicServer(engine);
  await server.data('POST /api/albums:create', {
    body: [
      { title: 'Powerage', artistId: 1 },
      { title: 'One' },
      { title: 'Two' },
      { title: 'Linked', artistId: 2 },
      { id: 100, title: 'Far' },
      { id: 101, title: 'Farther' },
    ],
  });
  return server;
}
