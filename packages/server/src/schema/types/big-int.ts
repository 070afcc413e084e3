import { JsonNumber } from '../../protocol/exact-json.ts';
import { fieldType, invalidOperand, optionChecks, toExactBound } from '../field-type.ts';

const minBigInt = -(2n ** 63n);
const maxBigInt = 2n ** 63n - 1n;

/** 64-bit integers. Input: JSON numbers or text. Output: JSON numbers up to 2^53−1 in size, otherwise text. */
export const bigIntType = fieldType({
  name: 'bigInt',
  storage: 'bigint',
  options: {
    min: optionChecks.exactNumber,
    max: optionChecks.exactNumber,
    precision: optionChecks.wholeNumber(1, 19),
    scale: optionChecks.noScale,
  },
  validationSchema: ({ min, max, precision }) => ({
    type: ['integer', 'string'],
    bigInt: true,
    ...(min !== undefined && { least: toExactBound(min) }),
    ...(max !== undefined && { greatest: toExactBound(max) }),
    ...(precision !== undefined && { digits: { precision, scale: 0 } }),
  }),
  read: (value) => canonicalBigInt(value) ?? invalidOperand,
  readExact: canonicalBigInt,
  readOperand: (value, isText) =>
    isText || typeof value !== 'boolean' ? (canonicalBigInt(value) ?? invalidOperand) : invalidOperand,
});

/** A number if JavaScript represents it exactly, otherwise its digits; null if it is not a 64-bit integer. */
export function canonicalBigInt(value: unknown): number | string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : null;
  if (value instanceof JsonNumber) return canonicalBigInt(value.text);
  if (typeof value !== 'string' || !/^-?\d{1,19}$/.test(value)) return null;
  const exact = BigInt(value);
  if (exact < minBigInt || exact > maxBigInt) return null;
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : String(exact);
}
