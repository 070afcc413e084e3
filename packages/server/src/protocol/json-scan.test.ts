import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonScanner, type ScanFinding, type ScanLimits } from './json-scan.ts';

const limits = { values: 10, depth: 3, keys: 4 };
const forbidden = new Set(['__proto__']);

/** Scans a text that arrives in pieces. `ends` are the byte positions at which the pieces end. */
function scanned(text: string, bounds: ScanLimits, ends: readonly number[] = []): ScanFinding {
  const bytes = Buffer.from(text);
  const scanner = new JsonScanner(bounds, forbidden);
  const cuts = [0, ...ends.map((end) => Math.min(end, bytes.length)).sort((one, other) => one - other), bytes.length];
  let finding: ScanFinding = null;
  for (let piece = 1; piece < cuts.length; piece += 1)
    finding = scanner.scan(bytes.subarray(cuts[piece - 1], cuts[piece]));
  return finding;
}

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
    // The contents of strings are not counted, even if they contain escapes.
    ['["[[[[,,,,,,,,,,,,,"]', null],
    [`["\\"${',['.repeat(20)}\\\\"]`, null],
    [`["\\\\",${'1,'.repeat(10)}1]`, 'values'],
    ['["a":', null],
    ['"open, [[[[ and never closed', null],
    ['', null],
  ])('%s: %s', (text, finding) => {
    expect(scanned(text, limits)).toBe(finding);
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
    expect(scanned(text, { ...limits, values: 100 })).toEqual(isFound ? { forbiddenKey: '__proto__' } : null);
  });

  test('finds the same problems wherever the chunks end', () => {
    const piece = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        '"a":',
        '"b"',
        '"é":',
        '"10":',
        '"\\u005f_proto__":',
        '"__proto__":',
      ],
      ...['1', '.', 'e9', '12345678', '-', ' '],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(120)), (pieces, ends) => {
        const text = pieces.join('');
        expect(scanned(text, limits, ends)).toEqual(scanned(text, limits));
      }),
      { numRuns: 500 },
    );
  });
});
