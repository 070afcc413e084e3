import { fieldType, operatorSets, optionChecks } from '../field-type.ts';
import { checkPattern, readTextOperand, textSchema } from './string.ts';

/** Long text. `pattern` runs in a linear-time engine, as in string fields. */
export const textType = fieldType({
  name: 'text',
  storage: 'text',
  operators: operatorSets.text,
  options: { maxLength: optionChecks.wholeNumber(1, 10_000_000), pattern: checkPattern },
  validationSchema: textSchema,
  readOperand: readTextOperand,
});
