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
import { inputOf } from '../records/field-input.tsx';
import { textOf } from '../records/value-text.ts';
import {
  type Condition,
  type FilterModel,
  filterOf,
  filterOperators,
  modelOf,
  operatorsFor,
  relativePeriods,
} from './filter-model.ts';

interface FilterBuilderProps {
  readonly collection: Collection;
  readonly filter: Filter | undefined;
  readonly apply: (filter: Filter | undefined) => void;
}

/** The filter of a list: applied by its button. */
export function FilterBuilder({ collection, filter, apply }: FilterBuilderProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const draft = useFilterDraft(collection, filter);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const asked = draft.read();
    if (asked !== null) apply(asked);
  };
  const clear = (): void => {
    draft.clear();
    apply(undefined);
  };
  return (
    <form onSubmit={submit} aria-label={t.title}>
      <Stack gap="sm">
        <FilterEditor draft={draft}>
          <Group gap="xs">
            <Button variant="default" onClick={clear}>
              {t.clear}
            </Button>
            <Button type="submit">{t.apply}</Button>
          </Group>
        </FilterEditor>
      </Stack>
    </form>
  );
}

/** A filter while it is written. */
export interface FilterDraft {
  readonly model: FilterModel | null;
  readonly setModel: (model: FilterModel) => void;
  /** The text of the API's own form; null while it is written as conditions. */
  readonly json: string | null;
  readonly setJson: (json: string) => void;
  readonly toggle: () => void;
  /** What was given is more than a list of conditions. */
  readonly tooRich: boolean;
  readonly paths: ReadonlyMap<string, Field>;
  readonly fieldAt: (path: string) => Field | null;
  /** The filter; undefined for none, null where the JSON is none. */
  readonly read: () => Filter | undefined | null;
  readonly clear: () => void;
}

/** What stands for a collection while there is none: no field to choose. */
export const noCollection: Collection = { name: '', title: null, description: null, fields: [], options: {} };

export function useFilterDraft(collection: Collection, filter: Filter | undefined): FilterDraft {
  const { data: schema } = useSchema();
  const [model, setModel] = useState(() => modelOf(filter));
  const [json, setJson] = useState(model ? null : JSON.stringify(filter, null, 2));
  const paths = filterPaths(collection, schema);
  const fieldAt = (path: string): Field | null => paths.get(path) ?? null;
  const conditions = (): Filter => filterOf(model!, fieldAt) ?? {};
  const read = (): Filter | undefined | null => {
    const asked = json === null ? conditions() : parsed(json);
    return asked !== null && Object.keys(asked).length === 0 ? undefined : asked;
  };
  const clear = (): void => {
    setModel({ match: '$and', conditions: [] });
    setJson(null);
  };
  const toggle = (): void => {
    const asked = json === null ? null : read();
    const next = asked === null ? null : modelOf(asked);
    if (json === null) setJson(JSON.stringify(conditions(), null, 2));
    if (!next) return;
    setModel(next);
    setJson(null);
  };
  return { model, setModel, json, setJson, toggle, tooRich: modelOf(filter) === null, paths, fieldAt, read, clear };
}

interface FilterEditorProps {
  readonly draft: FilterDraft;
  /** Variables such as `{{$user.id}}` that a value may be; none unless told. */
  readonly variables?: readonly string[];
  /** What is said of no conditions. */
  readonly none?: string;
  /** Buttons beside the switch between conditions and JSON. */
  readonly children?: ReactNode;
}

/** Conditions on fields, also behind relations; what they cannot say is written as the API's own JSON. */
export function FilterEditor({ draft, variables, none, children }: FilterEditorProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const { json } = draft;
  return (
    <>
      {json !== null ? (
        <>
          {draft.tooRich && <Alert variant="light">{t.tooRich}</Alert>}
          <JsonInput
            label={t.json}
            description={t.jsonHint}
            value={json}
            onChange={draft.setJson}
            autosize
            minRows={5}
            formatOnBlur
            error={parsed(json) === null}
          />
        </>
      ) : (
        <Conditions
          model={draft.model!}
          change={draft.setModel}
          paths={draft.paths}
          fieldAt={draft.fieldAt}
          variables={variables ?? noVariables}
          none={none ?? t.none}
        />
      )}
      <Group justify="space-between">
        <Anchor component="button" type="button" size="sm" onClick={draft.toggle}>
          {json === null ? t.json : t.conditions}
        </Anchor>
        {children}
      </Group>
    </>
  );
}

const noVariables: readonly string[] = [];

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
  readonly variables: readonly string[];
  readonly none: string;
}

function Conditions({ model, change, paths, fieldAt, variables, none }: ConditionsProps): ReactNode {
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
      {model.conditions.length === 0 && <Text c="dimmed">{none}</Text>}
      {model.conditions.map((condition, index) => (
        <ConditionRow
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no other name than its place
          key={index}
          condition={condition}
          change={(next) => set(index, next)}
          remove={() => change({ ...model, conditions: model.conditions.toSpliced(index, 1) })}
          paths={paths}
          field={fieldAt(condition.path)}
          variables={variables}
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
  readonly variables: readonly string[];
}

function ConditionRow({ condition, change, remove, paths, field, variables }: ConditionRowProps): ReactNode {
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
        {field && <Operand field={field} condition={condition} change={change} variables={variables} />}
      </SimpleGrid>
      <IconButton icon="x" label={t.remove} onClick={remove} />
    </Group>
  );
}

interface OperandProps {
  readonly field: Field;
  readonly condition: Condition;
  readonly change: (condition: Condition) => void;
  readonly variables: readonly string[];
}

function Operand({ field, condition, change, variables }: OperandProps): ReactNode {
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
  if (kind === 'one' && variables.length > 0)
    return (
      <Autocomplete
        aria-label={t.filterBuilder.value}
        data={[...(field.enum ?? []), ...variables]}
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
