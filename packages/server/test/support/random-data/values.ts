import type { TypeName } from '../oracle/model.ts';

/** The current time of all random datasets. */
export const now = Date.parse('2026-11-21T08:00:00.000Z');

export const texts = [
  '',
  'a',
  'A',
  'ab',
  'a%b',
  'a_b',
  'É',
  'é',
  'straße',
  'STRASSE',
  'ΟΔΟΣ',
  'οδος',
  '\u{1F600}',
  '\uFFFD',
  'x\\y',
  'tab\t"q"',
  "it's",
  'K',
  '\u212A',
  'İ',
  'i',
  '{{nobody}}',
  'null',
];
const uids = ['018f0000-0000-7000-8000-000000000001', 'ffffffff-ffff-4fff-bfff-ffffffffffff'];
const floats = [-1.5, 0, 0.1, 0.2, 0.30000000000000004, 1e300, 10, 9, -1e-300];

/** Values in the form in which the API shows them. */
export const valuePools: Readonly<Record<TypeName, readonly unknown[]>> = {
  string: texts,
  text: texts,
  email: ['a@b.de', 'A@b.de', 'zoë@example.com'],
  integer: [-2147483647, -1, 0, 1, 2, 10, 9, 2147483647],
  bigInt: [
    0,
    7,
    -1,
    9007199254740991,
    '9007199254740992',
    '9007199254740993',
    '-9223372036854775808',
    '9223372036854775807',
  ],
  float: floats,
  double: floats,
  decimal: ['0.00', '12.30', '-7.05', '9999999999999999.99', '-0.01', '100.00'],
  boolean: [true, false],
  date: ['0001-01-01', '1999-12-31', '2024-02-29', '2026-11-21', '2026-11-20', '2026-11-16', '9999-12-31'],
  time: ['00:00:00', '07:30:00', '23:59:59', '23:59:59.500'],
  datetime: [
    '0001-01-01T00:00:00.000Z',
    '1969-12-31T23:59:59.999Z',
    '2024-02-29T12:00:00.001Z',
    '2026-11-21T08:00:00.000Z',
    '2026-11-20T23:30:00.000Z',
    '2026-11-16T00:00:00.000Z',
    '2026-12-31T23:59:59.999Z',
    '2027-01-03T04:00:00.000Z',
    '9999-12-31T23:59:59.999Z',
  ],
  json: [{ b: 1, a: [null, 'x'] }, [], '', 'x', 0, false, [1], {}],
  array: [[], ['a'], ['a', 1, null], ['b', { k: true }], [1, 1, 'a'], ['é', true, '1'], [[]]],
  select: ['x', 'y', 'Z'],
  selects: [[], ['x'], ['x', 'Z'], ['Z', 'x']],
  uid: uids,
  password: [null],
};

/** Operands that no record contains, in addition to those that records may contain. */
export const unstoredValues: Readonly<Partial<Record<TypeName, readonly unknown[]>>> = {
  integer: [3_000_000_000, -9007199254740991],
  decimal: [12.3, '3', -7.05],
  bigInt: ['12'],
  float: [1e-7],
  datetime: ['2026-11-21T10:00:00+02:00', '2026-11-21'],
  uid: ['FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF'],
  select: ['w'],
};

export const patterns = ['a%', '%b', '_', 'a\\%b', 'a_b', '%', 'É', '', '%\\\\%', 'ΟΔΟ_', 'İ', '__'];

export const periods: readonly unknown[] = [
  '0001',
  '2026',
  '9999',
  '2026-11',
  '9999-12',
  '2026Q4',
  '2026W47',
  '2026W53',
  '2026-11-21',
  '2024-02-29',
  '9999-12-31',
  '2026-11-21T08:00:00.000Z',
  '1969-12-31T23:59:59.999Z',
  ...['today', 'yesterday', 'tomorrow', 'thisWeek', 'lastWeek', 'thisMonth', 'nextQuarter', 'thisYear', 'lastYear'].map(
    (type) => ({ type }),
  ),
  { type: 'past', number: 2, unit: 'day' },
  { type: 'past', number: 1, unit: 'week' },
  { type: 'next', number: 2, unit: 'month' },
  { type: 'past', number: 3, unit: 'year' },
];

export const zones = ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/New_York', '+05:30'];

/** Additional fields of users, with the values of the user who creates the API keys. */
export const userFields = [
  { name: 'level', type: 'integer', value: 1 },
  { name: 'label', type: 'string', value: 'a' },
  { name: 'since', type: 'datetime', value: '2026-11-20T23:30:00.000Z' },
  { name: 'tags', type: 'array', value: ['a', 'é'] },
  { name: 'none', type: 'array', value: [] },
  { name: 'nothing', type: 'string', value: null },
] as const;

export const variables = [
  ...['level', 'label', 'since', 'tags', 'none', 'nothing', 'missing', 'id'].map((name) => `{{$user.${name}}}`),
  '{{ ctx.state.currentUser.level }}',
  '{{$role}}',
  '{{$now}}',
  '{{$date.today}}',
  '{{$date.thisMonth}}',
];
