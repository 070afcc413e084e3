import { createRequire, registerHooks } from 'node:module';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const forgotten = '@nocobase/utils/client';
/**
 * The package requires another package that it does not declare, and only uses it in browsers (for the names of its
 * cookies).
 */
registerHooks({
  resolve: (name, context, next) =>
    name === forgotten ? { url: `test:${name}`, format: 'commonjs', shortCircuit: true } : next(name, context),
  load: (url, context, next) =>
    url === `test:${forgotten}` ? { format: 'commonjs', source: '', shortCircuit: true } : next(url, context),
});
/** The published build of the package, unmodified; it is CommonJS. */
const { APIClient } = createRequire(import.meta.url)('@nocobase/sdk') as typeof import('@nocobase/sdk');

/** A third-party client of the same action grammar. */
describeEngines('the client of NocoBase', (engine) => {
  let server: TestServer;
  let client: InstanceType<typeof APIClient>;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    client = new APIClient({ baseURL: `${server.running.url}/api`, storageType: 'memory' });
  });
  afterAll(() => server.stop());

  const failure = async (work: Promise<unknown>): Promise<{ status: number; data: { error: string } }> =>
    work.then(
      () => expect.unreachable('it should have been refused'),
      (error: { response: { status: number; data: { error: string } } }) => error.response,
    );

  test('is refused before it signs in and accepted afterwards', async () => {
    expect((await failure(client.resource('users').list!())).status).toBe(401);
    const wrong = client.auth.signIn({ email: 'root@example.com', password: 'wrong' });
    expect((await failure(wrong)).status).toBe(401);
    await client.auth.signIn({ email: 'root@example.com', password: 'correct horse battery' });
    const { data } = await client.resource('auth').check!();
    expect(data.data.email).toBe('root@example.com');
  });

  test('defines collections', async () => {
    const collections = client.resource('collections');
    await collections.create!({ values: { name: 'tags', fields: [{ name: 'name', type: 'string' }] } });
    await collections.create!({
      values: {
        name: 'posts',
        title: 'Posts',
        fields: [
          { name: 'title', type: 'string', required: true, uiSchema: { title: 'Title' } },
          { name: 'views', type: 'integer', defaultValue: 0 },
          { name: 'tags', type: 'belongsToMany', target: 'tags' },
        ],
      },
    });
    await client.resource('collections.fields', 'posts').create!({ values: { name: 'body', type: 'text' } });
    const { data } = await client.resource('collections').get!({ filterByTk: 'posts', appends: ['fields'] });
    expect(data.data.fields.map((field: { name: string }) => field.name)).toContain('body');
  });

  test('creates, lists, gets, updates and destroys records', async () => {
    const posts = client.resource('posts');
    const created = await posts.create!({ values: { title: 'One', views: 5 } });
    expect(created.data.data).toMatchObject({ id: 1, title: 'One', views: 5 });
    await posts.create!({ values: [{ title: 'Two' }, { title: 'Three', tags: [{ name: 'new' }] }] });
    const listed = await posts.list!({
      filter: { $and: [{ views: { $lt: 5 } }, { $or: [{ title: { $includes: 't' } }, { 'tags.name': 'x' }] }] },
      sort: ['-title'],
      fields: ['id', 'title'],
      pageSize: 1,
      page: 2,
    });
    expect(listed.data).toMatchObject({ data: [{ id: 3, title: 'Three' }], meta: { count: 2, page: 2, totalPage: 2 } });
    const got = await posts.get!({ filterByTk: 3, appends: ['tags'] });
    expect(got.data.data.tags).toMatchObject([{ name: 'new' }]);
    await posts.update!({ filterByTk: 1, values: { title: 'Uno' } });
    expect((await posts.get!({ filterByTk: 1 })).data.data.title).toBe('Uno');
    await posts.destroy!({ filterByTk: [1] });
    expect((await posts.list!()).data.meta.count).toBe(2);
  });

  test('uses firstOrCreate, updateOrCreate and query', async () => {
    const posts = client.resource('posts');
    for (const title of ['Two', 'Two', 'Four'])
      await posts.firstOrCreate!({ filterKeys: ['title'], values: { title, views: 2 } });
    const { data } = await posts.query!({ values: { measures: [{ field: 'id', aggregation: 'count', alias: 'n' }] } });
    expect(data.data).toEqual([{ n: 3 }]);
  });

  test('reads and changes relations', async () => {
    const tags = client.resource('posts.tags', 2);
    await client.resource('tags').create!({ values: [{ name: 'red' }, { name: 'blue' }] });
    await tags.add!({ values: [2] });
    await tags.set!({ values: [2, 3] });
    await tags.remove!({ values: [2] });
    await tags.toggle!({ filterByTk: 1 });
    await tags.create!({ values: { name: 'made' } });
    const { data } = await tags.list!({ sort: 'name', fields: ['name'] });
    expect(data.data).toEqual([{ name: 'blue' }, { name: 'made' }, { name: 'new' }]);
  });

  test('reads error replies', async () => {
    const posts = client.resource('posts');
    expect(await failure(posts.create!({ values: {} }))).toMatchObject({
      status: 422,
      data: { error: 'Validation Error', details: { title: expect.any(String) } },
    });
    expect((await failure(posts.get!({ filterByTk: 99 }))).status).toBe(404);
    expect((await failure(posts.list!({ filter: { nope: 1 } }))).status).toBe(400);
    expect((await failure(client.resource('nothing').list!())).status).toBe(404);
  });

  test('signs out', async () => {
    await client.auth.signOut();
    expect((await failure(client.resource('posts').list!())).status).toBe(401);
  });
});
