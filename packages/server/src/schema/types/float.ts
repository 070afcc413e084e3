import { fieldType, misfit, optionChecks } from '../field-type.ts';

/** 64-bit floating point, finite. */
export const floatType = fieldType({
  name: 'float',
  storage: 'double',
  options: {
    min: optionChecks.number,
    max: optionChecks.number,
    precision: optionChecks.wholeNumber(1, 17),
    scale: optionChecks.wholeNumber(0, 17),
  },
  jsonSchema: ({ min, max, precision, scale }) => ({
    type: 'number',
    ...(min !== undefined && { minimum: min }),
    ...(max !== undefined && { maximum: max }),
    ...((precision ?? scale) !== undefined && { digits: { precision, scale } }),
  }),
  // Negative zero reads back as zero on both engines.
  read: (value) => (value === 0 ? 0 : value),
  readOperand: (value, isText) => {
    const number =
      isText && typeof value === 'string' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value) ? Number(value) : value;
    return Number.isFinite(number) ? number : misfit;
  },
});
