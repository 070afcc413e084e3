import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const define = 'POST /api/collections:create';
const changeField = 'POST /api/fields:update';
const said = expect.any(String);
const made = ['collections.created'];
const invalid = (details: object): Scenario['expect'] => ({
  status: 422,
  code: 'DEFINITION_INVALID',
  body: { details },
});
const text = (length: number): string => '😀'.repeat(length);

const defaultsOf: readonly Scenario[] = [
  {
    name: 'a default of null means no default, also for required fields and fields that may not be null',
    request: define,
    body: {
      name: 'defaults',
      fields: [
        { name: 'a', type: 'string', required: true, defaultValue: null },
        { name: 'b', type: 'integer', allowNull: false, defaultValue: null },
        { name: 'c', type: 'uid', defaultValue: null },
        { name: 'd', type: 'date', autoNow: true, defaultValue: null },
        { name: 'e', type: 'json', required: true, defaultValue: null },
        { name: 'f', type: 'password', defaultValue: null },
      ],
    },
    expect: { status: 200, events: made },
  },
  {
    name: 'required fields with a default of null must be given',
    request: 'POST /api/defaults:create',
    body: {},
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { a: said, b: said, e: said } } },
  },
  {
    name: 'values that the server generates are generated despite a default of null',
    request: 'POST /api/defaults:create',
    body: { a: 'x', b: 1, e: [] },
    expect: {
      status: 200,
      body: { data: { c: expect.stringMatching(/^[0-9a-f-]{36}$/), d: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) } },
      events: ['defaults.created'],
    },
  },
  {
    name: 'fields:update accepts a default of null as collections:create does',
    request: changeField,
    body: { collectionName: 'defaults', name: 'a', required: true, defaultValue: null },
    expect: { status: 200, events: ['fields.updated'] },
  },
  {
    name: 'autoNow, autoNowAdd and dateOnly are accepted by every date and time type',
    request: define,
    body: {
      name: 'clocks',
      timestamps: false,
      fields: [
        ...['date', 'time', 'datetime'].flatMap((type) => [
          { name: `${type}Made`, type, dateOnly: false, autoNow: true, autoNowAdd: false },
          { name: `${type}Changed`, type, dateOnly: false, autoNow: false, autoNowAdd: true },
        ]),
        { name: 'day', type: 'date', dateOnly: true, autoNow: true },
        { name: 'whole', type: 'integer', precision: 5, scale: 0 },
        { name: 'big', type: 'bigInt', precision: 5, scale: 0 },
      ],
    },
    expect: { status: 200, body: { data: { options: { timestamps: false } } }, events: made },
  },
  {
    name: 'autoNow sets each field in its own form on create',
    request: 'POST /api/clocks:create',
    body: { whole: 1 },
    expect: {
      status: 200,
      body: {
        data: {
          dateMade: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
          timeMade: expect.stringMatching(/^\d\d:\d\d:\d\d(\.\d{3})?$/),
          datetimeMade: expect.stringMatching(/^\d{4}-.*Z$/),
          day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
          dateChanged: null,
          timeChanged: null,
          datetimeChanged: null,
        },
      },
      events: ['clocks.created'],
    },
  },
  {
    name: 'autoNowAdd sets each field in its own form on update',
    request: 'POST /api/clocks:update?filterByTk=1',
    body: { whole: 2 },
    expect: {
      status: 200,
      body: {
        data: {
          dateChanged: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
          timeChanged: expect.stringMatching(/^\d\d:\d\d:\d\d(\.\d{3})?$/),
          datetimeChanged: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      },
      events: ['clocks.updated'],
    },
  },
  {
    name: 'a time field refuses dateOnly, and an integer field refuses a scale',
    request: define,
    body: {
      name: 'x',
      fields: [
        { name: 'a', type: 'time', dateOnly: true },
        { name: 'b', type: 'integer', scale: 1 },
      ],
    },
    expect: invalid({ 'fields[0].dateOnly': said, 'fields[1].scale': said }),
  },
  {
    name: 'options are accepted at the top level and under "options"',
    request: define,
    body: { name: 'flat', timestamps: true, paranoid: true, options: { paranoid: true, logging: true } },
    expect: {
      status: 200,
      body: { data: { options: { timestamps: true, paranoid: true, logging: true, authors: false } } },
      events: made,
    },
  },
  {
    name: 'options that contradict each other are refused with 400',
    request: define,
    body: { name: 'x', paranoid: true, options: { paranoid: false } },
    expect: { status: 400, code: 'BODY_INVALID', body: { message: expect.stringContaining('"paranoid"') } },
  },
  {
    name: 'field options that contradict each other are refused with 400',
    request: define,
    body: { name: 'x', fields: [{ name: 'a', type: 'string', maxLength: 5, options: { maxLength: 6 } }] },
    expect: { status: 400, code: 'BODY_INVALID', body: { message: expect.stringContaining('"maxLength"') } },
  },
  {
    name: 'a top-level option of the wrong type is refused with 422',
    request: define,
    body: { name: 'x', paranoid: 'yes' },
    expect: invalid({ paranoid: 'Give true or false.' }),
  },
];

const typeChanges: readonly Scenario[] = [
  {
    name: 'a collection for type changes is created',
    request: define,
    body: {
      name: 'typed',
      fields: [
        { name: 'n', type: 'integer', min: 0, max: 9, precision: 1, scale: 0, defaultValue: 5 },
        { name: 's', type: 'string', maxLength: 300, pattern: '^[a-z0-9]*$', defaultValue: '7' },
        { name: 'd', type: 'datetime', dateOnly: true, autoNow: true, defaultValue: '2026-01-31' },
        { name: 'e', type: 'select', enum: ['1', '2'], defaultValue: '1', title: 'E' },
      ],
    },
    expect: { status: 200, events: made },
  },
  {
    name: 'bounds and default are kept when an integer becomes another number type',
    request: changeField,
    body: { collectionName: 'typed', name: 'n', type: 'decimal' },
    expect: {
      status: 200,
      body: { data: { type: 'decimal', min: 0, max: 9, precision: 1, scale: 0, defaultValue: '5' } },
      events: ['fields.updated'],
    },
  },
  {
    name: 'properties that the new type does not have are refused with 422 by name',
    request: changeField,
    body: { collectionName: 'typed', name: 'n', type: 'string' },
    expect: invalid({ min: said, max: said, precision: said, scale: said }),
  },
  {
    name: 'null removes a property, and the default is converted',
    request: changeField,
    body: { collectionName: 'typed', name: 'n', type: 'string', min: null, max: null, precision: null, scale: null },
    expect: { status: 200, body: { data: { type: 'string', defaultValue: '5' } }, events: ['fields.updated'] },
  },
  {
    name: 'pattern and length are kept when a string becomes a text',
    request: changeField,
    body: { collectionName: 'typed', name: 's', type: 'text' },
    expect: {
      status: 200,
      body: { data: { type: 'text', maxLength: 300, pattern: '^[a-z0-9]*$', defaultValue: '7' } },
      events: ['fields.updated'],
    },
  },
  {
    name: 'the kept pattern applies to the new type',
    request: 'POST /api/typed:create',
    body: { s: 'NO' },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: { details: { s: 'The text does not match the pattern of this field.' } },
    },
  },
  {
    name: 'a property that the new type does not have is refused with 422',
    request: changeField,
    body: { collectionName: 'typed', name: 's', type: 'color', pattern: null },
    expect: invalid({ maxLength: said }),
  },
  {
    name: 'a default that cannot be converted is refused with 422',
    request: changeField,
    body: { collectionName: 'typed', name: 's', type: 'uid', pattern: null, maxLength: null },
    expect: invalid({ defaultValue: said }),
  },
  {
    name: 'a datetime with dateOnly becomes a date and keeps its options',
    request: changeField,
    body: { collectionName: 'typed', name: 'd', type: 'date' },
    expect: {
      status: 200,
      body: { data: { type: 'date', dateOnly: true, autoNow: true, defaultValue: '2026-01-31' } },
      events: ['fields.updated'],
    },
  },
  {
    name: 'a date becomes a datetime, and so does its default',
    request: changeField,
    body: { collectionName: 'typed', name: 'd', type: 'datetime', dateOnly: null },
    expect: {
      status: 200,
      body: { data: { autoNow: true, defaultValue: '2026-01-31T00:00:00.000Z' } },
      events: ['fields.updated'],
    },
  },
  {
    name: 'a select becomes an integer without its choices, and its default is converted',
    request: changeField,
    body: { collectionName: 'typed', name: 'e', type: 'integer', enum: null },
    expect: { status: 200, body: { data: { title: 'E', defaultValue: 1 } }, events: ['fields.updated'] },
  },
  {
    name: 'a default of the wrong type for the new type is refused with 422',
    request: changeField,
    body: { collectionName: 'typed', name: 'e', type: 'boolean', defaultValue: 'maybe' },
    expect: invalid({ defaultValue: said }),
  },
];

const zeros: readonly Scenario[] = [
  {
    name: 'an index over a relation is refused with 422',
    request: define,
    body: { name: 'x', authors: true, options: { indexes: [{ fields: ['createdBy'] }] } },
    expect: invalid({
      'options.indexes': '"createdBy" cannot be indexed: name a field of the collection whose type can have an index.',
    }),
  },
  {
    name: 'apply adds a bound and a default of 0',
    request: 'POST /api/collections:apply',
    body: [{ name: 'clocks', fields: [{ name: 'whole', type: 'integer', min: 0, defaultValue: 0 }] }],
    expect: {
      status: 200,
      body: { meta: { changes: [{ name: 'fields.updated', tk: 'clocks.whole' }] } },
      events: ['fields.updated'],
    },
  },
  {
    name: 'apply removes a default',
    request: 'POST /api/collections:apply',
    body: [{ name: 'clocks', fields: [{ name: 'whole', type: 'integer', min: 0, defaultValue: null }] }],
    expect: { status: 200, events: ['fields.updated'] },
  },
];

const names: readonly Scenario[] = [
  ...['sqlite_sequence', 'sqlite', 'SQLITE_x', 'pg_class', 'PG_x', 'Sqlite_Stat1'].map(
    (name): Scenario => ({
      name: `a collection may be named ${name}`,
      request: define,
      body: {
        name,
        fields: [
          { name: 'sqlite_x', type: 'string', unique: true },
          { name: 'pg_x', type: 'integer', index: true },
          { name: 'rowid', type: 'integer' },
          { name: 'ctid', type: 'belongsTo', target: 'people' },
          { name: 'many', type: 'belongsToMany', target: 'people', through: `${name}_join` },
        ],
        options: { indexes: [{ fields: ['pg_x', 'rowid'], unique: true }] },
      },
      expect: { status: 200, events: ['collections.created', 'collections.created'] },
    }),
  ),
  {
    name: 'a collection named like a system table accepts records',
    request: 'POST /api/sqlite_sequence:create',
    body: { sqlite_x: 'a', pg_x: 1, rowid: 2, many: [1] },
    expect: {
      status: 200,
      body: { data: { id: 1 } },
      events: ['sqlite_sequence.created', 'sqlite_sequence_join.created'],
    },
  },
  {
    name: 'a field of such a collection can be changed',
    request: changeField,
    body: { collectionName: 'sqlite_sequence', name: 'sqlite_x', type: 'integer', newName: 'sqlite_y' },
    expect: { status: 422, code: 'DEFINITION_INVALID' },
  },
  {
    name: 'an application may be named like an SQL keyword',
    request: 'POST /api/applications:create',
    body: { name: 'select' },
    expect: { status: 200, events: ['applications.created', 'applications.updated'] },
  },
  {
    name: 'titles and descriptions may have their maximum length in code points',
    request: define,
    body: {
      name: 'long',
      title: text(255),
      description: text(10_000),
      fields: [{ name: 'a', type: 'string', title: text(255), description: text(10_000) }],
    },
    expect: { status: 200, events: made },
  },
  {
    name: 'definitions over the length limits are refused with 422',
    request: define,
    body: {
      name: 'x',
      title: text(256),
      description: text(10_001),
      fields: [
        { name: 'a', type: 'string', title: text(256), description: text(10_001), pattern: 'a'.repeat(1001) },
        { name: 'b', type: 'string', uiSchema: { a: 'x'.repeat(65_536) } },
        { name: 'c', type: 'json', defaultValue: ['x'.repeat(65_536)] },
        { name: 'd', type: 'select', enum: ['x'.repeat(256)] },
      ],
      options: { indexes: Array.from({ length: 65 }, () => ({ fields: ['a'] })) },
    },
    expect: invalid({
      title: 'At most 255 characters are allowed.',
      description: 'At most 10000 characters are allowed.',
      'fields[0].title': said,
      'fields[0].description': said,
      'fields[0].pattern': said,
      'fields[1].uiSchema': said,
      'fields[2].defaultValue': said,
      'fields[3].enum': said,
      'options.indexes': said,
    }),
  },
  {
    name: 'collections:update applies the length limits',
    request: 'POST /api/collections:update?filterByTk=long',
    body: { title: text(256), description: text(10_001) },
    expect: invalid({ title: said, description: said }),
  },
  {
    name: 'fields:update applies the length limits',
    request: changeField,
    body: { collectionName: 'long', name: 'a', description: text(10_001) },
    expect: invalid({ description: said }),
  },
  {
    name: 'roles have the length limits',
    request: 'POST /api/roles:create',
    body: { name: 'worded', title: text(256), description: text(10_001) },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { title: said, description: said } } },
  },
  {
    name: 'applications have the length limits',
    request: 'POST /api/applications:update?filterByTk=main',
    body: { displayName: text(256), description: text(10_001), options: { metadata: { a: 'x'.repeat(65_536) } } },
    expect: {
      status: 422,
      code: 'DEFINITION_INVALID',
      body: { details: { displayName: said, description: said, 'options.metadata': said } },
    },
  },
  {
    name: 'the list of fields of a permission has a limit',
    request: 'POST /api/permissions:create',
    body: { role: 'viewer', resource: 'long', actions: ['export'], fields: Array.from({ length: 1001 }, () => 'a') },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { fields: said } } },
  },
  {
    name: 'the filter of a webhook has a limit',
    request: 'POST /api/webhooks:create',
    body: {
      url: 'https://example.com/hook',
      role: 'viewer',
      events: ['long.created'],
      filter: { a: { $eq: 'x'.repeat(65_536) } },
    },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { filter: said } } },
  },
];

describeEngines('forms of definitions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data(`${define}`, { body: { name: 'people' } });
    await server.data('POST /api/people:create', { body: {} });
  });
  afterAll(() => server.stop());

  for (const scenario of [...defaultsOf, ...typeChanges, ...zeros, ...names])
    test(scenario.name, () => server.play(scenario).then(() => {}));

  test('definitions and data are the same after a restart', async () => {
    const before = await server.readSnapshot();
    await server.running.stop();
    await server.boot();
    expect(await server.readSnapshot()).toBe(before);
  });
});
