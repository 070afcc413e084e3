import { fieldType, operatorSets } from '../field-type.ts';

/** Any JSON value, at most 100 levels deep. The order of keys is preserved. It cannot be sorted or compared. */
export const jsonType = fieldType({
  name: 'json',
  storage: 'json',
  sortable: false,
  operators: operatorSets.presence,
  validationSchema: () => ({ jsonValue: true }),
});
