import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/**
 * Texts of users that are used in DDL, keys, defaults and headers. Other tests: values and names of requests in
 * `contract/hostile-input.test.ts`; what a browser does with them in `contract/docs-page.test.ts`.
 */
const texts = [
  `'; DROP TABLE users; --`,
  `" OR "1"="1`,
  `') UNION SELECT password FROM users --`,
  `$1::text || (SELECT 1)`,
  `?1 ? :a @b $c`,
  `\\'; SELECT pg_sleep(5); --`,
  `%' ESCAPE '%`,
  `_%_`,
  `=cmd|' /C calc'!A0`,
  `<script>alert(1)</script>`,
  `a\r\nSet-Cookie: x=1`,
  `,[]:/`,
  `../../etc/passwd`,
];
const enc = encodeURIComponent;

describeEngines('injection', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const make = (body: unknown) => server.data('POST /api/collections:create', { body });
    await make({
      name: 'places',
      fields: [
        { name: 'code', type: 'string', primaryKey: true },
        { name: 'text', type: 'string' },
      ],
    });
    await make({
      name: 'visits',
      fields: [
        { name: 'place', type: 'belongsTo', target: 'places' },
        { name: 'no', type: 'integer' },
      ],
    });
    const visits = { name: 'visits', type: 'hasMany', target: 'visits', foreignKey: 'placeId' };
    await server.data('POST /api/fields:create', { body: { collectionName: 'places', ...visits } });
    const near = {
      name: 'near',
      type: 'belongsToMany',
      target: 'places',
      through: 'neighbours',
      foreignKey: 'fromCode',
      otherKey: 'toCode',
    };
    await server.data('POST /api/fields:create', { body: { collectionName: 'places', ...near } });
    await server.data('POST /api/places:create', { body: { code: 'plain', text: 'x' } });
  });
  afterAll(() => server.stop());

  describe.each(texts)('%j', (text) => {
    test('as a key, identifies its own record on every path that reads the key back', async () => {
      await server.data('POST /api/places:create', { body: { code: text, text: 'own' } });
      const visit = await server.data('POST /api/visits:create', { body: { place: text, no: 1 } });
      await server.data(`POST /api/places/plain/near:add`, { body: [text] });
      const key = enc(text);
      const get = (path: string) => server.data(`GET /api/${path}`);
      expect((await get(`places:get?filterByTk=${enc(JSON.stringify([text]))}`).catch(() => null))?.text ?? 'own').toBe(
        'own',
      );
      expect((await get(`places:get/${key}`)).text).toBe('own');
      expect(await get(`places/${key}/visits:list`)).toEqual([expect.objectContaining({ id: visit.id })]);
      expect((await get(`visits:get?filterByTk=${visit.id}&appends=place`)).place.code).toBe(text);
      expect(await get(`places/plain/near:list?fields=code`)).toEqual([{ code: text }]);
      const filter = enc(JSON.stringify({ 'near.code': text }));
      expect(await get(`places:list?fields=code&filter=${filter}`)).toEqual([{ code: 'plain' }]);
      expect(await server.data(`POST /api/places/plain/near:remove`, { body: [text] })).toEqual([]);
      expect(await server.data(`POST /api/visits:destroy?filter=${enc(JSON.stringify({ 'place.code': text }))}`)).toBe(
        1,
      );
      expect(await server.data('POST /api/places:destroy', { body: undefined }).catch(() => 'refused')).toBe('refused');
      expect(await server.data(`POST /api/places:destroy/${key}`)).toBe(1);
      expect(await get('places:list?fields=code')).toEqual([{ code: 'plain' }]);
    });

    test('stays plain text as a title, description, default and choice', async () => {
      const fields = [
        { name: 'a', type: 'string', title: text, description: text, defaultValue: text },
        { name: 'b', type: 'select', enum: [text, 'other'], defaultValue: text },
        { name: 'c', type: 'json', defaultValue: { [text]: [text] } },
      ];
      const definition = { name: 'worded', title: text, description: text, fields };
      await server.data('POST /api/collections:create', { body: definition });
      const made = await server.data('POST /api/worded:create', { body: {} });
      expect(made).toMatchObject({ a: text, b: text, c: { [text]: [text] } });
      const field = { collectionName: 'worded', name: 'late', type: 'string', required: true, defaultValue: text };
      await server.data('POST /api/fields:create', { body: field });
      expect((await server.data('GET /api/worded:get?filterByTk=1')).late).toBe(text);
      const shown = await server.data('GET /api/collections:get?filterByTk=worded&appends=fields');
      expect(shown).toMatchObject({ title: text, description: text });
      const { status, headers } = await server.call('GET /api/docs:openapi');
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
      await server.data('POST /api/collections:destroy?filterByTk=worded');
    });

    test('is refused as a name in a definition or as a header', async () => {
      const field = (more: object): object => ({ collectionName: 'places', name: 'x', type: 'string', ...more });
      const bodies: [string, unknown][] = [
        ['fields:create', field({ name: text })],
        ['fields:create', field({ type: text })],
        ['fields:create', field({ maxLength: text })],
        ['fields:create', field({ type: 'decimal', precision: text, scale: text })],
        ['fields:create', field({ type: 'sort', scopeKey: text })],
        ['fields:create', field({ type: 'belongsTo', target: 'visits', foreignKey: text })],
        ['fields:create', field({ type: 'belongsTo', target: 'visits', onDelete: text })],
        ['fields:create', field({ type: 'belongsToMany', target: 'visits', through: text })],
        ['fields:update', { collectionName: 'places', name: 'text', newName: text }],
        ['collections:create', { name: 'y', options: { indexes: [{ fields: [text] }] } }],
        ['collections:create', { name: 'y', options: { indexes: [{ fields: ['id'], name: text }] } }],
        ['roles:create', { name: text }],
        ['applications:create', { name: text }],
        ['visits:query', { measures: [{ aggregation: 'count', alias: text }] }],
        ['visits:query', { measures: [{ aggregation: text }] }],
        ['visits:query', { measures: [{ aggregation: 'count' }], orders: [{ alias: 'count', order: text }] }],
        ['visits:query', { measures: [{ aggregation: 'count' }], dimensions: [{ field: 'createdAt', format: text }] }],
      ];
      const before = await server.readSnapshot();
      for (const [action, body] of bodies) {
        const reply = await server.call(`POST /api/${action}`, { body });
        expect([action, JSON.stringify(body), [400, 422].includes(reply.status)]).toEqual([
          action,
          JSON.stringify(body),
          true,
        ]);
        expect(reply.text).not.toMatch(/syntax error|SQLITE|near \\"|_fold|places_\d|SELECT "|pg_catalog/);
      }
      if (!text.includes('\r'))
        for (const name of ['x-timezone', 'if-match']) {
          const { status } = await server.call('POST /api/visits:update?filterByTk=1', {
            body: {},
            headers: { [name]: enc(text) },
          });
          expect([name, status]).toEqual([name, 400]);
        }
      expect(await server.readSnapshot()).toBe(before);
    });
  });
});
