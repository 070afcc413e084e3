import { fieldType, misfit, optionChecks } from '../field-type.ts';

const least = -2_147_483_647;
const most = 2_147_483_647;

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
  jsonSchema: ({ min, max, precision }) => ({
    type: 'integer',
    minimum: Math.max(least, min ?? least),
    maximum: Math.min(most, max ?? most),
    ...(precision !== undefined && { digits: { precision, scale: 0 } }),
  }),
  readOperand: (value, isText) => {
    const number = isText && typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    return Number.isSafeInteger(number) ? number : misfit;
  },
});
