import { fieldType, operatorSets } from '../field-type.ts';

/** A JSON list of any values, at most 100 levels deep. It cannot be sorted or compared. */
export const arrayType = fieldType({
  name: 'array',
  storage: 'json',
  sortable: false,
  operators: operatorSets.array,
  validationSchema: () => ({ type: 'array', jsonValue: true }),
});
