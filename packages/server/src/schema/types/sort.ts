import { fieldType } from '../field-type.ts';
import { fieldNameProblem } from '../names.ts';
import { maxSortPosition } from '../number-ranges.ts';
import { bigIntType } from './big-int.ts';

/**
 * A position in an order of all records, or of those with the same `scopeKey`. New records are added at the end. At
 * most 2^52 in size.
 */
export const sortType = fieldType({
  ...bigIntType,
  name: 'sort',
  options: { scopeKey: fieldNameProblem },
  validationSchema: () => ({
    type: ['integer', 'string'],
    bigInt: true,
    given: maxSortPosition,
  }),
});
