import { exactNumber, JsonNumber } from '../../protocol/exact-json.ts';
import { fieldType, invalidOperand, optionChecks } from '../field-type.ts';

/**
 * 64-bit floating point, finite. A fraction means the nearest such number; digits without a point that it does not hold
 * are refused, and so is what it can tell only as zero or infinity.
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
  // Negative zero reads back as zero on both engines.
  read: (value) => (value === 0 ? 0 : value),
  readExact: (number) => number.double,
  readOperand: (value, isText) => {
    const given =
      isText && typeof value === 'string' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value) ? exactNumber(value) : value;
    const number = given instanceof JsonNumber ? given.double : given;
    return Number.isFinite(number) ? number : invalidOperand;
  },
});
