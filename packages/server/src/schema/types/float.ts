import { exactNumber, JsonNumber } from '../../protocol/exact-json.ts';
import { fieldType, invalidOperand, optionChecks } from '../field-type.ts';

/**
 * Finite 64-bit floating-point numbers. A fraction is rounded to the nearest such number. Integers in digits that
 * cannot be represented exactly are refused, and so are numbers that would become zero or infinite.
 */
export const floatType = fieldType({
  name: 'float',
  storage: 'double',
  options: {
    min: optionChecks.number,
    max: optionChecks.number,
    precision: optionChecks.wholeNumber(1, 17),
    scale: optionChecks.wholeNumber(0, 17),
  },
  validationSchema: ({ min, max, precision, scale }) => ({
    type: 'number',
    ...(min !== undefined && { minimum: Number(min) }),
    ...(max !== undefined && { maximum: Number(max) }),
    ...((precision ?? scale) !== undefined && { digits: { precision, scale } }),
  }),
  // Both engines return negative zero as zero.
  read: (value) => (value === 0 ? 0 : value),
  readExact: (number) => number.double,
  readOperand: (value, isText) => {
    const given =
      isText && typeof value === 'string' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value) ? exactNumber(value) : value;
    const number = given instanceof JsonNumber ? given.double : given;
    return Number.isFinite(number) ? number : invalidOperand;
  },
});
