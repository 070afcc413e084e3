import { expect, test } from 'vitest';
import { operators } from '../../server/src/protocol/operators.ts';
import { fieldTypes } from '../../server/src/schema/field-types.ts';
import { optionsOf, typeGroups } from '../src/admin/collections/field-types.ts';
import { filterOf, filterOperators, modelOf, operatorsFor } from '../src/admin/filter/filter-model.ts';
import { readText, textOf } from '../src/admin/records/value-text.ts';
import { en } from '../src/ui/i18n/en.ts';

const shapes = { one: 'one', list: 'list', pair: 'pair', none: 'flag', period: 'period', periods: 'periods' } as const;

test('the filter offers every operator of the protocol, with its operand, and has words for it', () => {
  const known = Object.entries(operators).filter(([name]) => name !== '$endWith'); // another spelling of $endsWith
  expect(Object.keys(filterOperators).sort()).toEqual(known.map(([name]) => name).sort());
  for (const [name, { family, operand }] of known) {
    const [ownFamily, ownOperand] = filterOperators[name]!;
    expect([name, ownFamily, shapes[ownOperand]]).toEqual([name, family, operand]);
    expect(en.data.records.operators[name], name).toBeTruthy();
  }
});

test('each type of field is offered, with the operators that the server takes for it', () => {
  const offered = Object.values(typeGroups).flat().sort();
  expect(offered).toEqual([...fieldTypes.keys()].sort());
  for (const [name, type] of fieldTypes) {
    expect(en.data.types.names[name], name).toBeTruthy();
    const expected =
      name === 'password'
        ? []
        : Object.entries(operators).filter(([each, { family }]) => each !== '$endWith' && type.operators.has(family));
    const own = operatorsFor({ name: 'x', type: name, ...(type.relation && { target: 'y' }) });
    expect([name, own.sort()]).toEqual([name, expected.map(([each]) => each).sort()]);
  }
});

test('the form of a field asks for every option that its type has', () => {
  for (const [name, type] of fieldTypes) {
    if (type.relation) continue;
    const own = optionsOf[name]!;
    for (const option of Object.keys(type.options)) expect(own, `${name}.${option}`).toContain(option);
    if (type.sortable && name !== 'sort' && name !== 'boolean') expect(own, name).toContain('unique');
  }
});

test('a filter is shown as conditions and comes back the same', () => {
  const fields = {
    price: { name: 'price', type: 'decimal' },
    n: { name: 'n', type: 'integer' },
    at: { name: 'at', type: 'datetime' },
  };
  const fieldAt = (path: string) => fields[path as keyof typeof fields] ?? null;
  const filter = {
    $or: [
      { price: { $gt: '10' } },
      { n: { $in: [1, 2] } },
      { at: { $dateOn: { type: 'today' } } },
      { n: { $null: true } },
    ],
  };
  expect(filterOf(modelOf(filter)!, fieldAt)).toEqual(filter);
  expect(modelOf({ $not: { n: 1 } })).toBeNull();
  expect(filterOf({ match: '$and', conditions: [{ path: 'n', operator: '$eq', text: '' }] }, fieldAt)).toBeNull();
});

test('texts of inputs stand for the values of the wire', () => {
  const at = { name: 'at', type: 'datetime' };
  const moment = '2026-11-21T15:04:05.000Z';
  expect(readText(at, textOf(at, moment))).toEqual({ value: moment });
  expect(readText({ name: 'n', type: 'integer' }, 'x')).toEqual({ problem: 'number' });
  expect(readText({ name: 'b', type: 'bigInt' }, '9007199254740993')).toEqual({ value: '9007199254740993' });
  expect(readText({ name: 'd', type: 'decimal' }, '1.10')).toEqual({ value: '1.10' });
  expect(readText({ name: 's', type: 'string' }, '')).toEqual({ value: null });
});
