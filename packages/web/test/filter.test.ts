/** Filters as the pages write them, compared with how the server parses both syntaxes. */
import type { Collection, Filter } from '@tablinum/client';
import { expect, test } from 'vitest';
import { normaliseFilter } from '../../server/src/protocol/filter-normaliser.ts';
import { limits } from '../../server/src/protocol/limits.ts';
import { toRange } from '../../server/src/query/period.ts';
import { buildFilterFields } from '../src/admin/filter/filter-fields.ts';
import {
  countConditions,
  type FilterGroup,
  hasValidOperands,
  isComplete,
  maxFilterDepth,
  measureGroupDepth,
  newCondition,
  newGroup,
  toFilter,
  toFilterModel,
} from '../src/admin/filter/filter-model.ts';
import { operandProblem } from '../src/admin/filter/operand.ts';
import { isPeriod, parsePeriod } from '../src/admin/filter/period.ts';

const collection = (name: string, fields: Collection['fields']): Collection => ({
  name,
  title: null,
  description: null,
  options: {},
  fields: [{ name: 'id', type: 'integer', primaryKey: true }, ...fields],
});
const collections = [
  collection('albums', [
    { name: 'title', type: 'string' },
    { name: 'price', type: 'decimal' },
    { name: 'n', type: 'integer' },
    { name: 'at', type: 'datetime' },
    { name: 'tags', type: 'array' },
    { name: 'artist', type: 'belongsTo', target: 'artists' },
    { name: 'tracks', type: 'hasMany', target: 'tracks' },
  ]),
  collection('artists', [
    { name: 'name', type: 'string' },
    { name: 'label', type: 'belongsTo', target: 'labels' },
  ]),
  collection('labels', [{ name: 'city', type: 'string' }]),
  collection('tracks', [
    { name: 'name', type: 'string' },
    { name: 'seconds', type: 'integer' },
  ]),
];
const collectionsByName = new Map(collections.map((each) => [each.name, each]));
const fields = buildFilterFields(collections[0]!, collectionsByName);
/** The filter after it was converted to conditions of the page and back. */
const roundTrip = (filter: Filter): Filter | null => {
  const model = toFilterModel(filter, fields);
  return model && toFilter(model, fields);
};

test.each<[string, Filter, Filter]>([
  ['plain values and lists', { title: 'a', n: [1, 2] }, { $and: [{ title: { $eq: 'a' } }, { n: { $in: [1, 2] } }] }],
  ['several operators of a field', { n: { $gt: 1, $lt: 9 } }, { $and: [{ n: { $gt: 1 } }, { n: { $lt: 9 } }] }],
  ['any', { $or: [{ n: 1 }, { n: 2 }] }, { $or: [{ n: { $eq: 1 } }, { n: { $eq: 2 } }] }],
  ['not', { $not: { n: 1, title: 'a' } }, { $and: [{ $not: { $and: [{ n: { $eq: 1 } }, { title: { $eq: 'a' } }] } }] }],
  [
    'a double negation',
    { $not: { $not: { n: 1 } } },
    { $and: [{ $not: { $and: [{ $not: { $and: [{ n: { $eq: 1 } }] } }] } }] },
  ],
  [
    'logic on a field',
    { n: { $not: { $or: [{ $gt: 5 }, { $lt: 1 }] } } },
    { $and: [{ $not: { $or: [{ n: { $gt: 5 } }, { n: { $lt: 1 } }] } }] },
  ],
  [
    'a dotted and a nested path',
    { artist: { label: { city: 'Ulm' } } },
    { $and: [{ 'artist.label.city': { $eq: 'Ulm' } }] },
  ],
  ['the key of a linked record', { artist: 7 }, { $and: [{ 'artist.id': { $eq: 7 } }] }],
  ['presence of linked records', { tracks: { $exists: false } }, { $and: [{ tracks: { $notExists: true } }] }],
  [
    'several conditions on one linked record',
    { tracks: { name: 'x', seconds: { $gt: 9 } } },
    { $and: [{ tracks: { $and: [{ name: { $eq: 'x' } }, { seconds: { $gt: 9 } }] } }] },
  ],
  [
    'no linked record',
    { $not: { tracks: { $or: [{ name: 'x' }, { seconds: 1 }] } } },
    { $and: [{ $not: { tracks: { $or: [{ name: { $eq: 'x' } }, { seconds: { $eq: 1 } }] } } }] },
  ],
  [
    'a negated condition on a linked record',
    { artist: { $not: { name: 'x' } } },
    { $and: [{ artist: { $and: [{ $not: { $and: [{ name: { $eq: 'x' } }] } }] } }] },
  ],
  [
    'null and flags',
    { title: null, n: { $ne: null }, tags: { $empty: 0 } },
    { $and: [{ title: { $null: true } }, { n: { $notNull: true } }, { tags: { $notEmpty: true } }] },
  ],
  [
    'periods',
    { at: { $dateOn: { type: 'past', number: 3, unit: 'month' }, $dateBetween: ['2026-01', { type: 'today' }] } },
    {
      $and: [
        { at: { $dateOn: { type: 'past', number: 3, unit: 'month' } } },
        { at: { $dateBetween: ['2026-01', { type: 'today' }] } },
      ],
    },
  ],
  [
    'pairs, commas and variables',
    { n: { $between: [1, 5] }, tags: { $anyOf: ['a, b', 'c'] }, title: { $in: '{{$user.names}}' } },
    { $and: [{ n: { $between: [1, 5] } }, { tags: { $anyOf: ['a, b', 'c'] } }, { title: { $in: '{{$user.names}}' } }] },
  ],
  ['an exact number as a number', { price: { $gt: 10 } }, { $and: [{ price: { $gt: '10' } }] }],
])('%s', (_, given, shown) => {
  expect(roundTrip(given)).toEqual(shown);
  expect(roundTrip(shown)).toEqual(shown); // a filter that the page has saved is shown unchanged
  expect(() => normaliseFilter(shown)).not.toThrow();
});

test.each<[string, Filter]>([
  ['an unknown field', { nowhere: 1 }],
  ['a field behind too many relations', { 'artist.label.nowhere.a': 1 }],
  ['an operator that does not fit', { n: { $includes: '1' } }],
  ['a value of another type', { n: { $eq: 'x' } }],
  ['null in a list', { n: { $in: [1, null] } }],
  ['an unknown operator', { n: { $near: 1 } }],
  ['a value that is not a filter', { $and: [1] }],
])('%s stays a JSON filter', (_, given) => {
  expect(toFilterModel(given, fields)).toBeNull();
});

test('an incomplete condition and a group without conditions make a filter incomplete', () => {
  const done = { ...newCondition('n', '$eq'), texts: ['1'] };
  expect(isComplete(newGroup({ parts: [done] }), fields)).toBe(true);
  for (const part of [newCondition('n', '$eq'), { ...newCondition('n', '$between'), texts: ['1'] }, newGroup()]) {
    const group = newGroup({ parts: [done, part] });
    expect(isComplete(group, fields)).toBe(false);
    expect(toFilter(group, fields)).toEqual({ $and: [{ n: { $eq: 1 } }] });
  }
  expect(countConditions(newGroup({ parts: [done, newGroup({ parts: [done, done] })] }))).toBe(3);
});

test('groups can be nested as deeply as the server accepts, and no deeper', () => {
  expect(maxFilterDepth).toBe(limits.filterDepth);
  const nested = (room: number): FilterGroup => {
    const left = room - measureGroupDepth({ not: true, under: null });
    const condition = { ...newCondition('n', '$eq'), texts: ['1'] };
    return newGroup({ not: true, parts: [left >= 3 ? nested(left) : condition] });
  };
  expect(() => normaliseFilter(toFilter(nested(maxFilterDepth), fields))).not.toThrow();
  expect(() => normaliseFilter(toFilter(nested(maxFilterDepth + 2), fields))).toThrow(/nested deeper/);
});

test('periods are checked as the server checks them', () => {
  const calendar = { now: Date.parse('2026-11-20T12:00:00Z'), zone: 'UTC' };
  const years = ['2015', '2020', '2026', '2032', '1976', '9999', '0001', '0000'];
  const texts = [
    ...years.flatMap((year) => [year, `${year}Q4`, `${year}W52`, `${year}W53`, `${year}-02-29`, `${year}-13`]),
    ...['1970s', '70', '2026Q5', '2026W00', '2026-11-31', '2026-1-1', 'next year', 'today', 'thisWeek', 'lastWeeks'],
    ...['past 3 months', 'next 1 day', 'past 0 days', 'past 100000 days', 'past 100001 days', 'past 2 decades'],
    ...[
      '2026-11-20T10:00',
      '2026-11-20 10:00:00.5Z',
      '2026-11-20T24:00',
      '2026-11-20T10:00+01:00',
      '2026-02-30T10:00Z',
    ],
  ];
  const taken = (text: string): boolean => {
    try {
      return toRange(parsePeriod(text), false, calendar).length === 2;
    } catch {
      return false;
    }
  };
  expect(texts.filter(isPeriod)).toEqual(texts.filter(taken));
});

test('an invalid value gets a message, and makes its rule incomplete', () => {
  const condition = (path: string, operator: string, ...given: string[]) => ({
    ...newCondition(path, operator),
    texts: given,
  });
  const of = (...parts: FilterGroup['parts']): FilterGroup => newGroup({ parts });
  const bad = [
    condition('at', '$dateOn', '1970s'),
    condition('at', '$dateBetween', '2026', 'soon'),
    condition('n', '$gt', 'ten'),
    condition('n', '$in', '1', 'two'),
    condition('price', '$lt', '9,50'),
  ];
  for (const each of bad)
    expect([hasValidOperands(of(each), fields), isComplete(of(each), fields)]).toEqual([false, false]);
  const good = [condition('at', '$dateOn', '2026Q4'), condition('n', '$gt', ''), condition('price', '$lt', '9.50')];
  expect(hasValidOperands(of(...good), fields)).toBe(true);
  expect(operandProblem(collections[0]!.fields[3]!, '$dateOn', '{{$now}}')).toBeNull();
});
