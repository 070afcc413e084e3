import type { Field } from '@tablinum/client';
import { expect, test } from 'vitest';
import type { FieldDefinition } from '../../server/src/protocol/definition.ts';
import { operators } from '../../server/src/protocol/operators.ts';
import { checkField } from '../../server/src/schema/field-definition-check.ts';
import { fieldTypes } from '../../server/src/schema/field-types.ts';
import { createFieldDraft, diffField } from '../src/admin/collections/field-draft.ts';
import { keyOptionsByType, optionKinds, optionsByType, typeGroups } from '../src/admin/collections/field-types.ts';
import { filterOperators, findOpposite, listOperators } from '../src/admin/filter/operators.ts';
import { parseInputText, toInputText } from '../src/admin/records/value-text.ts';
import { en } from '../src/ui/i18n/en.ts';

const shapes = { one: 'one', list: 'list', pair: 'pair', none: 'flag', period: 'period', periods: 'periods' } as const;

test('the filter offers every operator of the protocol with its operand, and has labels for it', () => {
  const known = Object.entries(operators).filter(([name]) => name !== '$endWith'); // another spelling of $endsWith
  expect(Object.keys(filterOperators).sort()).toEqual(known.map(([name]) => name).sort());
  for (const [name, { family, operand }] of known) {
    const [ownFamily, ownOperand] = filterOperators[name]!;
    expect([name, ownFamily, shapes[ownOperand]]).toEqual([name, family, operand]);
    expect(en.data.records.operators[name], name).toBeTruthy();
  }
});

test('a negated flag is the complementary operator of the protocol', () => {
  for (const [name, { operand, complementOf }] of Object.entries(operators)) {
    if (operand === 'flag') expect(findOpposite(findOpposite(name)!), name).toBe(name);
    if (operand === 'flag' && complementOf) expect(findOpposite(name)).toBe(complementOf);
  }
});

test('each field type is offered with the operators that the server accepts for it', () => {
  const offered = Object.values(typeGroups).flat().sort();
  expect(offered).toEqual(fieldTypes.names().sort());
  for (const type of fieldTypes.all()) {
    const { name } = type;
    expect(en.data.types.names[name], name).toBeTruthy();
    const expected =
      name === 'password'
        ? []
        : Object.entries(operators).filter(([each, { family }]) => each !== '$endWith' && type.operators.has(family));
    const own = listOperators({ name: 'x', type: name, ...(type.relation && { target: 'y' }) });
    expect([name, own.sort()]).toEqual([name, expected.map(([each]) => each).sort()]);
  }
});

/** Fails to compile if a field definition has a property that is missing in the DTO Field, and so in the form. */
const known: Exclude<keyof FieldDefinition, keyof Field> extends never ? true : false = true;

test('the form of a field has every option of its type, and no other', () => {
  expect(known).toBe(true);
  for (const name of fieldTypes.names()) {
    const own = new Set<string>([...optionsByType[name]!, ...(keyOptionsByType[name] ?? [])]);
    expect(own.has('uiSchema'), name).toBe(true);
    for (const option of Object.keys(optionKinds) as (keyof typeof optionKinds)[]) {
      expect(en.data.types.options[option], option).toBeTruthy();
      const taken = takes({ name: 'x', type: name, target: 'y', enum: ['a'], [option]: undefined }, option);
      if (taken === null || pointless.has(`${name}.${option}`)) continue;
      expect([`${name}.${option}`, own.has(option)]).toEqual([`${name}.${option}`, taken]);
    }
  }
});

/** Options that are accepted because the specification demands it, but whose permitted values have no effect. */
const sayingNothing: Readonly<Record<string, readonly string[]>> = {
  date: ['dateOnly'],
  time: ['dateOnly'],
  integer: ['scale'],
  bigInt: ['scale'],
};

/** Options that the server accepts for every column, but that are refused or meaningless for these types. */
const pointless = new Set<string>(
  fieldTypes.all().flatMap((type) => {
    const key = ['integer', 'bigInt', 'string', 'uid'].includes(type.name) ? [] : ['primaryKey'];
    const counts = ['integer', 'bigInt'].includes(type.name) ? [] : ['autoIncrement'];
    const index = type.sortable ? [] : ['index', 'unique'];
    const given = ['password', 'file'].includes(type.name) ? ['defaultValue'] : [];
    const ordered = type.name === 'sort' ? ['required', 'unique', 'index', 'allowNull', 'defaultValue'] : [];
    const twice = type.name === 'boolean' ? ['unique'] : [];
    const elsewhere = type.relation && type.name !== 'belongsTo' ? ['required', 'unique', 'index'] : [];
    const harmless = type.relation ? ['allowNull', 'defaultValue', ...elsewhere] : (sayingNothing[type.name] ?? []);
    const all = [...key, ...counts, ...(type.relation ? [] : index), ...given, ...ordered, ...twice, ...harmless];
    return all.map((option) => `${type.name}.${option}`);
  }),
);

/** Whether a type has an option, according to the check of definitions. */
function takes(field: Record<string, unknown>, option: string): boolean | null {
  try {
    checkField({ ...field, [option]: { no: 'value' } });
  } catch (error) {
    const said = (error as { details?: Record<string, string> }).details?.[option];
    return said === undefined ? null : !said.includes('has no property');
  }
  return null;
}

test('only the differences of a changed field are sent, and options that its new type does not have are removed', () => {
  const field = { name: 's', type: 'string', maxLength: 5, defaultValue: '5' };
  expect(diffField(field, { ...createFieldDraft(field), title: 'S' })).toEqual({ title: 'S' });
  const whole = { name: 'n', type: 'integer', scale: 0, min: 1, defaultValue: 5 };
  expect(diffField(whole, { ...createFieldDraft(whole), type: 'boolean', options: {} })).toEqual({
    type: 'boolean',
    scale: null,
    min: null,
    defaultValue: null,
  });
});

test('texts of inputs are converted to API values', () => {
  const at = { name: 'at', type: 'datetime' };
  const moment = '2026-11-21T15:04:05.000Z';
  expect(parseInputText(at, toInputText(at, moment))).toEqual({ value: moment });
  expect(parseInputText({ name: 'n', type: 'integer' }, 'x')).toEqual({ problem: 'number' });
  expect(parseInputText({ name: 'b', type: 'bigInt' }, '9007199254740993')).toEqual({ value: '9007199254740993' });
  expect(parseInputText({ name: 'd', type: 'decimal' }, '1.10')).toEqual({ value: '1.10' });
  expect(parseInputText({ name: 's', type: 'string' }, '')).toEqual({ value: null });
});

test('an edited time in the hour that is repeated at the end of summer time stays in its half', () => {
  const zone = process.env['TZ'];
  process.env['TZ'] = 'America/New_York';
  try {
    const at = { name: 'at', type: 'datetime' };
    const edit = (text: string, previous?: string) => parseInputText(at, text, previous);
    expect(toInputText(at, '2026-11-01T06:30:00.000Z')).toBe('2026-11-01T01:30:00');
    expect(edit('2026-11-01T01:31:00', '2026-11-01T06:30:00.000Z')).toEqual({ value: '2026-11-01T06:31:00.000Z' });
    expect(edit('2026-11-01T01:31:00', '2026-11-01T05:30:00.000Z')).toEqual({ value: '2026-11-01T05:31:00.000Z' });
    expect(edit('2026-11-01T01:31:00')).toEqual({ value: '2026-11-01T05:31:00.000Z' });
    expect(edit('2026-07-01T01:31:00', '2026-11-01T06:30:00.000Z')).toEqual({ value: '2026-07-01T05:31:00.000Z' });
    // 02:30 does not exist on the day when summer time begins.
    for (const previous of ['2026-03-08T06:30:00.000Z', '2026-03-08T07:30:00.000Z'])
      expect(edit('2026-03-08T02:30:00', previous)).toEqual({ value: '2026-03-08T07:30:00.000Z' });
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});

test('json values keep all digits, and are plain numbers if a plain number is exact', () => {
  const exact = '{"a":9007199254740993,"b":[0.10000000000000000001,-1e999,{"c":12345678901234567890123}],"d":"1e999"}';
  const field = { name: 'extra', type: 'json' };
  const read = parseInputText(field, exact) as { value: Record<string, unknown> };
  expect(toInputText(field, read.value)).toBe(exact);
  const plain = '[1e5,1.50,0.30000000000000004,9007199254740992,-0.0,1E-7,1000000000000000000000,0e9]';
  expect(parseInputText(field, plain)).toEqual({ value: JSON.parse(plain) });
  expect(parseInputText(field, '{"a":9007199254740993')).toEqual({ problem: 'json' });
});
