import { JsonNumber } from '../../protocol/exact-json.ts';
import { exactBound, fieldType, misfit, optionChecks } from '../field-type.ts';

const least = -(2n ** 63n);
const most = 2n ** 63n - 1n;

/** 64-bit whole numbers: JSON numbers or text, in; JSON numbers up to 2^53−1 in size and text beyond, out. */
export const bigIntType = fieldType({
  name: 'bigInt',
  storage: 'bigint',
  options: {
    min: optionChecks.exactNumber,
    max: optionChecks.exactNumber,
    precision: optionChecks.wholeNumber(1, 19),
    scale: optionChecks.noScale,
  },
  jsonSchema: ({ min, max, precision }) => ({
    type: ['integer', 'string'],
    bigInt: true,
    ...(min !== undefined && { least: exactBound(min) }),
    ...(max !== undefined && { greatest: exactBound(max) }),
    ...(precision !== undefined && { digits: { precision, scale: 0 } }),
  }),
  read: (value) => canonicalBigInt(value) ?? misfit,
  readExact: canonicalBigInt,
  readOperand: (value, isText) => (isText || typeof value !== 'boolean' ? (canonicalBigInt(value) ?? misfit) : misfit),
});

/** A number where JavaScript holds it exactly, else its digits; null for what is no 64-bit whole number. */
export function canonicalBigInt(value: unknown): number | string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : null;
  if (value instanceof JsonNumber) return canonicalBigInt(value.text);
  if (typeof value !== 'string' || !/^-?\d{1,19}$/.test(value)) return null;
  const exact = BigInt(value);
  if (exact < least || exact > most) return null;
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : String(exact);
}
