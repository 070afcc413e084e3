import { fieldType, operatorSets } from '../field-type.ts';

/** Any JSON value, key order kept, at most 100 levels deep. Neither sorts nor compares. */
export const jsonType = fieldType({
  name: 'json',
  storage: 'json',
  sortable: false,
  operators: operatorSets.presence,
  validationSchema: () => ({ jsonValue: true }),
});
