import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const create = 'POST /api/collections:create';
const said = expect.any(String);

/** Relations many to many from their definition to their end. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a collection to relate to',
    request: create,
    body: { name: 'tags', fields: [{ name: 'label', type: 'string', unique: true }], options: { timestamps: false } },
    expect: { status: 200, events: ['collections.created'] },
  },
  {
    name: 'many to many makes its join, with a unique pair',
    request: create,
    body: {
      name: 'notes',
      fields: [
        { name: 'text', type: 'string' },
        { name: 'tags', type: 'belongsToMany', target: 'tags' },
        { name: 'summary', type: 'hasOne', target: 'tags', foreignKey: 'summaryOfId' },
      ],
      options: { timestamps: false },
    },
    expect: {
      status: 200,
      body: {
        data: {
          fields: [
            { name: 'id' },
            { name: 'text' },
            { name: 'tags', through: 'notesTags', foreignKey: 'notesId', otherKey: 'tagsId' },
            { name: 'summary', foreignKey: 'summaryOfId' },
          ],
        },
      },
      events: ['collections.created', 'collections.created', 'fields.created'],
    },
  },
  {
    name: 'the other side finds the join',
    request: 'POST /api/fields:create',
    body: { collectionName: 'tags', name: 'notes', type: 'belongsToMany', target: 'notes' },
    expect: {
      status: 200,
      body: { data: { through: 'notesTags', foreignKey: 'tagsId', otherKey: 'notesId' } },
      events: ['fields.created'],
    },
  },
  {
    name: 'records of both sides',
    request: 'POST /api/notes:create',
    body: [{ text: 'a' }, { text: 'b' }],
    expect: { status: 200, events: ['notes.created', 'notes.created'] },
  },
  {
    name: 'tags, one of them a summary',
    request: 'POST /api/tags:create',
    body: [{ label: 'x' }, { label: 'y', summaryOfId: 1 }],
    expect: { status: 200, events: ['tags.created', 'tags.created'] },
  },
  {
    name: 'a second record for a hasOne is 409',
    request: 'POST /api/tags:create',
    body: { label: 'z', summaryOfId: 1 },
    expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
  },
  {
    name: 'links',
    request: 'POST /api/notesTags:create',
    body: [
      { notesId: 1, tagsId: 1 },
      { notesId: 1, tagsId: 2 },
      { notesId: 2, tagsId: 2 },
    ],
    expect: { status: 200, events: ['notesTags.created', 'notesTags.created', 'notesTags.created'] },
  },
  {
    name: 'a pair twice is 409',
    request: 'POST /api/notesTags:create',
    body: { notesId: 1, tagsId: 1 },
    expect: { status: 409 },
  },
  {
    name: 'half a pair is 422',
    request: 'POST /api/notesTags:create',
    body: { notesId: 1 },
    expect: { status: 422, body: { details: { tagsId: 'This field is required.' } } },
  },
  {
    name: 'appended from one side',
    request: 'GET /api/notes:list?appends=tags,summary&sort=id',
    expect: {
      status: 200,
      body: {
        data: [
          { id: 1, tags: [{ label: 'x' }, { label: 'y' }], summary: { label: 'y' } },
          { id: 2, tags: [{ label: 'y' }], summary: null },
        ],
      },
    },
  },
  {
    name: 'and from the other, two levels deep',
    request: 'GET /api/tags:get?filterByTk=2&appends=notes.summary',
    expect: {
      status: 200,
      body: {
        data: {
          notes: [
            { id: 1, summary: { id: 2 } },
            { id: 2, summary: null },
          ],
        },
      },
    },
  },
  {
    name: 'filtered through the join',
    request: 'GET /api/notes:list?filter={"tags.label":"x"}',
    expect: { status: 200, body: { data: [{ id: 1 }], meta: { count: 1 } } },
  },
  {
    name: 'a hasOne sorts and filters as to-one',
    request: 'GET /api/notes:list?sort=summary.label&filter={"summary":{"$exists":true}}',
    expect: { status: 200, body: { data: [{ id: 1 }], meta: { count: 1 } } },
  },
  {
    name: 'an unlinked pair is gone from both',
    request: 'POST /api/notesTags:destroy?filter={"notesId":1,"tagsId":1}',
    expect: { status: 200, body: { data: 1 }, events: ['notesTags.destroyed'] },
  },
  {
    name: 'counts through the join follow',
    request: 'GET /api/notes:list?filter={"tags.label":"x"}',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: 'a record that goes takes its links along',
    request: 'POST /api/notes:destroy?filterByTk=2',
    expect: { status: 200, events: ['notes.destroyed', 'notesTags.destroyed'] },
  },
  {
    name: 'and only those',
    request: 'GET /api/notesTags:list',
    expect: { status: 200, body: { data: [{ notesId: 1, tagsId: 2 }] } },
  },
  {
    name: 'a many-to-many to itself needs two keys',
    request: 'POST /api/fields:create',
    body: { collectionName: 'notes', name: 'related', type: 'belongsToMany', target: 'notes' },
    expect: { status: 422, body: { details: { otherKey: said } } },
  },
  {
    name: 'and takes them',
    request: 'POST /api/fields:create',
    body: { collectionName: 'notes', name: 'related', type: 'belongsToMany', target: 'notes', otherKey: 'relatedId' },
    expect: {
      status: 200,
      body: { data: { through: 'notesNotes' } },
      events: ['collections.created', 'fields.created'],
    },
  },
  {
    name: 'a join that names others is 422',
    request: 'POST /api/fields:create',
    body: {
      collectionName: 'notes',
      name: 'wrong',
      type: 'belongsToMany',
      target: 'tags',
      through: 'notesNotes',
      otherKey: 'relatedId',
    },
    expect: { status: 422, body: { details: { through: said } } },
  },
  {
    name: 'a join in use is 409',
    request: 'POST /api/collections:destroy?filterByTk=notesTags',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST', message: expect.stringContaining('tags.notes') } },
  },
  {
    name: 'the relation of the other side blocks, the own join does not',
    request: 'POST /api/collections:destroy?filterByTk=notes',
    expect: {
      status: 409,
      body: { message: expect.not.stringContaining('notesTags') },
    },
  },
  {
    name: 'cascade takes joins and relations along',
    request: 'POST /api/collections:destroy?filterByTk=notes&cascade=true',
    expect: {
      status: 200,
      events: [
        'fields.destroyed',
        'fields.destroyed',
        'collections.destroyed',
        'collections.destroyed',
        'collections.destroyed',
      ],
    },
  },
  {
    name: 'the other side goes on without them',
    request: 'GET /api/tags:list?appends=notes',
    expect: { status: 400, body: { code: 'FIELD_UNKNOWN' } },
  },
  {
    name: 'with its records',
    request: 'GET /api/tags:list',
    expect: { status: 200, body: { meta: { count: 2 } } },
  },
  {
    name: 'and the joins are gone',
    request: 'GET /api/notesNotes:list',
    expect: { status: 404 },
  },
];

describeEngines('joins', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));

  test('what is left survives a restart', async () => {
    const before = await server.picture();
    await server.running.stop();
    await server.boot();
    expect(await server.picture()).toBe(before);
  });
});
