import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTable, toBlob } from '../../../test/support/source-file.ts';
import { openTable } from './open-table.ts';
import type { SourceCell } from './table-source.ts';

const number = (text: string): SourceCell => ({ kind: 'number', text });
const json = (text: string): SourceCell => ({ kind: 'json', text });

test('a list, an object with a list, NDJSON and one object contain records', async () => {
  const expected = [[number('1')], [number('2')]];
  for (const [file, format] of [
    ['[{"a":1},{"a":2}]', 'json'],
    ['\uFEFF [ {"a":1}\n,\n{"a":2} ] ', 'json'],
    ['{"meta":{"count":2,"x":[1]},"data":[{"a":1},{"a":2}],"next":null}', 'json'],
    ['{"a":1}\n{"a":2}', 'ndjson'],
    ['{"a":1}\r\n\r\n{"a":2}\r\n', 'ndjson'],
  ] as const)
    for (const pieceSize of [1, 7, 1000]) {
      const { source, cells } = await readTable(file, {}, pieceSize);
      expect([file, source.format, cells]).toEqual([file, format, expected]);
    }
  expect((await readTable('{"a":1,"tags":[]}')).columns).toEqual(['a', 'tags']);
  expect((await readTable('{"data":[]}')).rows).toEqual([]);
  expect((await readTable('[]')).rows).toEqual([]);
});

test('lists in wholeMembers belong to the only record, unless the format is json', async () => {
  const wholeMembers = new Set(['data', 'tags']);
  for (const list of ['[{"x":[{}]},{"x":2}]', '[]'])
    for (const pieceSize of [1, 1000]) {
      const file = `{"data":${list},"name":"Ann, {[","tags":[{"a":"data"}]}\n`;
      const { source, columns, cells } = await readTable(file, { wholeMembers }, pieceSize);
      expect(source.format).toBe('ndjson');
      expect(columns).toEqual(['data', 'name', 'tags']);
      expect(cells).toEqual([[json(list), 'Ann, {[', json('[{"a":"data"}]')]]);
    }
  const response = '{"data":[{"a":1},{"a":2}]}';
  expect((await readTable(response, { wholeMembers, format: 'json' })).cells).toHaveLength(2);
  expect((await readTable(response, { wholeMembers: new Set(['tags']) })).cells).toHaveLength(2);
});

test('the line is the line number in NDJSON, and the number of the record in a list', async () => {
  const lines = async (file: string): Promise<number[]> => (await readTable(file)).rows.map(({ line }) => line);
  expect(await lines('{"a":1}\n\n{"a":\n2}\n{"a":3}')).toEqual([1, 3, 5]);
  expect(await lines('[\n{"a":1},\n\n{"a":2}]')).toEqual([1, 2]);
});

test('all digits are read, and texts differ from numbers', async () => {
  const { cells } = await readTable(
    '[{"a":9007199254740993,"b":0.1234567890123456789,"c":"5","d":1e400,"e":true,"f":null}]',
  );
  expect(cells[0]).toEqual([
    number('9007199254740993'),
    number('0.1234567890123456789'),
    '5',
    number('1e400'),
    true,
    null,
  ]);
});

test('members of objects become columns with dots, except for wholeMembers and members that are not always objects', async () => {
  const file = '[{"author":null,"mixed":{"a":1}},{"author":{"id":3,"name":"Ann"},"mixed":"text","list":[{"a":1}]}]';
  const { columns, cells } = await readTable(file);
  expect(columns).toEqual(['mixed', 'author.id', 'author.name', 'list']);
  expect(cells).toEqual([
    [json('{"a":1}'), null, null, undefined],
    [json('"text"'), number('3'), 'Ann', json('[{"a":1}]')],
  ]);
  expect((await readTable('[{"author":{"id":3}},{"author":null},{}]')).cells).toEqual([
    [number('3')],
    [null],
    [undefined],
  ]);
  const whole = await readTable(file, { wholeMembers: new Set(['author', 'list']) });
  expect(whole.columns).toEqual(['author', 'mixed', 'list']);
  expect(whole.cells[1]?.[0]).toEqual(json('{"id":3,"name":"Ann"}'));
});

test('every record is read back, whatever the chunk size', async () => {
  // No request may contain these names.
  const refusedNames = /"(?:__proto__|constructor|prototype)":/;
  const value = fc.jsonValue({ maxDepth: 3 }).filter((each) => !refusedNames.test(JSON.stringify(each)));
  const records = fc.array(fc.dictionary(fc.constantFrom('a', 'b', '1', 'ü"\\'), value), {
    minLength: 1,
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(records, fc.boolean(), fc.integer({ min: 1, max: 30 }), async (list, asLines, pieceSize) => {
      const file = asLines ? list.map((each) => JSON.stringify(each)).join('\n') : JSON.stringify(list, null, 1);
      const wholeMembers = new Set(['a', 'b', '1', 'ü"\\']);
      const { columns, cells } = await readTable(
        file,
        { wholeMembers, format: asLines ? 'ndjson' : 'json' },
        pieceSize,
      );
      const read = cells.map((row) => row.map((cell) => (cell ? JSON.parse((cell as { text: string }).text) : cell)));
      const expected = list.map((each) =>
        columns.map((name) => (name in each ? JSON.parse(JSON.stringify(each[name])) : undefined)),
      );
      expect(read).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

test('malformed and incomplete files are refused with the line or the record', async () => {
  for (const [file, message] of [
    ['[{"a":1}{"a":2}]', 'malformed outside of its records'],
    ['[{"a":1},]', 'malformed outside of its records'],
    ['[{"a":1},{"a":2}', 'malformed outside of its records'],
    ['[{"a":1}] x', 'malformed outside of its records'],
    ['[{"a":1},{"a":"', 'Record 2 is incomplete'],
    ['{"a":1}\n{"a":"', 'Line 2: the record is incomplete'],
    ['{"a":1}\n{"a":x}', 'Line 2: The record is not valid JSON'],
    ['{"a":1}\nnull', 'Line 2: every line must be a JSON object'],
    ['{"a":1}\n\nnope\n{"a":2}\n{"a":3}\n', 'Line 3: every line must be a JSON object'],
    ['{"a":1},\n{"a":2}', 'Line 1: every line must be a JSON object'],
    ['[{"a":1},5]', 'not an object'],
    ['[[1,2]]', 'not an object'],
    ['{"a":[{"x":1}],"b":[{"x":1}]}', 'several lists'],
    ['[{"a":1},{"\\u005f_proto__":1}]', 'Record 2: The key "__proto__" is not allowed'],
    ['{"a":1}\n{"b":2,"constructor":{}}', 'Line 2: The key "constructor" is not allowed'],
    [
      '{"a":1}\n{"error":"x","message":"The role was deleted.","requestId":"r"}',
      'Line 2: the export of this file failed',
    ],
    [`[{"a":${'['.repeat(2000)}${']'.repeat(2000)}}]`, 'Record 1: The JSON text is nested deeper'],
  ] as const)
    await expect(readTable(file), file.slice(0, 80)).rejects.toThrow(message);
});

test('too many different members are refused', async () => {
  const record = (from: number): string =>
    `{${Array.from({ length: 1000 }, (_, index) => `"m${from + index}":1`).join()}}`;
  const file = Array.from({ length: 20 }, (_, index) => record(index * 1000)).join('\n');
  await expect(openTable(toBlob(file))).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
});
