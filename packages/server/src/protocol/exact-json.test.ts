import { assert as check, constantFrom, dictionary, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { numberLiterals, toScaledValue } from '../../test/support/number-literals.ts';
import {
  compareDecimals,
  exactNumber,
  JsonNumber,
  orderedObject,
  parseExactJson,
  plainJson,
  withExactParts,
} from './exact-json.ts';

test('every number keeps its decimal value', () => {
  check(
    property(numberLiterals, (literal) => {
      const [parsed] = parseExactJson(`[ ${literal} ]`) as [number | JsonNumber];
      expect(toScaledValue(JSON.stringify(parsed))).toBe(toScaledValue(literal));
      expect(String(exactNumber(literal))).toBe(String(parsed));
      // A literal that JavaScript would write in the same form is parsed as a JavaScript number.
      if (String(Number(literal)) === literal && Math.abs(Number(literal)) < 2 ** 53)
        expect(parsed).toBe(Number(literal));
    }),
    { numRuns: 3000 },
  );
});

test('numbers compare by their decimal value', () => {
  check(
    property(numberLiterals, numberLiterals, (one, other) => {
      const [a, b] = [toScaledValue(one), toScaledValue(other)];
      expect(Math.sign(compareDecimals(one, other))).toBe(a < b ? -1 : Number(a > b));
      expect(compareDecimals(one, one)).toBe(0);
    }),
  );
  expect([compareDecimals('1e21', '0100'), compareDecimals('x', '1'), compareDecimals('', '1')]).toEqual([1, NaN, NaN]);
});

test('equal numbers have the same text', () => {
  check(
    property(numberLiterals, integer({ min: 0, max: 3 }), (literal, zeros) => {
      const other = /[.eE]/.test(literal) ? literal : `${literal}.${'0'.repeat(zeros + 1)}`;
      expect(JSON.stringify(parseExactJson(other))).toBe(JSON.stringify(parseExactJson(literal)));
    }),
  );
});

test('a floating-point value is used for fractions, and for integers that it represents exactly', () => {
  const double = (source: string): number | null => {
    const number = exactNumber(source);
    return number instanceof JsonNumber ? number.double : number;
  };
  expect(['0.10000000000000001', '9007199254740992', '1e23', '1.2345678901234567890e30'].map(double)).toEqual([
    0.1, 9007199254740992, 1e23, 1.2345678901234568e30,
  ]);
  expect(['9007199254740993', '1e999', '-1e999', '1e-999', `1${'0'.repeat(400)}`].map(double)).toEqual(
    Array(5).fill(null),
  );
});

const leaves = constantFrom<unknown>(1, 'a"\\', null, true, '10', ': 1e999', -0.5, []);
const members = dictionary(
  constantFrom('10', '2', '0', '01', 'a', '-1', '4294967294', '4294967295', '"', '1e999', ' 3'),
  leaves,
);

test('members keep the order of the text', () => {
  check(
    property(members, members, (outer, inner) => {
      const write = (object: object, last = ''): string =>
        `{${Object.entries(object)
          .reverse()
          .map(([name, value]) => `${JSON.stringify(name)} : ${JSON.stringify(value)}`)
          .join(' ,')}${last}}`;
      const text = `[${write(outer)},${write(inner)}]`;
      expect(JSON.stringify(parseExactJson(text))).toBe(text.replaceAll(' : ', ':').replaceAll(' ,', ','));
      expect(plainJson(parseExactJson(text))).toEqual(JSON.parse(text));
    }),
  );
  expect(JSON.stringify(parseExactJson('{"b":1,"\\u0031\\u0030":2,"2":{"9":1,"8":1},"b":3,"10":4}'))).toBe(
    '{"b":3,"10":4,"2":{"9":1,"8":1}}',
  );
});

test('malformed text is a syntax error', () => {
  const long = '12345678901234567890';
  const texts = [
    `{${long}:1}`,
    `0${long}`,
    `${long}.`,
    `-`,
    `[${long}x]`,
    `"a${long}`,
    `.${long}`,
    `{"10":}`,
    `1e`,
    `${long}e+`,
  ];
  for (const text of texts) expect(() => parseExactJson(text), text).toThrow(SyntaxError);
});

test('an ordered object behaves like any other object', () => {
  const object = orderedObject([
    ['b', 1],
    ['10', 2],
    ['2', 3],
  ]);
  expect(Object.keys(object)).toEqual(['b', '10', '2']);
  object['1'] = 4;
  delete object['10'];
  expect(JSON.stringify(object)).toBe('{"b":1,"2":3,"1":4}');
  expect({ ...object }).toEqual({ 1: 4, 2: 3, b: 1 });
});

test('unchanged parts keep their exact text', () => {
  const text = '{"a":{"n":12345678901234567890,"m":1},"b":{"z":1,"2":[0.12345678901234567891]},"c":[{"y":1,"1":1},2]}';
  const exact = parseExactJson(text);
  const plain = plainJson(exact);
  const copy = structuredClone(plain) as Record<string, Record<string, unknown>>;
  expect(JSON.stringify(withExactParts(copy, plain, exact))).toBe(text);
  copy['a']!['m'] = 2;
  copy['d'] = {};
  (copy['c'] as unknown as unknown[])[1] = 3;
  expect(JSON.stringify(withExactParts(copy, plain, exact))).toBe(
    `${text.replace('"m":1', '"m":2').replace(',2]}', ',3]')},"d":{}}`,
  );
});
