import { fieldType, invalidOperand, optionChecks } from '../field-type.ts';

const minInteger = -2_147_483_647;
const maxIntegerValue = 2_147_483_647;

/** Whole numbers of ±(2^31−1). */
export const integerType = fieldType({
  name: 'integer',
  storage: 'integer',
  options: {
    min: optionChecks.number,
    max: optionChecks.number,
    precision: optionChecks.wholeNumber(1, 10),
    scale: optionChecks.noScale,
  },
  validationSchema: ({ min, max, precision }) => ({
    type: 'integer',
    minimum: Math.max(minInteger, min ?? minInteger),
    maximum: Math.min(maxIntegerValue, max ?? maxIntegerValue),
    ...(precision !== undefined && { digits: { precision, scale: 0 } }),
  }),
  readOperand: (value, isText) => {
    const number = isText && typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    return Number.isSafeInteger(number) ? number : invalidOperand;
  },
});
