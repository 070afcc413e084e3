/** An application with data of every kind that can be stored, for tests that move it to another location. */
import { fetchBytes } from './file-server.ts';
import type { Json } from './json.ts';
import { makeRawMail } from './raw-mail.ts';
import type { TestServer } from './scenario.ts';
import { shopHeaders } from './shop-server.ts';

const shop = { as: 'shop', headers: shopHeaders };

/** One field of each type, and values at its limits. */
export const everyType: readonly (readonly [field: Readonly<Record<string, unknown>>, values: readonly unknown[]])[] = [
  [{ name: 'line', type: 'string' }, ['', 'tab\t, \\N, \\., "quotes" and ’', '😀ﬀ\u2028Ünïcödé']],
  [{ name: 'text', type: 'text' }, ['a\nb\r\nc\\', 'x'.repeat(100_000), '\u0001\u007f\ufeff']],
  [{ name: 'count', type: 'integer' }, [-2_147_483_647, 2_147_483_647, 0]],
  [{ name: 'big', type: 'bigInt' }, ['-9223372036854775808', '9223372036854775807', 9_007_199_254_740_991]],
  [{ name: 'float', type: 'float' }, [-99.99, 1.5, 0]],
  [{ name: 'double', type: 'double' }, [5e-324, -1.7976931348623157e308, 0.1]],
  [{ name: 'price', type: 'decimal', precision: 18, scale: 4 }, ['-0.0001', '99999999999999.9999', '7.5000']],
  [{ name: 'whole', type: 'decimal', precision: 3, scale: 0 }, ['-999', '0', '5']],
  [{ name: 'yes', type: 'boolean' }, [true, false, null]],
  [{ name: 'day', type: 'date' }, ['0001-01-01', '9999-12-31', '2024-02-29']],
  [{ name: 'hour', type: 'time' }, ['00:00:00', '23:59:59', '12:30:00']],
  [
    { name: 'moment', type: 'datetime' },
    ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z', '2026-03-29T01:00:00.001Z'],
  ],
  [{ name: 'facts', type: 'json' }, [{ z: 1, a: [null, true, 1e300], '': { '\n': '😀' } }, [], 'a text \\ "quoted"']],
  [{ name: 'words', type: 'array' }, [['x', 'y', 'x'], [], [1, 'a']]],
  [{ name: 'choice', type: 'select', enum: ['new', "don't"] }, ['new', "don't", null]],
  [{ name: 'choices', type: 'select', enum: ['a', 'b'], multiple: true }, [['a', 'b'], [], null]],
  [{ name: 'secret', type: 'password' }, ['correct horse', 'battery staple', null]],
  [{ name: 'mail', type: 'email' }, ['a@example.com', 'b@example.com', null]],
  [{ name: 'site', type: 'url' }, ['https://example.com/ü', null, null]],
  [{ name: 'colour', type: 'color' }, ['#a1b2c3', null, null]],
];

/** Fills the existing application `shop`. @returns a token of an API key. */
export async function fillApplication(server: TestServer): Promise<string> {
  const make = (action: string, body?: unknown): Promise<Json> => server.data(`POST /api/${action}`, { ...shop, body });
  await make('collections:create', {
    name: 'samples',
    fields: [...everyType.map(([field]) => field), { name: 'place', type: 'sort' }, { name: 'code', type: 'uid' }],
    options: { paranoid: true, logging: true, authors: true },
  });
  for (const index of [0, 1, 2])
    await make(
      'samples:create',
      Object.fromEntries(everyType.map(([{ name }, values]) => [name, values[index] ?? null])),
    );
  await make('samples:update?filterByTk=1', { line: 'changed', facts: { n: 2 } });
  await make('samples:destroy?filterByTk=3');
  await make('collections:apply', [
    { name: 'artists', fields: [{ name: 'name', type: 'string', unique: true }] },
    {
      name: 'albums',
      fields: [
        { name: 'title', type: 'string', searchIndex: true },
        { name: 'artist', type: 'belongsTo', target: 'artists', onDelete: 'cascade' },
        { name: 'tags', type: 'belongsToMany', target: 'tags' },
        { name: 'parent', type: 'belongsTo', target: 'albums' },
      ],
      options: { logging: true },
    },
    { name: 'tags', fields: [{ name: 'name', type: 'string' }] },
  ]);
  await make('fields:create', { collectionName: 'artists', name: 'albums', type: 'hasMany', target: 'albums' });
  await make('albums:create', [
    { title: 'A needle', artist: { name: 'Ännchen' }, tags: [{ name: 'new' }, { name: 'live' }] },
    { title: 'Another', parent: { title: 'First of all' } },
  ]);
  // The last id was used, and its row was deleted.
  const last = await make('tags:create', { name: 'gone' });
  await make(`tags:destroy?filterByTk=${last.id}`);
  await make('roles:create', { name: 'clerk', title: 'Clerk' });
  await make('permissions:create', { role: 'clerk', resource: 'albums', actions: ['list'], fields: ['id', 'title'] });
  await make('webhooks:create', { url: 'https://hooks.example/in', events: ['albums.created'], role: 'admin' });
  await make('users:create', { email: 'clerk@example.com', password: 'correct horse battery', roles: ['clerk'] });
  await fillBytes(server);
  return (await make('apiKeys:create', { role: { name: 'editor' } })).token as string;
}

async function fillBytes(server: TestServer): Promise<void> {
  const account = { name: 'Shop', address: 'shop@example.com', members: [1] };
  await server.data('POST /api/accounts:create', { ...shop, body: account });
  const mail = { ...shopHeaders, 'content-type': 'message/rfc822' };
  const from = 'Cora <cora@example.net>';
  for (const raw of [
    makeRawMail({ subject: 'Broken turntable', from, id: 'a1@example.net' }),
    makeRawMail({ subject: 'Re: Broken turntable', from, id: 'a2@example.net', references: ['a1@example.net'] }),
  ])
    await server.data('POST /api/emails:import?account=1', { as: 'shop', headers: mail, body: raw });
  const form = ['--b', 'Content-Disposition: form-data; name="f"; filename="ä.txt"', '', 'A file.', '--b--', ''];
  const type = { ...shopHeaders, 'content-type': 'multipart/form-data; boundary=b' };
  await server.data('POST /api/files:upload', { as: 'shop', headers: type, body: form.join('\r\n') });
}

const readings = [
  'collections:list?sort=name',
  'fields:list?collectionName=samples',
  'samples:list?sort=id',
  'samples:list?onlyDeleted=true',
  'samples:history?filterByTk=1',
  'albums:list?appends=artist,tags,parent&sort=id',
  'albums:list?filter={"title":{"$includes":"needle"}}',
  'artists:list?appends=albums&sort=id',
  'tags:list?sort=id',
  'emails:list?sort=id',
  'files:list?sort=id&fields=id,name,size,sha256',
  'roles:list?sort=name',
  'permissions:list?sort=id',
  'users:list?sort=id&appends=roles',
  'webhooks:list?fields=id,url,events',
  'apiKeys:list?sort=id&fields=id,name,role,createdAt',
] as const;

/** The replies of the application. @param as the token of its administrator. */
export async function readApplication(server: TestServer): Promise<Record<string, Json>> {
  const replies: Record<string, Json> = {};
  for (const path of readings) replies[path] = await server.data(`GET /api/${path}`, shop);
  const [email] = await server.data('GET /api/emails:list', shop);
  replies['raw'] = (await server.call(`GET /api/emails:raw?filterByTk=${email.id}`, shop)).text;
  replies['file'] = await (await fetchBytes(server, '/api/files/1', shop)).text();
  return replies;
}

/** Signs in to the application as the administrator of `main`. */
export async function enterApplication(server: TestServer): Promise<void> {
  const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
  server.tokens.set('shop', token);
}
