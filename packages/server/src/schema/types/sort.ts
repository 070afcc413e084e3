import { fieldType } from '../field-type.ts';
import { fieldNameProblem } from '../names.ts';
import { maxSortPosition } from '../number-ranges.ts';
import { bigIntType } from './big-int.ts';

/**
 * A position in an order of the records, of all or of those with the same `scopeKey`; new ones go to the end. Up to 2^52
 * in size.
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
