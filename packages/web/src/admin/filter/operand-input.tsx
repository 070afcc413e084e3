/** The input of an operand: one value, two values, a list, or a period. */
import { Autocomplete, Group, Select, TagsInput, TextInput } from '@mantine/core';
import type { Field } from '@tablinum/client';
import { createContext, type ReactNode, use, useState } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { getInputProps } from '../records/field-input.tsx';
import { toInputText } from '../records/value-text.ts';
import type { Condition } from './filter-model.ts';
import { operandProblem } from './operand.ts';
import { filterOperators, relativePeriods } from './operators.ts';

interface OperandInputProps {
  readonly field: Field;
  readonly condition: Condition;
  readonly change: (condition: Condition) => void;
  readonly variables: readonly string[];
}

const inlineComboboxProps = { withinPortal: false } as const;

/** Whether invalid values are marked before their input loses the focus. */
export const FilterCheckedContext = createContext(false);

export function OperandInput({ field, condition, change, variables }: OperandInputProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const kind = filterOperators[condition.operator]?.[1] ?? 'one';
  const [first = '', second = ''] = condition.texts;
  const set = (...texts: readonly string[]): void => change({ ...condition, texts });
  const [left, setLeft] = useState(false);
  const isChecked = use(FilterCheckedContext) || left;
  const getProblem = (text: string): string | null => {
    const problem = isChecked ? operandProblem(field, condition.operator, text) : null;
    return problem && t.unreadable[problem];
  };
  const shared = {
    field,
    variables,
    period: kind === 'period' || kind === 'periods',
    getProblem,
    leave: () => setLeft(true),
  };
  if (kind === 'none') return null;
  if (kind === 'list')
    return (
      <TagsInput
        aria-label={t.value}
        placeholder={condition.texts.length === 0 ? t.listHint : ''}
        data={[...(field.enum ?? []), ...variables]}
        value={[...condition.texts]}
        onChange={(texts) => set(...texts)}
        error={condition.texts.map(getProblem).find((each) => each !== null)}
        comboboxProps={inlineComboboxProps}
      />
    );
  if (kind === 'pair' || kind === 'periods')
    return (
      <Group gap={4} wrap="nowrap" align="flex-start">
        <OneValue {...shared} label={t.from} text={first} set={(text) => set(text, second)} />
        <OneValue {...shared} label={t.to} text={second} set={(text) => set(first, text)} />
      </Group>
    );
  return <OneValue {...shared} label={t.value} text={first} set={set} />;
}

interface OneValueProps {
  readonly field: Field;
  readonly label: string;
  readonly text: string;
  readonly set: (text: string) => void;
  readonly variables: readonly string[];
  readonly period: boolean;
  readonly getProblem: (text: string) => string | null;
  readonly leave: () => void;
}

function OneValue({ field, label, text, set, variables, period, getProblem, leave }: OneValueProps): ReactNode {
  const t = useTexts().data.records;
  const checked = { error: getProblem(text), onBlur: leave };
  if (period)
    return (
      <Autocomplete
        aria-label={label}
        {...checked}
        description={checked.error === null && t.filterBuilder.periodHint}
        inputWrapperOrder={['input', 'error', 'description']}
        data={[...relativePeriods]}
        value={text}
        onChange={set}
        comboboxProps={inlineComboboxProps}
      />
    );
  const choices = field.enum ?? (field.type === 'boolean' ? ['true', 'false'] : null);
  if (variables.length > 0)
    return (
      <Autocomplete
        aria-label={label}
        {...checked}
        data={[...(choices ?? []), ...variables]}
        value={text}
        onChange={set}
        comboboxProps={inlineComboboxProps}
      />
    );
  if (choices)
    return (
      <Select
        aria-label={label}
        data={choices.map((value) => ({ value, label: field.type === 'boolean' ? formatBoolean(value, t) : value }))}
        value={text || null}
        onChange={(next) => set(next ?? '')}
        comboboxProps={inlineComboboxProps}
      />
    );
  return (
    <TextInput
      aria-label={label}
      flex={1}
      {...getInputProps(field)}
      {...checked}
      value={field.type === 'datetime' ? toInputText(field, text || null) : text}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}

function formatBoolean(value: string, t: { readonly yes: string; readonly no: string }): string {
  return value === 'true' ? t.yes : t.no;
}
