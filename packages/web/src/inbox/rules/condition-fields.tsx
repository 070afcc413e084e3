import { Group, Select, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import { type ConditionField, changeField, operatorsByField, type RuleCondition } from './rule-types.ts';

interface ConditionFieldsProps {
  readonly condition: RuleCondition;
  readonly index: number;
  readonly change: (condition: RuleCondition) => void;
  /** Null for the only condition. */
  readonly remove: (() => void) | null;
  /** Error messages by path in the request body, such as `conditions.0.value`. */
  readonly problems: Readonly<Record<string, string>>;
}

/** One condition of a rule: field, comparison and value in one line. */
export function ConditionFields({ condition, index, change, remove, problems }: ConditionFieldsProps): ReactNode {
  const t = useInboxTexts().rules;
  const { field, operator, negate = false, header = '' } = condition;
  const label = (name: string): string => t.conditionPart(index + 1, name);
  const operators = [false, true].flatMap((isNegated) =>
    operatorsByField[field].map((each) => ({
      value: `${isNegated ? 'not ' : ''}${each}`,
      label: t.operatorName(each, isNegated),
    })),
  );
  const changeOperator = (chosen: string): void =>
    change({ ...condition, operator: chosen.replace('not ', ''), negate: chosen.startsWith('not ') });
  return (
    <Group gap="xs" align="flex-start" wrap="wrap">
      <Select
        aria-label={label(t.field)}
        data={Object.keys(operatorsByField).map((value) => ({ value, label: t.fields[value as ConditionField] }))}
        value={field}
        onChange={(chosen) => chosen && change(changeField(condition, chosen as ConditionField))}
        allowDeselect={false}
        w={170}
        error={problems[`conditions.${index}.field`]}
      />
      {field === 'header' && (
        <TextInput
          aria-label={label(t.headerName)}
          placeholder={t.headerExample}
          value={header}
          onChange={(event) => change({ ...condition, header: event.currentTarget.value })}
          w={150}
          error={problems[`conditions.${index}.header`]}
        />
      )}
      <Select
        aria-label={label(t.comparison)}
        data={operators}
        value={`${negate ? 'not ' : ''}${operator}`}
        onChange={(chosen) => chosen && changeOperator(chosen)}
        allowDeselect={false}
        w={190}
        error={problems[`conditions.${index}.operator`]}
      />
      <ConditionValue
        condition={condition}
        label={label(t.value)}
        change={(value) => change({ ...condition, value })}
        error={problems[`conditions.${index}.value`]}
      />
      {remove && <IconButton icon="x" label={t.removeCondition(index + 1)} onClick={remove} />}
    </Group>
  );
}

interface ConditionValueProps {
  readonly condition: RuleCondition;
  readonly label: string;
  readonly change: (value: RuleCondition['value']) => void;
  readonly error: string | undefined;
}

function ConditionValue({ condition: { field, value }, label, change, error }: ConditionValueProps): ReactNode {
  const t = useInboxTexts().rules;
  if (typeof value === 'boolean')
    return (
      <Select
        aria-label={label}
        data={[
          { value: 'true', label: t.yes },
          { value: 'false', label: t.no },
        ]}
        value={String(value)}
        onChange={(chosen) => chosen && change(chosen === 'true')}
        allowDeselect={false}
        w={90}
        error={error}
      />
    );
  const isSize = field === 'size';
  return (
    <TextInput
      aria-label={label}
      value={String(value)}
      onChange={(event) => change(isSize ? Number(event.currentTarget.value) : event.currentTarget.value)}
      {...(isSize && { type: 'number', min: 0, rightSection: t.bytes, rightSectionWidth: 55 })}
      placeholder={t.placeholders[field] ?? ''}
      maxLength={500}
      style={{ flex: '1 1 180px' }}
      error={error}
    />
  );
}
