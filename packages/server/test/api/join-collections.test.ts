import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const create = 'POST /api/collections:create';
const said = expect.any(String);

/** Many-to-many relations, from their definition to their removal. */
const scenarios: readonly Scenario[] = [
  {
    name: 'the target collection is created',
    request: create,
    body: { name: 'tags', fields: [{ name: 'label', type: 'string', unique: true }], options: { timestamps: false } },
    expect: { status: 200, events: ['collections.created'] },
  },
  {
    name: 'a many-to-many relation creates its join with a unique pair',
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
    name: 'the inverse relation uses the same join',
    request: 'POST /api/fields:create',
    body: { collectionName: 'tags', name: 'notes', type: 'belongsToMany', target: 'notes' },
    expect: {
      status: 200,
      body: { data: { through: 'notesTags', foreignKey: 'tagsId', otherKey: 'notesId' } },
      events: ['fields.created'],
    },
  },
  {
    name: 'records of both sides are created',
    request: 'POST /api/notes:create',
    body: [{ text: 'a' }, { text: 'b' }],
    expect: { status: 200, events: ['notes.created', 'notes.created'] },
  },
  {
    name: 'tags are created, one of them with a summary',
    request: 'POST /api/tags:create',
    body: [{ label: 'x' }, { label: 'y', summaryOfId: 1 }],
    expect: { status: 200, events: ['tags.created', 'tags.created'] },
  },
  {
    name: 'a second record of a hasOne is refused with 409',
    request: 'POST /api/tags:create',
    body: { label: 'z', summaryOfId: 1 },
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'join records are created',
    request: 'POST /api/notesTags:create',
    body: [
      { notesId: 1, tagsId: 1 },
      { notesId: 1, tagsId: 2 },
      { notesId: 2, tagsId: 2 },
    ],
    expect: { status: 200, events: ['notesTags.created', 'notesTags.created', 'notesTags.created'] },
  },
  {
    name: 'a duplicate pair is refused with 409',
    request: 'POST /api/notesTags:create',
    body: { notesId: 1, tagsId: 1 },
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'a pair with one key missing is refused with 422',
    request: 'POST /api/notesTags:create',
    body: { notesId: 1 },
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { tagsId: 'This field is required.' } } },
  },
  {
    name: 'the relation is appended from one side',
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
    name: 'the relation is appended from the other side, two levels deep',
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
    name: 'records are filtered through the join',
    request: 'GET /api/notes:list?filter={"tags.label":"x"}',
    expect: { status: 200, body: { data: [{ id: 1 }], meta: { count: 1 } } },
  },
  {
    name: 'a hasOne is sorted and filtered like a to-one relation',
    request: 'GET /api/notes:list?sort=summary.label&filter={"summary":{"$exists":true}}',
    expect: { status: 200, body: { data: [{ id: 1 }], meta: { count: 1 } } },
  },
  {
    name: 'a removed link disappears from both sides',
    request: 'POST /api/notesTags:destroy?filter={"notesId":1,"tagsId":1}',
    expect: { status: 200, body: { data: 1 }, events: ['notesTags.destroyed'] },
  },
  {
    name: 'counts through the join are current',
    request: 'GET /api/notes:list?filter={"tags.label":"x"}',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: 'destroying a record also deletes its links',
    request: 'POST /api/notes:destroy?filterByTk=2',
    expect: { status: 200, events: ['notes.destroyed', 'notesTags.destroyed'] },
  },
  {
    name: 'links of other records stay',
    request: 'GET /api/notesTags:list',
    expect: { status: 200, body: { data: [{ notesId: 1, tagsId: 2 }] } },
  },
  {
    name: 'a many-to-many relation to the own collection needs two keys',
    request: 'POST /api/fields:create',
    body: { collectionName: 'notes', name: 'related', type: 'belongsToMany', target: 'notes' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { otherKey: said } } },
  },
  {
    name: 'a many-to-many relation to the own collection accepts two keys',
    request: 'POST /api/fields:create',
    body: { collectionName: 'notes', name: 'related', type: 'belongsToMany', target: 'notes', otherKey: 'relatedId' },
    expect: {
      status: 200,
      body: { data: { through: 'notesNotes' } },
      events: ['collections.created', 'fields.created'],
    },
  },
  {
    name: 'a join that refers to other collections is refused with 422',
    request: 'POST /api/fields:create',
    body: {
      collectionName: 'notes',
      name: 'wrong',
      type: 'belongsToMany',
      target: 'tags',
      through: 'notesNotes',
      otherKey: 'relatedId',
    },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { through: said } } },
  },
  {
    name: 'a join that is in use cannot be destroyed and is refused with 409',
    request: 'POST /api/collections:destroy?filterByTk=notesTags',
    expect: { status: 409, code: 'DEPENDANTS_EXIST', body: { message: expect.stringContaining('tags.notes') } },
  },
  {
    name: 'a relation of the other side prevents the destroy, the own join does not',
    request: 'POST /api/collections:destroy?filterByTk=notes',
    expect: {
      status: 409,
      code: 'DEPENDANTS_EXIST',
      body: { message: expect.not.stringContaining('notesTags') },
    },
  },
  {
    name: 'destroy with cascade also removes joins and relations',
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
    name: 'the other collection works without the relations',
    request: 'GET /api/tags:list?appends=notes',
    expect: { status: 400, code: 'FIELD_UNKNOWN' },
  },
  {
    name: 'the other collection keeps its records',
    request: 'GET /api/tags:list',
    expect: { status: 200, body: { meta: { count: 2 } } },
  },
  {
    name: 'the joins no longer exist',
    request: 'GET /api/notesNotes:list',
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
];

describeEngines('join collections', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));

  test('the remaining definitions survive a restart', async () => {
    const before = await server.readSnapshot();
    await server.running.stop();
    await server.boot();
    expect(await server.readSnapshot()).toBe(before);
  });
});
