import { fieldType, invalidOperand, operatorSets } from '../field-type.ts';

export const booleanType = fieldType({
  name: 'boolean',
  storage: 'boolean',
  operators: operatorSets.boolean,
  validationSchema: () => ({ type: 'boolean' }),
  readOperand: (value, isText) => {
    if (typeof value === 'boolean') return value;
    if (isText && (value === 'true' || value === '1')) return true;
    return isText && (value === 'false' || value === '0') ? false : invalidOperand;
  },
});
