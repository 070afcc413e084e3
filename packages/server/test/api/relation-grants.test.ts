import { expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startLibraryServer } from '../support/library-server.ts';
import type { ExpectedOutcome } from '../support/scenario.ts';

describeEngines('relations', (engine) => {
  test('each action on a relation needs the grants of what it writes', async () => {
    const server = await startLibraryServer(engine);
    const may = async (role: string, resource: string, actions: string[], more: object = {}): Promise<void> =>
      server.data('POST /api/permissions:create', { body: { role, resource, actions, ...more } });
    await server.data('POST /api/roles:create', { body: [{ name: 'clerk' }, { name: 'linker' }] });
    await may('clerk', 'authors', ['get', 'list'], { filter: { id: { $ne: 2 } } });
    await may('clerk', 'books', ['get', 'list', 'update'], { filter: { id: { $ne: 4 } } });
    await may('clerk', 'tags', ['get', 'list'], { filter: { id: { $ne: 3 } } });
    await may('linker', 'books', ['get', 'list']);
    await may('linker', 'books', ['update'], { fields: ['title'] });
    await may('linker', 'tags', ['get', 'list']);
    await may('linker', 'authors', ['get', 'list']);
    await server.data('POST /api/roles:create', { body: { name: 'shelver' } });
    await may('shelver', 'authors', ['get', 'list']);
    await may('shelver', 'books', ['get', 'list'], { filter: { id: { $ne: 4 } } });
    await may('shelver', 'books', ['update'], { fields: ['title'] });
    await may('shelver', 'cards', ['get', 'list', 'update'], { exceptFields: ['ownerId'] });
    await server.createKey('shelver');
    await server.createKey('clerk');
    await server.createKey('linker');
    const fieldDenied = { status: 403, code: 'FIELD_DENIED' } as const;
    const rows: [string, string, unknown, ExpectedOutcome][] = [
      ['clerk', 'GET /api/authors/2/books:list', undefined, { status: 403, code: 'NO_PERMISSION' }],
      ['clerk', 'GET /api/authors/77/books:list', undefined, { status: 403, code: 'NO_PERMISSION' }],
      ['clerk', 'POST /api/authors/2/books:add', [3], { status: 403, code: 'NO_PERMISSION' }],
      ['clerk', 'POST /api/authors/1/books:add', [4], { status: 400, code: 'REFERENCE_MISSING' }],
      ['clerk', 'POST /api/authors/1/books:create', { title: 'x' }, { status: 403, code: 'NO_PERMISSION' }],
      ['clerk', 'POST /api/authors/1/books:destroy?filterByTk=1', undefined, { status: 403, code: 'NO_PERMISSION' }],
      ['clerk', 'GET /api/authors/1/card:get', undefined, { status: 403, code: 'NO_PERMISSION' }],
      ['clerk', 'POST /api/authors/1/card:set', [2], { status: 403, code: 'NO_PERMISSION' }],
      ['clerk', 'POST /api/books/4/tags:add', [1], { status: 403, code: 'NO_PERMISSION' }],
      ['clerk', 'POST /api/books/1/tags:add', [3], { status: 400, code: 'REFERENCE_MISSING' }],
      ['clerk', 'POST /api/books/1/author:set', [2], { status: 400, code: 'REFERENCE_MISSING' }],
      ['linker', 'POST /api/books/1/tags:add', [1], { status: 403, code: 'FIELD_DENIED' }],
      ['linker', 'POST /api/books/1/author:set', [2], { status: 403, code: 'FIELD_DENIED' }],
      ['linker', 'POST /api/authors/1/books:add', [3], { status: 403, code: 'FIELD_DENIED' }],
      ['linker', 'POST /api/authors/1/books:remove', [1], { status: 403, code: 'FIELD_DENIED' }],
      ['linker', 'GET /api/bookTags:list', undefined, { status: 403, code: 'NO_PERMISSION' }],
    ];
    // A missing permission is reported before records are read, be they visible, hidden, missing or malformed.
    for (const action of ['set', 'add', 'remove', 'toggle'])
      for (const named of [[1], [4], [77], ['x'], []])
        rows.push(['shelver', `POST /api/authors/1/books:${action}`, named, fieldDenied]);
    for (const action of ['set', 'add', 'remove'])
      for (const named of [[1], [77]]) rows.push(['shelver', `POST /api/authors/1/card:${action}`, named, fieldDenied]);
    for (const action of ['set', 'add', 'remove', 'toggle'])
      for (const named of [[1], [77]]) rows.push(['linker', `POST /api/books/1/tags:${action}`, named, fieldDenied]);
    for (const [as, request, body, outcome] of rows)
      await server.play({ name: request, request, as, ...(body !== undefined && { body }), expect: outcome });
    await server.play({
      name: 'a role links records that it may write and see',
      request: 'POST /api/books/1/tags:add',
      as: 'clerk',
      body: [1],
      expect: { status: 200, body: { data: [1] }, events: ['bookTags.created'] },
    });
    // Links to hidden records are kept, and the reply does not show them.
    await server.data('POST /api/books/1/tags:add', { body: [3] });
    expect(await server.data('POST /api/books/1/tags:set', { as: 'clerk', body: [2] })).toEqual([2]);
    expect(await server.data('GET /api/books/1/tags:list?fields=id')).toEqual([{ id: 2 }, { id: 3 }]);
    await server.stop();
  });
});
