import { Group, Select, SimpleGrid } from '@mantine/core';
import type { Field } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import type { FilterFields } from './filter-fields.ts';
import type { Condition } from './filter-model.ts';
import { OperandInput } from './operand-input.tsx';
import { filterOperators, listOperators } from './operators.ts';

interface ConditionRowProps {
  readonly condition: Condition;
  readonly change: (condition: Condition) => void;
  readonly remove: () => void;
  readonly fields: FilterFields;
  readonly variables: readonly string[];
}

/** One condition: a field, an operator, and a value. */
export function ConditionRow({ condition, change, remove, fields, variables }: ConditionRowProps): ReactNode {
  const { filterBuilder: t, operators } = useTexts().data.records;
  const { path, operator } = condition;
  const field = fields.fieldAt(path);
  const fittingOperators = field ? listOperators(field) : [operator];
  const offeredFields =
    field && !fields.offered.has(path) ? [...fields.offered, [path, field] as const] : [...fields.offered];
  const changeField = (next: string): void => {
    const found = fields.fieldAt(next);
    const fittingOperatorsOfNext = found ? listOperators(found) : [];
    const isOperatorKept = fittingOperatorsOfNext.includes(operator);
    change({
      ...condition,
      path: next,
      operator: isOperatorKept ? operator : (fittingOperatorsOfNext[0] ?? '$eq'),
      texts: isOperatorKept ? condition.texts : [],
    });
  };
  const changeOperator = (next: string): void => {
    const hasSameOperandKind = filterOperators[next]?.[1] === filterOperators[operator]?.[1];
    change({ ...condition, operator: next, texts: hasSameOperandKind ? condition.texts : condition.texts.slice(0, 1) });
  };
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="xs" flex={1}>
        <Select
          aria-label={t.field}
          data={offeredFields.map(([each, found]) => ({ value: each, label: formatPathTitle(each, found) }))}
          value={path}
          onChange={(next) => next && changeField(next)}
          searchable
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
        />
        <Select
          aria-label={t.operator}
          data={fittingOperators.map((value) => ({ value, label: operators[value] ?? value }))}
          value={operator}
          onChange={(next) => next && changeOperator(next)}
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
        />
        {field && <OperandInput field={field} condition={condition} change={change} variables={variables} />}
      </SimpleGrid>
      <IconButton icon="x" label={t.remove} onClick={remove} />
    </Group>
  );
}

/** The label of a field path: `artist → Name` for a field of a linked record. */
function formatPathTitle(path: string, field: Field): string {
  return [...path.split('.').slice(0, -1), getTitle(field)].join(' → ');
}
