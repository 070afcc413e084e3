import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const update = 'POST /api/collections:update?filterByTk=notes';
const updated = ['collections.updated'];
const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const conflict = (...parts: string[]): Scenario['expect'] => ({
  status: 409,
  code: 'DEPENDANTS_EXIST',
  body: { message: expect.stringMatching(new RegExp(parts.join('.*'))) },
});
const loss = (...parts: string[]): Scenario['expect'] => ({
  status: 409,
  code: 'DATA_WOULD_BE_LOST',
  body: { message: expect.stringMatching(new RegExp(parts.join('.*'))) },
});
const all = { timestamps: true, paranoid: true, logging: true, authors: true };

/** `notes` has two records and no option. A deleted note deletes its `marks` and is set to null in `links`. */
const scenarios: readonly Scenario[] = [
  {
    name: 'an option whose field name is already used is refused',
    request: 'POST /api/collections:update?filterByTk=marks',
    body: { paranoid: true },
    expect: { status: 409, code: 'FIELD_EXISTS' },
  },
  {
    name: 'dryRun of switching on all options reports the changes',
    request: `${update}&dryRun=true`,
    body: all,
    expect: {
      status: 200,
      body: { data: { dryRun: true, changes: [{ name: 'collections.updated', tk: 'notes' }], records: { notes: 2 } } },
    },
  },
  {
    name: 'a role without the grant is refused with 403',
    request: update,
    as: 'viewer',
    body: all,
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'every option is switched on, with an index over the added fields',
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
    name: 'existing records get the time of the change, no author, and are not in the trash',
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
    name: 'new records get all added values',
    request: 'POST /api/notes:create',
    body: [{ title: 'c' }, { title: 'd' }],
    expect: {
      status: 200,
      body: { data: [{ createdAt: moment, createdById: 1 }, { updatedById: 1 }] },
      events: ['notes.created', 'notes.created'],
    },
  },
  {
    name: 'the history begins with the change',
    request: 'GET /api/notes:history?filterByTk=3',
    expect: { status: 200, body: { data: [{ action: 'created' }] } },
  },
  {
    name: 'a destroy whose cascade meets a collection without a trash is refused',
    request: 'POST /api/notes:destroy?filterByTk=2',
    expect: { status: 409, code: 'DEPENDANTS_EXIST', body: { message: expect.stringContaining('marks') } },
  },
  {
    name: 'a link to a note is created',
    request: 'POST /api/links:create',
    body: { noteId: 4 },
    expect: { status: 200, events: ['links.created'] },
  },
  {
    name: 'a linked note goes to the trash and keeps its link',
    request: 'POST /api/notes:destroy?filterByTk=4',
    expect: { status: 200, events: ['notes.destroyed'] },
  },
  {
    name: 'the unique value of a note in the trash can be used again',
    request: 'POST /api/notes:create',
    body: { title: 'd' },
    expect: { status: 200, events: ['notes.created'] },
  },
  {
    name: 'the unique value of a note that is not in the trash cannot be used again',
    request: 'POST /api/notes:create',
    body: { title: 'a' },
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'switching timestamps off reports the times that would be lost',
    request: update,
    body: { timestamps: false },
    expect: loss('"options.timestamps": 5 records', 'force=true'),
  },
  {
    name: 'switching all options off reports every loss',
    request: update,
    body: { timestamps: false, paranoid: false, logging: false, authors: false },
    expect: loss('5 records with', '1 deleted record in the trash', '4 history entries', '3 records with authors'),
  },
  {
    name: 'dryRun reports the loss with a detail for each option',
    request: `${update}&dryRun=true`,
    body: { paranoid: false },
    expect: {
      status: 409,
      code: 'DATA_WOULD_BE_LOST',
      body: { details: { 'options.paranoid': expect.stringContaining('1 deleted record in the trash') } },
    },
  },
  {
    name: 'apply reports the loss and has no "force"',
    request: 'POST /api/collections:apply',
    body: [{ name: 'notes', logging: false }],
    expect: loss('4 history entries'),
  },
  {
    name: 'a "force" other than true or false is refused',
    request: `${update}&force=maybe`,
    body: { paranoid: false },
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a permission that names an added field is created',
    request: 'POST /api/permissions:create',
    body: { role: 'viewer', resource: 'notes', actions: ['list'], fields: ['title', 'createdAt'] },
    expect: { status: 200, events: ['permissions.created'] },
  },
  {
    name: 'a row filter along a relation to an added field is created',
    request: 'POST /api/permissions:create',
    body: { role: 'viewer', resource: 'links', actions: ['list'], filter: { note: { createdBy: { id: 1 } } } },
    expect: { status: 200, events: ['permissions.created'] },
  },
  {
    name: 'a webhook whose filter names an added field is created',
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
    name: 'a permission and a webhook that use the fields prevent the change, also with "force"',
    request: `${update}&force=true`,
    body: { timestamps: false },
    expect: conflict('permission \\d+ \\(viewer, notes\\), webhook 1\\. Change them first'),
  },
  {
    name: 'a row filter that uses the fields prevents the change',
    request: `${update}&force=true`,
    body: { authors: false },
    expect: conflict('permission \\d+ \\(viewer, links\\)\\. Change'),
  },
  {
    name: 'the permissions are destroyed',
    request: 'POST /api/permissions:destroy?filter={"resource":{"$in":["notes","links"]}}',
    expect: { status: 200, events: ['permissions.destroyed', 'permissions.destroyed'] },
  },
  {
    name: 'the webhook is destroyed',
    request: 'POST /api/webhooks:destroy?filterByTk=1',
    expect: { status: 200, events: ['webhooks.destroyed'] },
  },
  {
    name: 'a relation that uses the author field is created',
    request: 'POST /api/fields:create',
    body: { collectionName: 'users', name: 'written', type: 'hasMany', target: 'notes', foreignKey: 'createdById' },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'a relation that uses the author field prevents the change',
    request: `${update}&force=true`,
    body: { authors: false },
    expect: conflict('"createdById" of "notes" is used by users.written'),
  },
  {
    name: 'the relation is destroyed',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'users', name: 'written' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'the trash and the authors cannot be switched off in one request',
    request: `${update}&force=true`,
    body: { paranoid: false, authors: false },
    expect: {
      status: 422,
      code: 'DEFINITION_INVALID',
      body: { details: { 'options.authors': expect.stringContaining('paranoid') } },
    },
  },
  {
    name: 'dryRun of switching the trash off reports the records that would be destroyed',
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
    name: 'switching the trash off with "force" empties it with events, and sets links to null',
    request: `${update}&force=true`,
    body: { paranoid: false },
    expect: { status: 200, events: ['notes.destroyed', 'links.updated', 'collections.updated'] },
  },
  {
    name: 'the link is null',
    request: 'GET /api/links:list',
    expect: { status: 200, body: { data: [{ noteId: null }] } },
  },
  {
    name: 'onlyDeleted is refused after the trash is switched off',
    request: 'GET /api/notes:list?onlyDeleted=true',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'unique values apply to all records',
    request: 'POST /api/notes:create',
    body: { title: 'd' },
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'the other options are switched off with "force", together with the index over their fields',
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
    name: 'the records are unchanged',
    request: 'GET /api/notes:list?sort=id',
    expect: {
      status: 200,
      body: { data: [{ title: 'a' }, { title: 'b' }, { title: 'c' }, { title: 'd' }] },
      absent: ['createdAt', 'createdBy'],
    },
  },
  {
    name: 'an index over a removed field is refused with 422',
    request: update,
    body: { options: { indexes: [{ fields: ['createdAt'] }] } },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { 'options.indexes': expect.any(String) } } },
  },
  {
    name: 'apply switches options on before it adds fields and indexes',
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
    name: 'the same apply changes nothing the second time',
    request: 'POST /api/collections:apply',
    body: [{ name: 'notes', options: { authors: true, paranoid: true, logging: true } }],
    expect: { status: 200, body: { meta: { changes: [] } } },
  },
  {
    name: 'the previous history is not restored',
    request: 'GET /api/notes:history?filterByTk=3',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'a sort field whose scope is the author field prevents the change',
    request: `${update}&force=true`,
    body: { authors: false },
    expect: conflict('"createdById" of "notes" is used by notes.place'),
  },
  {
    name: 'a record is moved to the trash',
    request: 'POST /api/notes:destroy?filterByTk=1',
    expect: { status: 200, events: ['notes.destroyed'] },
  },
  {
    name: 'a relation that restricts the deletion of that record is added',
    request: 'POST /api/fields:create',
    body: { collectionName: 'locks', name: 'note', type: 'belongsTo', target: 'notes', onDelete: 'restrict' },
    expect: { status: 200, events: ['fields.updated', 'fields.created'] },
  },
  {
    name: 'a record in the trash that is restricted prevents emptying the trash, and everything stays',
    request: `${update}&force=true`,
    body: { paranoid: false, logging: false },
    expect: { status: 409, code: 'DEPENDANTS_EXIST' },
  },
  {
    name: 'options without data are switched off without "force"',
    request: 'POST /api/collections:apply',
    body: [{ name: 'bare', options: { timestamps: false, authors: false, paranoid: false, logging: false } }],
    expect: { status: 200, body: { data: [{ fields: [{ name: 'id' }] }] }, events: updated },
  },
  {
    name: 'options are switched on again, with a user field of a name that was freed',
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
    for (const role of ['viewer', 'editor']) await server.createKey(role);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test('definitions and data are the same after a restart', async () => {
    const before = await server.readSnapshot();
    await server.running.stop();
    await server.boot();
    expect(await server.readSnapshot()).toBe(before);
  });
});
