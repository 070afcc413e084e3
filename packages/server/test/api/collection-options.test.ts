import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, nodesOf } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const update = 'POST /api/collections:update?filterByTk=notes';
const updated = ['collections.updated'];
const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const conflict = (...parts: string[]): Scenario['expect'] => ({
  status: 409,
  body: { code: 'DEPENDANTS_EXIST', message: expect.stringMatching(new RegExp(parts.join('.*'))) },
});
const loss = (...parts: string[]): Scenario['expect'] => ({
  status: 409,
  body: { code: 'DATA_WOULD_BE_LOST', message: expect.stringMatching(new RegExp(parts.join('.*'))) },
});
const all = { timestamps: true, paranoid: true, logging: true, authors: true };

/** `notes` has two records and no option; `marks` fall with them, `links` let go of them. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a name that a field of the collection has is taken',
    request: 'POST /api/collections:update?filterByTk=marks',
    body: { paranoid: true },
    expect: { status: 409, body: { code: 'FIELD_EXISTS' } },
  },
  {
    name: 'dryRun says what would be',
    request: `${update}&dryRun=true`,
    body: all,
    expect: {
      status: 200,
      body: { data: { dryRun: true, changes: [{ name: 'collections.updated', tk: 'notes' }], records: { notes: 2 } } },
    },
  },
  {
    name: 'a role without the grant is 403',
    request: update,
    as: 'viewer',
    body: all,
    expect: { status: 403 },
  },
  {
    name: 'every option is switched on, with an index over what it brings',
    request: update,
    body: { ...all, options: { indexes: [{ fields: ['createdAt', 'title'] }] } },
    expect: {
      status: 200,
      body: {
        data: {
          options: { ...all, indexes: [{ fields: ['createdAt', 'title'] }] },
          fields: [
            { name: 'id' },
            { name: 'title' },
            { name: 'createdAt', readOnly: true },
            { name: 'updatedAt' },
            { name: 'createdById' },
            { name: 'createdBy' },
            { name: 'updatedById' },
            { name: 'updatedBy' },
            { name: 'deletedAt' },
          ],
        },
      },
      events: updated,
    },
  },
  {
    name: 'records that were there have the time of the switch, no author, and are not in the trash',
    request: 'GET /api/notes:list?sort=createdAt&appends=createdBy',
    expect: {
      status: 200,
      body: {
        data: ['a', 'b'].map((title) => ({
          title,
          createdAt: moment,
          updatedAt: moment,
          createdById: null,
          createdBy: null,
          deletedAt: null,
        })),
        meta: { count: 2 },
      },
    },
  },
  {
    name: 'records from then on have all of it',
    request: 'POST /api/notes:create',
    body: [{ title: 'c' }, { title: 'd' }],
    expect: {
      status: 200,
      body: { data: [{ createdAt: moment, createdById: 1 }, { updatedById: 1 }] },
      events: ['notes.created', 'notes.created'],
    },
  },
  {
    name: 'history begins with the switch',
    request: 'GET /api/notes:history?filterByTk=3',
    expect: { status: 200, body: { data: [{ action: 'created' }] } },
  },
  {
    name: 'a destroyed record goes to the trash, and what falls with it',
    request: 'POST /api/notes:destroy?filterByTk=2',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST', message: expect.stringContaining('marks') } },
  },
  {
    name: 'a link to another one',
    request: 'POST /api/links:create',
    body: { noteId: 4 },
    expect: { status: 200, events: ['links.created'] },
  },
  {
    name: 'which goes to the trash and keeps its link',
    request: 'POST /api/notes:destroy?filterByTk=4',
    expect: { status: 200, events: ['notes.destroyed'] },
  },
  {
    name: 'its unique value is free',
    request: 'POST /api/notes:create',
    body: { title: 'd' },
    expect: { status: 200, events: ['notes.created'] },
  },
  {
    name: 'one that is not in the trash keeps its own',
    request: 'POST /api/notes:create',
    body: { title: 'a' },
    expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
  },
  {
    name: 'timestamps off would lose times',
    request: update,
    body: { timestamps: false },
    expect: loss('"options.timestamps": 5 records', 'force=true'),
  },
  {
    name: 'all off names every loss',
    request: update,
    body: { timestamps: false, paranoid: false, logging: false, authors: false },
    expect: loss('5 records with', '1 deleted record in the trash', '4 history entries', '3 records with authors'),
  },
  {
    name: 'so does dryRun, with a detail for each',
    request: `${update}&dryRun=true`,
    body: { paranoid: false },
    expect: {
      status: 409,
      body: { details: { 'options.paranoid': expect.stringContaining('1 deleted record in the trash') } },
    },
  },
  {
    name: 'and apply, which takes no force',
    request: 'POST /api/collections:apply',
    body: [{ name: 'notes', logging: false }],
    expect: loss('4 history entries'),
  },
  {
    name: 'force is true or false',
    request: `${update}&force=maybe`,
    body: { paranoid: false },
    expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
  },
  {
    name: 'a permission on a field',
    request: 'POST /api/permissions:create',
    body: { role: 'viewer', resource: 'notes', actions: ['list'], fields: ['title', 'createdAt'] },
    expect: { status: 200, events: ['permissions.created'] },
  },
  {
    name: 'a filter along a relation',
    request: 'POST /api/permissions:create',
    body: { role: 'viewer', resource: 'links', actions: ['list'], filter: { note: { createdBy: { id: 1 } } } },
    expect: { status: 200, events: ['permissions.created'] },
  },
  {
    name: 'a webhook with a filter',
    request: 'POST /api/webhooks:create',
    body: {
      url: 'https://example.com/hook',
      role: 'editor',
      events: ['links.created'],
      filter: { 'note.updatedAt': { $gt: '2026-01-01' } },
      secret: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz',
      enabled: false,
    },
    expect: { status: 200, events: ['webhooks.created'] },
  },
  {
    name: 'the permission and the webhook are in the way, whatever force says',
    request: `${update}&force=true`,
    body: { timestamps: false },
    expect: conflict('permission \\d+ \\(viewer, notes\\), webhook 1\\. Change them first'),
  },
  {
    name: 'and the filter',
    request: `${update}&force=true`,
    body: { authors: false },
    expect: conflict('permission \\d+ \\(viewer, links\\)\\. Change'),
  },
  {
    name: 'without them',
    request: 'POST /api/permissions:destroy?filter={"resource":{"$in":["notes","links"]}}',
    expect: { status: 200, events: ['permissions.destroyed', 'permissions.destroyed'] },
  },
  {
    name: 'and the webhook',
    request: 'POST /api/webhooks:destroy?filterByTk=1',
    expect: { status: 200, events: ['webhooks.destroyed'] },
  },
  {
    name: 'a relation of users over the author',
    request: 'POST /api/fields:create',
    body: { collectionName: 'users', name: 'written', type: 'hasMany', target: 'notes', foreignKey: 'createdById' },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'is in the way',
    request: `${update}&force=true`,
    body: { authors: false },
    expect: conflict('"createdById" of "notes" is used by users.written'),
  },
  {
    name: 'without it',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'users', name: 'written' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'the trash and the authors go one after the other',
    request: `${update}&force=true`,
    body: { paranoid: false, authors: false },
    expect: { status: 422, body: { details: { 'options.authors': expect.stringContaining('paranoid') } } },
  },
  {
    name: 'dryRun of emptying the trash',
    request: `${update}&force=true&dryRun=true`,
    body: { paranoid: false },
    expect: {
      status: 200,
      body: {
        data: {
          changes: [
            { name: 'notes.destroyed', tk: '4' },
            { name: 'collections.updated', tk: 'notes' },
          ],
        },
      },
    },
  },
  {
    name: 'forced, the trash is emptied as by a forced destroy: with events, and links let go',
    request: `${update}&force=true`,
    body: { paranoid: false },
    expect: { status: 200, events: ['notes.destroyed', 'links.updated', 'collections.updated'] },
  },
  {
    name: 'the link is let go',
    request: 'GET /api/links:list',
    expect: { status: 200, body: { data: [{ noteId: null }] } },
  },
  {
    name: 'and there is no trash any more',
    request: 'GET /api/notes:list?onlyDeleted=true',
    expect: { status: 400 },
  },
  {
    name: 'unique values are unique',
    request: 'POST /api/notes:create',
    body: { title: 'd' },
    expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
  },
  {
    name: 'the others go forced, with the index over what they kept',
    request: `${update}&force=true`,
    body: { timestamps: false, logging: false, authors: false },
    expect: {
      status: 200,
      body: {
        data: {
          options: { timestamps: false, paranoid: false, logging: false, authors: false, indexes: [] },
          fields: [{ name: 'id' }, { name: 'title' }],
        },
      },
      events: updated,
    },
  },
  {
    name: 'records stay',
    request: 'GET /api/notes:list?sort=id',
    expect: {
      status: 200,
      body: { data: [{ title: 'a' }, { title: 'b' }, { title: 'c' }, { title: 'd' }] },
      absent: ['createdAt', 'createdBy'],
    },
  },
  {
    name: 'an index over what is gone is 422',
    request: update,
    body: { options: { indexes: [{ fields: ['createdAt'] }] } },
    expect: { status: 422, body: { details: { 'options.indexes': expect.any(String) } } },
  },
  {
    name: 'apply switches too, before its fields and indexes',
    request: 'POST /api/collections:apply',
    body: [
      {
        name: 'notes',
        authors: true,
        paranoid: true,
        logging: true,
        fields: [{ name: 'place', type: 'sort', scopeKey: 'createdById' }],
        options: { indexes: [{ fields: ['deletedAt'] }] },
      },
    ],
    expect: {
      status: 200,
      body: { data: [{ options: { authors: true, paranoid: true, logging: true, timestamps: false } }] },
      events: ['collections.updated', 'fields.created', 'collections.updated'],
    },
  },
  {
    name: 'the second time it changes nothing',
    request: 'POST /api/collections:apply',
    body: [{ name: 'notes', options: { authors: true, paranoid: true, logging: true } }],
    expect: { status: 200, body: { meta: { changes: [] } } },
  },
  {
    name: 'the old history does not come back',
    request: 'GET /api/notes:history?filterByTk=3',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'a place told apart by the author needs it',
    request: `${update}&force=true`,
    body: { authors: false },
    expect: conflict('"createdById" of "notes" is used by notes.place'),
  },
  {
    name: 'into the trash',
    request: 'POST /api/notes:destroy?filterByTk=1',
    expect: { status: 200, events: ['notes.destroyed'] },
  },
  {
    name: 'a relation that holds it there',
    request: 'POST /api/fields:create',
    body: { collectionName: 'locks', name: 'note', type: 'belongsTo', target: 'notes', onDelete: 'restrict' },
    expect: { status: 200, events: ['fields.updated', 'fields.created'] },
  },
  {
    name: 'what holds a record in the trash refuses to empty it, and all stays',
    request: `${update}&force=true`,
    body: { paranoid: false, logging: false },
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST' } },
  },
  {
    name: 'what is empty is switched off without force',
    request: 'POST /api/collections:apply',
    body: [{ name: 'bare', options: { timestamps: false, authors: false, paranoid: false, logging: false } }],
    expect: { status: 200, body: { data: [{ fields: [{ name: 'id' }] }] }, events: updated },
  },
  {
    name: 'and on again, with an own field of a name that was freed',
    request: 'POST /api/collections:apply',
    body: [{ name: 'bare', options: { paranoid: true }, fields: [{ name: 'createdAt', type: 'string' }] }],
    expect: { status: 200, events: ['collections.updated', 'fields.created'] },
  },
];

describeEngines('options of collections', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const make = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    const plain = { options: { timestamps: false } };
    const note = { name: 'note', type: 'belongsTo', target: 'notes' };
    await make('collections:apply', [
      { name: 'notes', ...plain, fields: [{ name: 'title', type: 'string', unique: true }] },
      {
        name: 'marks',
        ...plain,
        fields: [
          { ...note, onDelete: 'cascade' },
          { name: 'deletedAt', type: 'string' },
        ],
      },
      { name: 'links', ...plain, fields: [note] },
      { name: 'locks', ...plain, fields: [{ name: 'noteId', type: 'integer' }] },
      { name: 'bare', options: all },
    ]);
    await make('notes:create', [{ title: 'a' }, { title: 'b' }]);
    await make('marks:create', { noteId: 2 });
    await make('locks:create', { noteId: 1 });
    for (const role of ['viewer', 'editor']) await server.key(role);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test('emptying the trash destroys no record outside of it', async () => {
    const make = (action: string, body?: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    const paranoid = { timestamps: false, paranoid: true };
    const ta = { name: 'ta', type: 'belongsTo', target: 'ta', onDelete: 'cascade', required: true };
    await make('collections:apply', [
      { name: 'ta', options: paranoid },
      { name: 'tb', options: paranoid, fields: [ta] },
      { name: 'tc', options: paranoid, fields: [{ ...ta, name: 'tb', target: 'tb' }] },
    ]);
    await make('ta:create', [{ id: 1 }, { id: 2 }]);
    await make(
      'tb:create',
      [1, 2].map((id) => ({ id, taId: id })),
    );
    await make('tc:create', [{ id: 1, tbId: 1 }]);
    for (const name of ['tb', 'ta']) await make(`${name}:destroy?filterByTk=2`);
    await make('tb:restore?filterByTk=2');
    await make('ta:destroy?filterByTk=1');
    await make('tc:restore?filterByTk=1');
    for (const force of [true, false])
      await server.play({
        name: 'refused, with and without force',
        request: `POST /api/collections:update?filterByTk=ta&force=${force}`,
        body: { paranoid: false },
        expect: {
          status: 409,
          body: {
            code: 'DEPENDANTS_EXIST',
            message: expect.stringContaining('tb: 1 record (id 2); tc: 1 record (id 1)'),
            details: { tb: '1 record (id 2)', tc: '1 record (id 1)' },
          },
        },
      });
    await make('tb:destroy?filterByTk=2');
    await make('tc:destroy?filterByTk=1');
    await make('collections:update?filterByTk=ta&force=true', { paranoid: false });
    expect(await server.data('GET /api/tb:list?withDeleted=true')).toEqual([]);
  });

  test('definitions and data are the same after a restart', async () => {
    const before = await server.picture();
    await server.running.stop();
    await server.boot();
    expect(await server.picture()).toBe(before);
  });
});

describeEngines('options of collections on two nodes', (engine) => {
  if (engine.name === 'sqlite') {
    test('one process serves a SQLite file', () => expect(engine.name).toBe('sqlite'));
    return;
  }
  test('the other node follows at once, also with a write', async () => {
    const store = await engine.store();
    const shared = nodesOf(engine, store);
    const [first, second] = [await TestServer.start(shared), await TestServer.start(shared)];
    await first.data('POST /api/collections:create', { body: { name: 'notes', options: { timestamps: false } } });
    await second.data('POST /api/notes:create', { body: {} });
    await first.data(update, { body: all });
    expect(await second.data('POST /api/notes:create', { body: {} })).toMatchObject({
      createdAt: moment,
      createdById: 1,
    });
    await second.data('POST /api/notes:destroy?filterByTk=2', { body: {} });
    expect(await first.data('GET /api/notes:history?filterByTk=2')).toHaveLength(2);
    await second.data(`${update}&force=true`, { body: { ...all, paranoid: false } });
    expect(await first.data('GET /api/notes:list?fields=id')).toEqual([{ id: 1 }]);
    expect(await first.data('POST /api/notes:destroy?filterByTk=1', { body: {} })).toBe(1);
    for (const node of [first, second]) await node.running.stop();
    await store.remove();
  });
});
