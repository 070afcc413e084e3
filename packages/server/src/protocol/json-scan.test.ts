import { describe, expect, test } from 'vitest';
import { scanJson } from './json-scan.ts';

const limits = { values: 10, depth: 3, keys: 4 };
const isForbidden = (key: string): boolean => key === '__proto__';

describe('a scan of JSON text', () => {
  test.each([
    ['[1,2,3]', null],
    [`[${'1,'.repeat(9)}1]`, 'values'],
    ['{},'.repeat(5), 'values'],
    ['[[[1]]]', null],
    ['[[[[1]]]]', 'depth'],
    ['[[[]],[[]],[]]', null],
    ['[1.5,-2,300]', null],
    ['[0.1234567890123456]', 'values'],
    ['[1e9]', 'values'],
    ['[-12345678901234567890]', 'values'],
    ['{"10":1}', 'values'],
    ['["1e9","0.1234567890123456"]', null],
    ['{"a":1,"b":1,"c":1,"d":1}', null],
    ['{"a":1,"b":1,"c":1,"d":1,"e":1}', 'keys'],
    ['[{"a":1,"b":1},{"a":1,"b":1}]', null],
    // What stands in strings does not count, however the string is written.
    ['["[[[[,,,,,,,,,,,,,"]', null],
    [`["\\"${',['.repeat(20)}\\\\"]`, null],
    [`["\\\\",${'1,'.repeat(10)}1]`, 'values'],
    ['["a":', null],
    ['"open, [[[[ and never closed', null],
    ['', null],
  ])('%s: %s', (text, finding) => {
    expect(scanJson(text, limits, null)).toBe(finding);
  });

  test.each([
    ['{"__proto__":1}', true],
    ['{"a":{"__proto__" \n:1}}', true],
    ['{"\\u005f_proto__":1}', true],
    ['{"\\u005F\\u005f\\u0070\\u0072\\u006f\\u0074\\u006f\\u005f\\u005f":1}', true],
    ['["__proto__"]', false],
    ['{"a":"__proto__"}', false],
    ['{"__proto__x":1}', false],
    ['{"\\u005f_proto_":1}', false],
    ['{"\\":\\"__proto__":1}', false],
    ['{"\\u00":1}', false],
  ])('%s holds a forbidden key: %s', (text, isFound) => {
    expect(scanJson(text, { ...limits, values: 100 }, isForbidden)).toEqual(
      isFound ? { forbiddenKey: '__proto__' } : null,
    );
  });
});
