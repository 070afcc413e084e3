import { Group, Select, SimpleGrid } from '@mantine/core';
import type { Field } from '@tablinum/client';
import type { ReactNode } from 'react';
import { titleOf } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import type { FilterFields } from './filter-fields.ts';
import type { Condition } from './filter-model.ts';
import { OperandInput } from './operand-input.tsx';
import { filterOperators, operatorsFor } from './operators.ts';

interface ConditionRowProps {
  readonly condition: Condition;
  readonly change: (condition: Condition) => void;
  readonly remove: () => void;
  readonly fields: FilterFields;
  readonly variables: readonly string[];
}

/** A field, what is asked of it, and the value beside it. */
export function ConditionRow({ condition, change, remove, fields, variables }: ConditionRowProps): ReactNode {
  const { filterBuilder: t, operators } = useTexts().data.records;
  const { path, operator } = condition;
  const field = fields.at(path);
  const fit = field ? operatorsFor(field) : [operator];
  const offered =
    field && !fields.offered.has(path) ? [...fields.offered, [path, field] as const] : [...fields.offered];
  const choose = (next: string): void => {
    const found = fields.at(next);
    const known = found ? operatorsFor(found) : [];
    const kept = known.includes(operator);
    change({
      ...condition,
      path: next,
      operator: kept ? operator : (known[0] ?? '$eq'),
      texts: kept ? condition.texts : [],
    });
  };
  const ask = (next: string): void => {
    const same = filterOperators[next]?.[1] === filterOperators[operator]?.[1];
    change({ ...condition, operator: next, texts: same ? condition.texts : condition.texts.slice(0, 1) });
  };
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="xs" flex={1}>
        <Select
          aria-label={t.field}
          data={offered.map(([each, found]) => ({ value: each, label: pathTitle(each, found) }))}
          value={path}
          onChange={(next) => next && choose(next)}
          searchable
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
        />
        <Select
          aria-label={t.operator}
          data={fit.map((value) => ({ value, label: operators[value] ?? value }))}
          value={operator}
          onChange={(next) => next && ask(next)}
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
        />
        {field && <OperandInput field={field} condition={condition} change={change} variables={variables} />}
      </SimpleGrid>
      <IconButton icon="x" label={t.remove} onClick={remove} />
    </Group>
  );
}

/** `artist → Name` for a field behind a relation. */
function pathTitle(path: string, field: Field): string {
  return [...path.split('.').slice(0, -1), titleOf(field)].join(' → ');
}
