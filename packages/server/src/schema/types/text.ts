import { fieldType, operatorSets, optionChecks } from '../field-type.ts';
import { readTextOperand, textSchema } from './string.ts';

/** Long text. */
export const textType = fieldType({
  name: 'text',
  storage: 'text',
  operators: operatorSets.text,
  options: { maxLength: optionChecks.wholeNumber(1, 10_000_000) },
  jsonSchema: textSchema,
  readOperand: readTextOperand,
});
