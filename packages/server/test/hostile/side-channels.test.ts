import { afterAll, beforeAll, expect, test } from 'vitest';
import { readActions, writeActions } from '../../src/protocol/actions.ts';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/**
 * Information that errors, documents, ETags and statuses could reveal. Other tests: 404 instead of 403, and ETags of
 * hidden data, in
 * `hostile/permission-bypass.test.ts` and `contract/hidden-data.test.ts`; the time of a sign-in in
 * `contract/sign-in-flood.test.ts`.
 */
describeEngines('side channels', (engine) => {
  let server: TestServer;
  const secret = 'nobody-may-read-this';

  beforeAll(async () => {
    server = await TestServer.start(engine);
    const make = (path: string, body: unknown) => server.data(`POST /api/${path}`, { body });
    await make('collections:create', {
      name: 'people',
      fields: [
        { name: 'code', type: 'string', primaryKey: true },
        { name: 'name', type: 'string' },
        { name: 'wage', type: 'string', description: 'The hidden wage' },
        { name: 'tax', type: 'string', unique: true },
      ],
    });
    await make('collections:create', {
      name: 'hiddenThings',
      title: 'Hidden things',
      fields: [{ name: 'abyss', type: 'string' }],
    });
    await make('people:create', [
      { code: secret, name: 'Ann', wage: secret, tax: secret },
      { code: 'open', name: 'Bob', wage: 'w', tax: 't' },
    ]);
    await make('roles:create', [{ name: 'definer', allowConfigure: true }, { name: 'reader' }, { name: 'writer' }]);
    await make('permissions:create', [
      { role: 'reader', resource: 'people', actions: 'view', fields: ['name'], filter: { name: 'Bob' } },
      { role: 'writer', resource: 'people', actions: ['view'], fields: ['name'], filter: { name: 'Bob' } },
      { role: 'writer', resource: 'people', actions: ['create', 'update'] },
    ]);
    for (const role of ['definer', 'reader', 'writer']) await server.createKey(role);
  });
  afterAll(() => server.stop());

  const changes: [string, object][] = [
    ['a type change that no value permits', { type: 'integer' }],
    ['a bound that every value violates', { maxLength: 1 }],
    ['a pattern that every value violates', { pattern: '^x$' }],
  ];
  test.each(changes)(
    'a caller who changes definitions but cannot read records learns nothing about records: %s',
    async (_name, change) => {
      const body = { collectionName: 'people', name: 'wage', ...change };
      await server.play({
        name: 'the refusal contains no values',
        request: 'POST /api/fields:update',
        as: 'definer',
        body,
        expect: { status: 422, code: 'DEFINITION_INVALID', absent: [secret, 'open'] },
      });
      await server.play({
        name: 'an administrator gets the same refusal',
        request: 'POST /api/fields:update',
        body,
        expect: { status: 422, code: 'DEFINITION_INVALID' },
      });
      const { text } = await server.call('POST /api/fields:update', { body });
      expect(text).toContain(`code ${secret}`);
    },
  );

  test('unique and required in definitions do not reveal records, even in dry runs', async () => {
    await server.data('POST /api/people:create', { body: { code: 'third', name: 'Bob', wage: null, tax: null } });
    for (const change of [{ unique: true }, { required: true }, { type: 'integer' }])
      for (const query of ['', '?dryRun=true'])
        for (const name of ['name', 'wage']) {
          const body = { collectionName: 'people', name, ...change };
          const { status, text } = await server.call(`POST /api/fields:update${query}`, { as: 'definer', body });
          if (status === 200) continue;
          expect([status, text.includes(secret), text.includes('third')]).toEqual([status, false, false]);
        }
  });

  test('a conflict names the field, and reveals nothing of the record that has the value', async () => {
    const body = { code: 'mine', name: 'Eve', tax: secret };
    const reply = await server.play({
      name: 'the conflict is refused',
      request: 'POST /api/people:create',
      as: 'writer',
      body,
      expect: { status: 409, code: 'UNIQUE_CONFLICT', absent: [secret, 'Ann'] },
    });
    expect(Object.keys(reply.body.details)).toEqual(['tax']);
  });

  test('the reply to a write shows the same fields as a get', async () => {
    const request = 'POST /api/people:update?filterByTk=open';
    const { text } = await server.call(request, { as: 'writer', body: { wage: 'written', name: 'Bob' } });
    expect(text).not.toContain('written');
  });

  test('the OpenAPI document of a role only names what the role can see', async () => {
    for (const as of ['reader', 'nobody']) {
      const { text } = await server.call('GET /api/docs:openapi', { as });
      for (const hidden of ['wage', 'hiddenThings', 'Hidden things', 'abyss', secret, 'hidden wage'])
        expect([as, hidden, text.includes(hidden)]).toEqual([as, hidden, false]);
    }
  });

  test('the ETag of another caller does not give a 304', async () => {
    const list = 'GET /api/people:list?sort=code';
    const mine = await server.call(list);
    const theirs = await server.call(list, { as: 'reader', headers: { 'if-none-match': mine.headers.get('etag')! } });
    expect([theirs.status, theirs.body.data.length]).toEqual([200, 2]);
    for (const tag of ['*', mine.headers.get('etag')!])
      expect((await server.call(list, { as: 'nobody', headers: { 'if-none-match': tag } })).status).toBe(401);
  });

  test('refusals are the same for existing and unknown names', async () => {
    const ask = async (request: string): Promise<string> => {
      const headers = { 'x-request-id': 'same' };
      const { text } = await server.call(request, { as: 'reader', headers });
      return text.replaceAll(/hiddenThings|nothingThere/g, '…');
    };
    const requests = [
      ...readActions.map((action) => `GET /api/NAME:${action}`),
      ...[...readActions, ...writeActions].map((action) => `POST /api/NAME:${action}?filterByTk=1`),
      ...['list', 'get', 'create', 'set', 'nope'].map((action) => `POST /api/NAME/1/abyss:${action}`),
      'GET /api/NAME:get/1',
      'GET /api/NAME:nope',
      'DELETE /api/NAME:list',
      'GET /api/NAME:list?filter={"abyss":1}',
    ];
    for (const request of requests) {
      const said = await ask(request.replace('NAME', 'hiddenThings'));
      expect([request, said]).toEqual([request, await ask(request.replace('NAME', 'nothingThere'))]);
    }
  });

  test('health and liveness checks reveal nothing internal', async () => {
    for (const path of ['/api/health', '/live', '/ready']) {
      const body = (await (await fetch(server.running.url + path)).json()) as { data: object };
      expect(Object.keys(body.data).sort()).toEqual(['status', 'uptime']);
    }
  });
});
