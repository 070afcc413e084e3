import { randomFrom, requestText } from './load.ts';
import { postCount, userCount } from './seed-data.ts';
import type { Prepared } from './server-under-test.ts';

export interface Case {
  readonly name: string;
  readonly clients: number;
  /** Requests for the server under test. */
  readonly server: readonly string[];
  /** Requests for the yardstick, or the name of the case whose server figure is the yardstick. */
  readonly yardstick: readonly string[] | { readonly sameAs: string };
  /** The minimum ratio by engine; absent: none was set. */
  readonly target: { readonly sqlite?: number; readonly postgres?: number };
}

const many = 4000;
const random = randomFrom(20_261_120);
const repeat = (count: number, make: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => make(index));
const query = (parts: Readonly<Record<string, string | number>>): string =>
  Object.entries(parts)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');

/** @param cursor of row 80,000 of posts by descending createdAt. */
export function makeCases({ admin, reader }: Prepared, cursor: string): Case[] {
  const get = (path: string, token = admin): string => requestText('GET', `/api/${path}`, token);
  const bare = (path: string): string => requestText('GET', path, null);
  const id = (): number => 1 + random(postCount);
  const views = (): number => 5000 + random(5000);
  const newest = { sort: '-createdAt', pageSize: 20 };
  const list = (extra: Record<string, string | number>, most: number, token = admin): string =>
    get(
      `posts:list?${query({ filter: JSON.stringify({ published: true, views: { $lt: most } }), ...newest, ...extra })}`,
      token,
    );
  const withAuthor = (token: string): string =>
    list(
      {
        count: 'none',
        appends: 'author',
        fields:
          'id,title,body,views,published,authorId,createdAt,updatedAt,author.id,author.name,author.email,author.nickname',
      },
      views(),
      token,
    );
  const published = (token: string): string =>
    get(`posts:list?${query({ filter: JSON.stringify({ published: true }), ...newest, count: 'none' })}`, token);
  const post = (): object => ({
    title: `New ${random(1e9)}`,
    body: 'b'.repeat(220),
    views: random(10_000),
    published: true,
    authorId: 2 + random(userCount),
  });
  const create = (): string => requestText('POST', '/api/posts:create', admin, post());
  const bareCreate = (): string => requestText('POST', '/create', null, { ...post(), authorId: 1 + random(userCount) });
  const update = (): string =>
    requestText('POST', `/api/posts:update?filterByTk=${id()}`, admin, { views: random(10_000) });
  const bareUpdate = (): string => requestText('POST', `/update?id=${id()}`, null, { views: random(10_000) });
  const few = Array.from({ length: 16 }, views);
  return [
    {
      name: 'get by id',
      clients: 8,
      server: repeat(many, () => get(`posts:get?filterByTk=${id()}`)),
      yardstick: repeat(many, () => bare(`/get?id=${id()}`)),
      target: { sqlite: 0.6, postgres: 0.8 },
    },
    {
      name: 'list 20, filter, sort, no count',
      clients: 8,
      server: repeat(many, () => list({ count: 'none' }, views())),
      yardstick: repeat(many, () => bare(`/list?views=${views()}`)),
      target: { sqlite: 0.7, postgres: 0.9 },
    },
    {
      name: 'list 20 with exact count (yardstick without)',
      clients: 8,
      server: repeat(many, (index) => list({}, few[index % 16]!)),
      yardstick: repeat(many, () => bare(`/list?views=${views()}`)),
      target: { sqlite: 0.65 },
    },
    {
      name: 'list 20 with exact count (yardstick counts)',
      clients: 8,
      server: repeat(many, (index) => list({}, few[index % 16]!)),
      yardstick: repeat(many, (index) => bare(`/counted?views=${few[index % 16]}`)),
      target: {},
    },
    {
      name: 'list 20 with author',
      clients: 8,
      server: repeat(many, () => withAuthor(admin)),
      yardstick: repeat(many, () => bare(`/author?views=${views()}`)),
      target: { sqlite: 0.7, postgres: 0.75 },
    },
    {
      name: 'list 20 where author.name',
      clients: 8,
      server: repeat(many, () =>
        get(
          `posts:list?${query({ filter: JSON.stringify({ 'author.name': `User ${1 + random(userCount)}` }), ...newest, count: 'none' })}`,
        ),
      ),
      yardstick: repeat(many, () => bare(`/byAuthor?${query({ name: `User ${1 + random(userCount)}` })}`)),
      target: {},
    },
    {
      name: 'page 4,000 by offset',
      clients: 8,
      server: repeat(40, (index) =>
        get(`posts:list?${query({ sort: '-createdAt', count: 'none', pageSize: 20, page: 3980 + index })}`),
      ),
      yardstick: repeat(40, (index) => bare(`/page?offset=${(3979 + index) * 20}`)),
      target: { sqlite: 3 },
    },
    {
      name: 'page 1 by cursor order',
      clients: 8,
      server: repeat(1, () => get(`posts:list?${query({ ...newest, count: 'none' })}`)),
      yardstick: repeat(1, () => bare('/first')),
      target: {},
    },
    {
      name: 'row 80,000 by after (against page 1)',
      clients: 8,
      server: repeat(1, () => get(`posts:list?${query({ ...newest, count: 'none', after: cursor })}`)),
      yardstick: { sameAs: 'page 1 by cursor order' },
      target: { sqlite: 0.9, postgres: 0.9 },
    },
    {
      name: 'list of published, admin',
      clients: 8,
      server: repeat(1, () => published(admin)),
      yardstick: repeat(1, () => bare('/published')),
      target: {},
    },
    {
      name: 'list of published, restricted (against admin)',
      clients: 8,
      server: repeat(1, () => published(reader)),
      yardstick: { sameAs: 'list of published, admin' },
      target: { sqlite: 0.9, postgres: 0.9 },
    },
    {
      name: 'list 20 with author, restricted (against admin)',
      clients: 8,
      server: repeat(many, () => withAuthor(reader)),
      yardstick: { sameAs: 'list 20 with author' },
      target: { sqlite: 0.9, postgres: 0.9 },
    },
    {
      name: 'search in 1,000 users',
      clients: 8,
      server: repeat(many, () =>
        get(
          `users:list?${query({ search: `User ${1 + random(userCount)}`, searchFields: 'name,email', fields: 'id,name,email', count: 'none' })}`,
        ),
      ),
      yardstick: repeat(many, () => bare(`/search?${query({ word: `user ${1 + random(userCount)}` })}`)),
      target: { sqlite: 0.8 },
    },
    {
      name: 'query: count and sum by group',
      clients: 8,
      server: repeat(many, () =>
        requestText('POST', '/api/posts:query', admin, {
          measures: [
            { field: 'id', aggregation: 'count', alias: 'count' },
            { field: 'views', aggregation: 'sum', alias: 'views' },
          ],
          dimensions: [{ field: 'published' }],
          filter: { authorId: 2 + random(userCount) },
          orders: [{ field: 'published' }],
        }),
      ),
      yardstick: repeat(many, () => bare(`/groups?author=${1 + random(userCount)}`)),
      target: {},
    },
    {
      name: 'create, 1 client',
      clients: 1,
      server: repeat(many, create),
      yardstick: repeat(many, bareCreate),
      target: {},
    },
    {
      name: 'create, 32 clients',
      clients: 32,
      server: repeat(many, create),
      yardstick: repeat(many, bareCreate),
      target: { sqlite: 0.9, postgres: 0.6 },
    },
    {
      name: 'update by id',
      clients: 8,
      server: repeat(many, update),
      yardstick: repeat(many, bareUpdate),
      target: { sqlite: 0.8 },
    },
    {
      name: 'mixed, 90 gets to 10 updates',
      clients: 8,
      server: repeat(many, (index) => (index % 10 === 0 ? update() : get(`posts:get?filterByTk=${id()}`))),
      yardstick: repeat(many, (index) => (index % 10 === 0 ? bareUpdate() : bare(`/get?id=${id()}`))),
      target: {},
    },
  ];
}
