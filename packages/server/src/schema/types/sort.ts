import { fieldType } from '../field-type.ts';
import { fieldNameProblem } from '../names.ts';
import { bigIntType } from './big-int.ts';

/** A place in an order of the records, of all or of those with the same `scopeKey`; new ones go to the end. */
export const sortType = fieldType({
  ...bigIntType,
  name: 'sort',
  options: { scopeKey: fieldNameProblem },
});
