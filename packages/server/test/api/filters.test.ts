import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/protocol/error-catalogue.ts';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/** Saturday. In Tokyo it is Sunday already, in Honolulu still Friday. */
const clock = { now: () => Date.parse('2026-11-21T18:30:00.000Z') };
const moments = [
  '2025-12-31T23:30:00.000Z',
  '2026-01-01T00:00:00.000Z',
  '2026-10-31T12:00:00.000Z',
  '2026-11-15T12:00:00.000Z',
  '2026-11-16T00:00:00.000Z',
  '2026-11-20T10:00:00.000Z',
  '2026-11-21T09:00:00.000Z',
  '2026-11-21T18:00:00.000Z',
  '2026-11-22T12:00:00.000Z',
  '2026-11-23T00:00:00.000Z',
  '2026-12-01T00:00:00.000Z',
  '2027-01-01T00:00:00.000Z',
  null,
];
const ids = moments.map((_, index) => index + 1);
const other = (some: number[]): number[] => ids.filter((id) => !some.includes(id));

/** A condition on `at`, the ids that match, and the time zone. */
const dates: readonly [unknown, number[], string?][] = [
  [{ $dateOn: '2026' }, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
  [{ $dateOn: '2026-11' }, [4, 5, 6, 7, 8, 9, 10]],
  [{ $dateOn: '2026Q4' }, [3, 4, 5, 6, 7, 8, 9, 10, 11]],
  [{ $dateOn: '2026W47' }, [5, 6, 7, 8, 9]],
  [{ $dateOn: '2026-11-21' }, [7, 8]],
  [{ $dateNotOn: '2026-11-21' }, other([7, 8])],
  [{ $dateOn: '2026-11-21T09:00:00Z' }, [7]],
  [{ $dateOn: '2026-11-21T10:00:00+01:00' }, [7]],
  [{ $dateBefore: '2026-11' }, [1, 2, 3]],
  [{ $dateNotBefore: '2026-11' }, other([1, 2, 3])],
  [{ $dateAfter: '2026-11' }, [11, 12]],
  [{ $dateNotAfter: '2026-11' }, other([11, 12])],
  [{ $dateBetween: ['2026-10', '2026-11-16'] }, [3, 4, 5]],
  [{ $dateBetween: { type: 'thisWeek' } }, [5, 6, 7, 8, 9]],
  [{ $dateOn: { type: 'today' } }, [7, 8]],
  [{ $dateOn: { type: 'today' } }, [8, 9], 'Asia/Tokyo'],
  [{ $dateOn: { type: 'today' } }, [8], '-10:00'],
  [{ $dateOn: '2026-11-21' }, [7], 'Asia/Tokyo'],
  [{ $dateOn: { type: 'yesterday' } }, [6]],
  [{ $dateOn: { type: 'tomorrow' } }, [9]],
  [{ $dateOn: { type: 'lastWeek' } }, [4]],
  [{ $dateOn: { type: 'nextWeek' } }, [10]],
  [{ $dateOn: { type: 'lastMonth' } }, [3]],
  [{ $dateOn: { type: 'nextMonth' } }, [11]],
  [{ $dateOn: { type: 'thisQuarter' } }, [3, 4, 5, 6, 7, 8, 9, 10, 11]],
  [{ $dateOn: { type: 'nextQuarter' } }, [12]],
  [{ $dateOn: { type: 'lastYear' } }, [1]],
  [{ $dateOn: { type: 'past', number: 2, unit: 'day' } }, [6]],
  [{ $dateOn: { type: 'next', number: 1, unit: 'week' } }, [10]],
  [{ $dateOn: { type: 'past', number: 1, unit: 'year' } }, [1]],
  [{ $dateOn: '{{$date.today}}' }, [7, 8]],
  [{ $gte: '{{$date.today}}', $lt: '{{$date.tomorrow}}' }, [7, 8]],
  [{ $gt: '{{$now}}' }, [9, 10, 11, 12]],
  [{ $dateOn: '9999' }, []],
  [{ $dateNotAfter: '9999' }, ids],
  [{ $dateBefore: '0001' }, []],
];

/** A condition on `tags`, and the ids that match. */
const tags = [['red', 'blue'], ['blue'], [], null, [1, true, null], ['Red', 'a"b', { k: 1 }]] as const;
const arrays: readonly [unknown, number[]][] = [
  [{ $anyOf: ['red', 'green'] }, [1]],
  [{ $noneOf: ['red', 'green'] }, [2, 3, 4, 5, 6]],
  [{ $match: ['blue', 'red'] }, [1]],
  [{ $match: ['blue'] }, [2]],
  [{ $notMatch: ['blue'] }, [1, 3, 4, 5, 6]],
  [{ $match: [] }, [3]],
  [{ $anyOf: [] }, []],
  [{ $anyOf: [1] }, [5]],
  [{ $anyOf: ['1'] }, []],
  [{ $anyOf: [true] }, [5]],
  [{ $anyOf: [null] }, [5]],
  [{ $anyOf: ['a"b'] }, [6]],
  [{ $arrayEmpty: true }, [3, 4]],
  [{ $arrayNotEmpty: true }, [1, 2, 5, 6]],
  [{ $arrayEmpty: false }, [1, 2, 5, 6]],
];

const bad: readonly (readonly [filter: unknown, code: ErrorCode])[] = [
  [{ at: { $dateOn: 'soon' } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: '2026-13' } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: '2026-02-30' } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: '2026W54' } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: '2026Q5' } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: ['2026'] } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: 2026 } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: null } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: { type: 'someday' } } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: { type: 'past', number: 0, unit: 'day' } } }, 'FILTER_INVALID'],
  [{ at: { $dateOn: { type: 'past', number: 1, unit: 'moon' } } }, 'FILTER_INVALID'],
  [{ at: { $dateBetween: ['2026'] } }, 'FILTER_INVALID'],
  [{ n: { $dateOn: '2026' } }, 'OPERATOR_MISFIT'],
  [{ tags: { $anyOf: 'red' } }, 'FILTER_INVALID'],
  [{ at: { $anyOf: ['red'] } }, 'OPERATOR_MISFIT'],
];

describeEngines('filters by date and list', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine, { clock });
    await server.data('POST /api/collections:apply', {
      body: [
        {
          name: 'things',
          fields: [
            { name: 'at', type: 'datetime' },
            { name: 'day', type: 'date' },
            { name: 'n', type: 'integer' },
          ],
        },
        { name: 'lists', fields: [{ name: 'tags', type: 'array' }] },
      ],
    });
    const body = moments.map((at) => ({ at, day: at?.slice(0, 10) ?? null }));
    await server.data('POST /api/things:create', { body });
    await server.data('POST /api/lists:create', { body: tags.map((each) => ({ tags: each })) });
  });
  afterAll(() => server.stop());

  const found = async (collection: string, filter: unknown, zone?: string): Promise<number[]> => {
    const text = encodeURIComponent(JSON.stringify(filter));
    const headers = zone === undefined ? {} : { 'x-timezone': zone };
    const reply = await server.call(`GET /api/${collection}:list?fields=id&filter=${text}`, { headers });
    expect([reply.status, reply.status === 200 ? '' : reply.text]).toEqual([200, '']);
    return reply.body.data.map((each: { id: number }) => each.id) as number[];
  };

  for (const [condition, expected, zone] of dates)
    test(`a datetime matches ${JSON.stringify(condition)} ${zone ?? ''}`, async () => {
      expect(await found('things', { at: condition }, zone)).toEqual(expected);
    });

  test('dates are compared as days in every time zone', async () => {
    const days = (filter: unknown, zone?: string): Promise<number[]> => found('things', { day: filter }, zone);
    expect(await days({ $dateOn: '2026-11-21' }, 'Asia/Tokyo')).toEqual([7, 8]);
    expect(await days({ $dateOn: { type: 'today' } }, 'Asia/Tokyo')).toEqual([9]);
    expect(await days({ $dateAfter: '2026-12' })).toEqual([12]);
    expect(await days({ $dateOn: '2026-11-21T23:30:00Z' }, 'Asia/Tokyo')).toEqual([9]);
    expect(await days({ $dateNotAfter: '9999' })).toEqual(ids);
  });

  test('bracket notation has the same meaning', async () => {
    const { body } = await server.call(
      'GET /api/things:list?fields=id&filter[at][$dateOn][type]=past&filter[at][$dateOn][number]=2&filter[at][$dateOn][unit]=day',
    );
    expect(body.data).toEqual([{ id: 6 }]);
  });

  for (const [condition, expected] of arrays)
    test(`a list matches ${JSON.stringify(condition)}`, async () => {
      expect(await found('lists', { tags: condition })).toEqual(expected);
    });

  for (const [filter, code] of bad)
    test(`${JSON.stringify(filter)} is refused with 400`, async () => {
      const on = JSON.stringify(filter).includes('tags') ? 'lists' : 'things';
      await server.play({
        name: 'the filter is refused',
        request: `POST /api/${on}:list`,
        body: { filter },
        expect: { status: 400, code },
      });
    });

  test('the operator may be the last part of the path', async () => {
    await server.data('POST /api/collections:apply', {
      body: [{ name: 'parts', fields: [{ name: 'thing', type: 'belongsTo', target: 'things' }] }],
    });
    await server.data('POST /api/parts:create', { body: [{ thingId: 7 }, { thingId: null }] });
    const cases: readonly [string, unknown, number[]][] = [
      ['things', { 'day.$eq': '2026-11-21' }, [7, 8]],
      ['things', { 'id.$in': [1, 2] }, [1, 2]],
      ['things', { 'at.$dateOn': '2026-11-21', 'id.$gt': 7 }, [8]],
      ['things', { $or: [{ 'id.$eq': 1 }, { $not: { 'id.$gt': 2 } }] }, [1, 2]],
      ['parts', { 'thing.day.$eq': '2026-11-21' }, [1]],
      ['parts', { 'thing.$notExists': true }, [2]],
      ['parts', { thing: { 'day.$eq': '2026-11-21' } }, [1]],
      ['parts', { 'thing.$or': [{ 'id.$eq': 7 }, { id: 8 }] }, [1]],
    ];
    for (const [collection, filter, expected] of cases)
      expect([filter, await found(collection, filter)]).toEqual([filter, expected]);
    const brackets = 'GET /api/things:list?fields=id&filter[id.$in][]=1&filter[id.$in][]=2';
    expect(await server.data(brackets)).toEqual([{ id: 1 }, { id: 2 }]);
    await server.data('POST /api/things:update?filter={"id.$eq":1}', { body: { n: 5 } });
    expect(await server.data('GET /api/things:list?fields=id&filter={"n.$eq":5}')).toEqual([{ id: 1 }]);
  });

  test('row filters of roles accept the operators, and follow a renamed field', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'one' } });
    const filter = { 'n.$eq': 5 };
    const permission = { role: 'one', resource: 'things', actions: ['list'], filter };
    const { id } = await server.data('POST /api/permissions:create', { body: permission });
    await server.createKey('one');
    await server.data('POST /api/fields:update', { body: { collectionName: 'things', name: 'n', newName: 'number' } });
    expect(await server.data(`GET /api/permissions:get?filterByTk=${id}`)).toMatchObject({
      filter: { 'number.$eq': 5 },
    });
    expect(await server.data('GET /api/things:list?fields=id', { as: 'one' })).toEqual([{ id: 1 }]);
    await server.data('POST /api/fields:update', { body: { collectionName: 'things', name: 'number', newName: 'n' } });
  });

  for (const [filter, code, ...parts] of [
    [{ nope: 1 }, 'FIELD_UNKNOWN', 'things has no field "nope"', 'id, at, day, n,'],
    [{ n: { $regex: 'x' } }, 'OPERATOR_UNKNOWN', '"\\$regex" on "n"', '\\$eq, \\$ne'],
    [{ 'n.$regex': 'x' }, 'OPERATOR_UNKNOWN', '"\\$regex" on "n"', '\\$eq'],
    [
      { n: { $includes: 'x' } },
      'OPERATOR_MISFIT',
      '\\$includes cannot be used with "n", which has the type integer',
      '\\$between',
    ],
    [{ n: 'x' }, 'FILTER_INVALID', '\\$eq on "n" is not valid for the type integer', 'Give a whole number'],
    [{ day: { $gt: 'x' } }, 'FILTER_INVALID', '"day"', 'Give a date'],
    [{ at: { $dateOn: 'x' } }, 'FILTER_INVALID', '\\$dateOn on "at"', '2026-11'],
    [{ at: { $dateOn: 5 } }, 'FILTER_INVALID', '\\$dateOn on "at"', '2026-11'],
    [{ n: { $in: 5 } }, 'FILTER_INVALID', '\\$in on "n" takes a list', '\\[1, 2\\]'],
    [{ n: { $between: [1] } }, 'FILTER_INVALID', '\\$between on "n"', 'two values'],
    [{ n: { $eq: [1] } }, 'FILTER_INVALID', '\\$eq on "n" takes one value', '\\$in'],
    [{ n: { $null: 'x' } }, 'FILTER_INVALID', '\\$null on "n" must be true or false'],
    [{ 'n.more': 1 }, 'RELATION_UNKNOWN', '"n" of things is not a relation', 'no relations'],
    [{ 'n..more': 1 }, 'FILTER_INVALID', '"n..more"', 'author.name'],
    [{ $or: 5 }, 'FILTER_INVALID', '\\$or takes a list of filters', 'views'],
  ] as const)
    test(`${JSON.stringify(filter)} is refused with the field and the accepted values`, async () => {
      await server.play({
        name: 'the filter is refused',
        request: 'POST /api/things:list',
        body: { filter },
        expect: { status: 400, code, body: { message: expect.stringMatching(new RegExp(parts.join('.*'))) } },
      });
    });

  test('the message does not offer fields that the role may not read', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'narrow' } });
    const permission = { role: 'narrow', resource: 'things', actions: ['list'], fields: ['id', 'day'] };
    await server.data('POST /api/permissions:create', { body: permission });
    await server.createKey('narrow');
    const { body } = await server.call('GET /api/things:list?filter={"nope":1}', { as: 'narrow' });
    expect(body.message).toBe('things has no field "nope". Its fields are: id, day.');
  });

  test.each([
    ['GET /api/things:list?limit=5', 'pageSize'],
    ['GET /api/things:query?limits=5', 'measures'],
    ['POST /api/collections:update?filterByTk=things&forced=true', 'filterByTk, force, dryRun'],
    ['POST /api/auth:signOut?all=true', 'takes no parameters'],
  ])('%s names the known parameters', async (request, known) => {
    await server.play({
      name: 'an unknown parameter is refused',
      request,
      expect: { status: 400, code: 'PARAMETER_UNKNOWN', body: { message: expect.stringContaining(known) } },
    });
  });

  test('an unknown time zone is refused with 400', async () => {
    await server.play({
      name: 'an unknown time zone is refused',
      request: 'GET /api/things:list',
      headers: { 'x-timezone': 'Mars/Olympus' },
      expect: { status: 400, code: 'HEADER_INVALID' },
    });
  });

  test('unknown text in braces is plain text', async () => {
    await server.data('POST /api/collections:create', {
      body: { name: 'words', fields: [{ name: 'w', type: 'string' }] },
    });
    await server.data('POST /api/words:create', { body: [{ w: '{{x}}' }, { w: 'root@example.com' }, { w: null }] });
    expect(await found('words', { w: '{{x}}' })).toEqual([1]);
    expect(await found('words', { w: '{{$user.email}}' })).toEqual([2]);
    expect(await found('words', { w: '{{ctx.state.currentUser.email}}' })).toEqual([2]);
    expect(await found('words', { w: '{{$user.username}}' })).toEqual([]);
    expect(await found('words', { w: { $ne: '{{$user.username}}' } })).toEqual([1, 2, 3]);
  });

  test('days in a permission are UTC days, whatever the time zone of the caller', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'daily' } });
    await server.data('POST /api/permissions:create', {
      body: { role: 'daily', resource: 'things', actions: ['list'], filter: { at: { $dateOn: '{{$date.today}}' } } },
    });
    await server.createKey('daily');
    const seen = await server.call('GET /api/things:list', { as: 'daily', headers: { 'x-timezone': 'Asia/Tokyo' } });
    expect(seen.body.data.map((each: { id: number }) => each.id)).toEqual([7, 8]);
    await server.play({
      name: 'a variable inside a list is refused when the permission is saved, because it would be plain text',
      request: 'POST /api/permissions:create',
      body: { role: 'daily', resource: 'things', actions: ['get'], filter: { n: { $in: ['{{$user.id}}'] } } },
      expect: {
        status: 422,
        code: 'DEFINITION_INVALID',
        body: { details: { filter: expect.stringContaining('whole value') } },
      },
    });
    await server.play({
      name: 'an invalid period is refused when the permission is saved',
      request: 'POST /api/permissions:create',
      body: { role: 'daily', resource: 'things', actions: ['get'], filter: { at: { $dateOn: '{{$date.someday}}' } } },
      expect: { status: 422, code: 'DEFINITION_INVALID' },
    });
  });
});
