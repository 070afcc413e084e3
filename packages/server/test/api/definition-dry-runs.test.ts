import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('dry runs of definition changes', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());

  test('dryRun reports the changes and stores nothing', async () => {
    const make = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    await make('collections:create', { name: 'tags', fields: [{ name: 'n', type: 'integer' }] });
    await make('collections:create', {
      name: 'notes',
      fields: [{ name: 'tags', type: 'belongsToMany', target: 'tags' }],
    });
    await make('tags:create', [{ n: 1 }, { n: 2 }]);
    const before = await server.readSnapshot();
    const since = await server.lastCursor();
    const dry = (action: string, body?: unknown): Promise<unknown> =>
      server.data(
        `POST /api/${action}${action.includes('?') ? '&' : '?'}dryRun=true`,
        body === undefined ? {} : { body },
      );
    expect(await dry('collections:destroy?filterByTk=tags&cascade=true')).toEqual({
      dryRun: true,
      changes: [
        { name: 'fields.destroyed', tk: 'notes.tags' },
        { name: 'collections.destroyed', tk: 'notesTags' },
        { name: 'collections.destroyed', tk: 'tags' },
      ],
      records: { tags: 2, notes: 0, notesTags: 0 },
    });
    const other = { name: 'more', fields: [{ name: 'tags', type: 'hasMany', target: 'tags' }] };
    expect(await dry('collections:create', other)).toEqual({
      dryRun: true,
      changes: [
        { name: 'collections.created', tk: 'more' },
        { name: 'fields.created', tk: 'tags.moreId' },
      ],
      records: { tags: 2 },
    });
    const field = { collectionName: 'tags', name: 'n' };
    expect(await dry('fields:update', { ...field, type: 'string', newName: 'text' })).toMatchObject({
      changes: [{ name: 'fields.updated', tk: 'tags.n' }],
      records: { tags: 2 },
    });
    expect(await dry('fields:destroy', field)).toMatchObject({ dryRun: true });
    expect(await dry('collections:update?filterByTk=tags', { title: 'Tags' })).toMatchObject({ dryRun: true });
    const refused: [string, object, number][] = [
      ['collections:destroy?filterByTk=tags&dryRun=true', {}, 409],
      ['fields:update?dryRun=true', { ...field, type: 'uid' }, 422],
      ['fields:create?dryRun=true', { ...field, type: 'string' }, 409],
      ['fields:create?dryRun=maybe', { ...field, type: 'string' }, 400],
    ];
    for (const [path, body, status] of refused)
      expect([path, (await server.call(`POST /api/${path}`, { body })).status]).toEqual([path, status]);
    expect(await server.readSnapshot()).toBe(before);
    expect(await server.lastCursor()).toBe(since);
    await make('tags:create', { n: 3 });
  });
});
