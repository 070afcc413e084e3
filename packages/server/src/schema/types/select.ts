import type { FieldDefinition } from '../../protocol/definition.ts';
import { lengthProblem } from '../definition-details.ts';
import { type FieldType, fieldType, invalidOperand, operatorSets, optionChecks } from '../field-type.ts';

const maxChoiceLength = 255;
const maxChoices = 500;

/** One of the texts in `enum`; with `multiple`, a list of different ones, which cannot be sorted or compared. */
export const selectType = fieldType({
  name: 'select',
  storage: 'text',
  options: { enum: choicesProblem, multiple: optionChecks.truth },
  validationSchema: ({ enum: choices = [] }) => ({ type: 'string', choices }),
  readOperand: (value) => (typeof value === 'string' ? value : invalidOperand),
  forDefinition: (definition) => (definition.multiple ? multipleSelectType : selectType),
});

const multipleSelectType: FieldType = {
  ...selectType,
  storage: 'json',
  sortable: false,
  operators: operatorSets.array,
  validationSchema: ({ enum: choices = [] }: FieldDefinition) => ({
    type: 'array',
    choicesOf: choices,
  }),
};

function choicesProblem(value: unknown): string | null {
  const holds =
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= maxChoices &&
    new Set(value).size === value.length &&
    value.every((each) => typeof each === 'string' && each !== '' && lengthProblem(each, maxChoiceLength) === null);
  return holds
    ? null
    : `Give a list of 1 to ${maxChoices} distinct texts of at most ${maxChoiceLength} characters each.`;
}
