import { expect, test } from 'vitest';
import { type MappingTarget, proposeMapping } from './propose-mapping.ts';

const target = (field: string, title = field, lookup: string | null = null): MappingTarget => ({
  field,
  lookup,
  names: [field, title],
});
const targets: readonly MappingTarget[] = [
  target('name', 'Full name'),
  target('email', 'E-mail'),
  target('unitPrice', 'Unit price'),
  target('categories', 'Categories'),
  target('grosse', 'Größe'),
  target('description'),
  { field: 'authorId', lookup: null, names: ['authorId'] },
  { field: 'authorId', lookup: null, names: ['author.id', 'Author / ID', 'author', 'Author'] },
  { field: 'authorId', lookup: 'email', names: ['author.email', 'Author / E-mail'] },
];
const map = (...columns: string[]): (string | null)[] =>
  proposeMapping(columns, targets).map(({ field, lookup }) => (lookup === null ? field : `${field} by ${lookup}`));

test('columns are matched to fields by name, title and similarity', () => {
  expect(map('name', 'E-mail', 'UNIT_PRICE', 'category', 'groesse')).toEqual([
    'name',
    'email',
    'unitPrice',
    'categories',
    'grosse',
  ]);
  expect(map('full-name', 'e mail', 'unit  price', 'Größe')).toEqual(['name', 'email', 'unitPrice', 'grosse']);
  expect(map('descripton', 'nmae', 'xyz', '')).toEqual(['description', null, null, null]);
});

test('each field is proposed once, and an exact name beats a similar one', () => {
  expect(map('Name', 'name', 'names')).toEqual([null, 'name', null]);
  expect(map('unit-price', 'unitPrice')).toEqual([null, 'unitPrice']);
});

test('a column of a related record names it by its key or by a unique field', () => {
  expect(map('author.email')).toEqual(['authorId by email']);
  expect(map('Author / E-mail')).toEqual(['authorId by email']);
  expect(map('author')).toEqual(['authorId']);
  expect(map('author.id')).toEqual(['authorId']);
  expect(
    proposeMapping(['authorId', 'author.email', 'author.name', 'other.name'], targets).map(({ field, ignored }) => [
      field,
      ignored,
    ]),
  ).toEqual([
    ['authorId', false],
    [null, true],
    [null, true],
    [null, false],
  ]);
});

test('the additional columns of a file of refused rows are ignored', () => {
  const ignored = (columns: readonly string[], list: readonly MappingTarget[]): boolean[] =>
    proposeMapping(columns, list).map((each) => each.ignored);
  expect(ignored(['line', 'reason', 'name'], targets)).toEqual([true, true, false]);
  expect(ignored(['name', 'line', 'reason'], targets)).toEqual([false, false, false]);
  const withReason = [...targets, target('reason'), target('lines')];
  expect(proposeMapping(['line', 'reason', 'reason'], withReason).map(({ field }) => field)).toEqual([
    null,
    null,
    'reason',
  ]);
  expect(proposeMapping(['line', 'reason', 'name'], withReason).map(({ field }) => field)).toEqual([
    'lines',
    'reason',
    'name',
  ]);
});
