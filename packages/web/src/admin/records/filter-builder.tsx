import {
  Alert,
  Anchor,
  Autocomplete,
  Button,
  Group,
  JsonInput,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import type { Collection, Field, Filter } from '@tablinum/client';
import { type FormEvent, type ReactNode, useState } from 'react';
import { type Schema, titleOf, useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { inputOf } from './field-input.tsx';
import {
  type Condition,
  type FilterModel,
  filterOf,
  filterOperators,
  modelOf,
  operatorsFor,
  relativePeriods,
} from './filter-model.ts';
import { textOf } from './value-text.ts';

interface FilterBuilderProps {
  readonly collection: Collection;
  readonly filter: Filter | undefined;
  readonly apply: (filter: Filter | undefined) => void;
}

/** Conditions on fields, also behind to-one relations; what they cannot say is written as the API's own JSON. */
export function FilterBuilder({ collection, filter, apply }: FilterBuilderProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const { data: schema } = useSchema();
  const [model, setModel] = useState(() => modelOf(filter));
  const [json, setJson] = useState(model ? null : JSON.stringify(filter, null, 2));
  const paths = filterPaths(collection, schema);
  const fieldAt = (path: string): Field | null => paths.get(path) ?? null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const asked = json === null ? (filterOf(model!, fieldAt) ?? {}) : parsed(json);
    if (asked !== null) apply(Object.keys(asked).length === 0 ? undefined : asked);
  };
  const clear = (): void => {
    setModel({ match: '$and', conditions: [] });
    setJson(null);
    apply(undefined);
  };
  return (
    <form onSubmit={submit} aria-label={t.title}>
      <Stack gap="sm">
        {json !== null ? (
          <>
            {modelOf(filter) === null && <Alert variant="light">{t.tooRich}</Alert>}
            <JsonInput
              label={t.json}
              description={t.jsonHint}
              value={json}
              onChange={setJson}
              autosize
              minRows={5}
              formatOnBlur
              error={parsed(json) === null}
            />
          </>
        ) : (
          <Conditions model={model!} change={setModel} paths={paths} fieldAt={fieldAt} />
        )}
        <Group justify="space-between">
          <Anchor component="button" type="button" size="sm" onClick={() => toggleJson()}>
            {json === null ? t.json : t.conditions}
          </Anchor>
          <Group gap="xs">
            <Button variant="default" onClick={clear}>
              {t.clear}
            </Button>
            <Button type="submit">{t.apply}</Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );

  function toggleJson(): void {
    if (json === null) {
      setJson(JSON.stringify(filterOf(model!, fieldAt) ?? {}, null, 2));
      return;
    }
    const read = parsed(json);
    const next = read && modelOf(Object.keys(read).length === 0 ? undefined : read);
    if (next) {
      setModel(next);
      setJson(null);
    }
  }
}

function parsed(text: string): Filter | null {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === 'object' && read !== null && !Array.isArray(read) ? (read as Filter) : null;
  } catch {
    return null;
  }
}

/** The fields of a collection, and those of the collections that it leads to, by their path. */
function filterPaths({ fields }: Collection, schema: Schema | undefined): ReadonlyMap<string, Field> {
  const paths = new Map<string, Field>();
  for (const field of fields) if (operatorsFor(field).length > 0) paths.set(field.name, field);
  for (const relation of fields.filter((field) => field.target)) {
    for (const field of schema?.byName.get(relation.target!)?.fields ?? [])
      if (!field.target && operatorsFor(field).length > 0) paths.set(`${relation.name}.${field.name}`, field);
  }
  return paths;
}

interface ConditionsProps {
  readonly model: FilterModel;
  readonly change: (model: FilterModel) => void;
  readonly paths: ReadonlyMap<string, Field>;
  readonly fieldAt: (path: string) => Field | null;
}

function Conditions({ model, change, paths, fieldAt }: ConditionsProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const set = (index: number, condition: Condition): void =>
    change({ ...model, conditions: model.conditions.with(index, condition) });
  const add = (): void => {
    const [path = '', field] = [...paths].find(([, each]) => !each.primaryKey) ?? [];
    const operator = (field && operatorsFor(field)[0]) ?? '$eq';
    change({ ...model, conditions: [...model.conditions, { path, operator, text: '' }] });
  };
  return (
    <>
      {model.conditions.length > 1 && (
        <SegmentedControl
          aria-label={t.match}
          size="xs"
          value={model.match}
          onChange={(match) => change({ ...model, match: match as FilterModel['match'] })}
          data={[
            { value: '$and', label: t.all },
            { value: '$or', label: t.any },
          ]}
        />
      )}
      {model.conditions.length === 0 && <Text c="dimmed">{t.none}</Text>}
      {model.conditions.map((condition, index) => (
        <ConditionRow
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no other name than its place
          key={index}
          condition={condition}
          change={(next) => set(index, next)}
          remove={() => change({ ...model, conditions: model.conditions.toSpliced(index, 1) })}
          paths={paths}
          field={fieldAt(condition.path)}
        />
      ))}
      <Group>
        <Button variant="subtle" leftSection={<Icon name="plus" />} onClick={add}>
          {t.add}
        </Button>
      </Group>
    </>
  );
}

interface ConditionRowProps {
  readonly condition: Condition;
  readonly change: (condition: Condition) => void;
  readonly remove: () => void;
  readonly paths: ReadonlyMap<string, Field>;
  readonly field: Field | null;
}

function ConditionRow({ condition, change, remove, paths, field }: ConditionRowProps): ReactNode {
  const { filterBuilder: t, operators } = useTexts().data.records;
  const fit = field ? operatorsFor(field) : [condition.operator];
  const choose = (path: string): void => {
    const next = paths.get(path);
    const kept = next && operatorsFor(next).includes(condition.operator);
    change({
      path,
      operator: kept ? condition.operator : ((next && operatorsFor(next)[0]) ?? '$eq'),
      text: kept ? condition.text : '',
    });
  };
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="xs" flex={1}>
        <Select
          aria-label={t.field}
          data={[...paths].map(([path, each]) => ({
            value: path,
            label: path.includes('.') ? `${path.split('.')[0]} → ${titleOf(each)}` : titleOf(each),
          }))}
          value={condition.path}
          onChange={(path) => path && choose(path)}
          searchable
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
        />
        <Select
          aria-label={t.operator}
          data={fit.map((value) => ({ value, label: operators[value] ?? value }))}
          value={condition.operator}
          onChange={(operator) => operator && change({ ...condition, operator })}
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
        />
        {field && <Operand field={field} condition={condition} change={change} />}
      </SimpleGrid>
      <IconButton icon="x" label={t.remove} onClick={remove} />
    </Group>
  );
}

function Operand({
  field,
  condition,
  change,
}: {
  field: Field;
  condition: Condition;
  change: (condition: Condition) => void;
}): ReactNode {
  const t = useTexts().data.records;
  const kind = filterOperators[condition.operator]?.[1] ?? 'one';
  const set = (text: string): void => change({ ...condition, text });
  if (kind === 'none') return null;
  if (kind === 'period')
    return (
      <Autocomplete
        aria-label={t.filterBuilder.value}
        description={t.filterBuilder.periodHint}
        inputWrapperOrder={['input', 'description']}
        data={[...relativePeriods]}
        value={condition.text}
        onChange={set}
        comboboxProps={{ withinPortal: false }}
      />
    );
  const choices = field.enum ?? (field.type === 'boolean' ? ['true', 'false'] : null);
  if (kind === 'one' && choices)
    return (
      <Select
        aria-label={t.filterBuilder.value}
        data={[...choices]}
        value={condition.text || null}
        onChange={(text) => set(text ?? '')}
        comboboxProps={{ withinPortal: false }}
      />
    );
  return (
    <TextInput
      aria-label={t.filterBuilder.value}
      {...(kind === 'one'
        ? inputOf(field)
        : {
            description: t.filterBuilder.listHint,
            inputWrapperOrder: ['input', 'description'] as ('input' | 'description')[],
          })}
      value={kind === 'one' && field.type === 'datetime' ? textOf(field, condition.text || null) : condition.text}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}
