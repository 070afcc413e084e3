/** The form of one field: its name, its type, and the options of this type. */
import { Checkbox, Group, Select, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import type { FieldDraft } from './field-draft.ts';
import {
  isRelation,
  keyOptionsByType,
  type OptionName,
  optionKinds,
  optionsByType,
  typeGroups,
} from './field-types.ts';
import { RelationForm } from './relation-form.tsx';

interface FieldFormProps {
  readonly draft: FieldDraft;
  readonly change: (draft: FieldDraft) => void;
  /** Names of the collections that a relation can target. */
  readonly targets: readonly string[];
  /** The collection that the field belongs to, and all collections, for the existing links that a relation can use. */
  readonly collectionName?: string;
  readonly collections?: readonly Collection[];
  /** The field already exists. */
  readonly exists?: boolean;
  /** The collection is new, so the field can be its primary key. */
  readonly mayBeKey?: boolean;
  /** Error messages of the server, by property. */
  readonly problems?: Readonly<Record<string, string>>;
}

export function FieldForm(props: FieldFormProps): ReactNode {
  const { draft, change, targets, mayBeKey = false, problems = {} } = props;
  const t = useTexts();
  const options = [...(optionsByType[draft.type] ?? []), ...((mayBeKey && keyOptionsByType[draft.type]) || [])];
  const booleanOptions = options.filter((name) => optionKinds[name] === 'truth');
  const otherOptions = options.filter((name) => optionKinds[name] !== 'truth');
  const set = (name: OptionName, value: string | boolean): void =>
    change({ ...draft, options: { ...draft.options, [name]: value } });
  const labelFields = <LabelFields draft={draft} change={change} problems={problems} />;
  const option = (name: OptionName): ReactNode =>
    optionKinds[name] === 'truth' ? (
      <BooleanOption key={name} name={name} draft={draft} set={set} error={problems[name]} />
    ) : (
      <Option
        key={name}
        name={name}
        value={String(draft.options[name] ?? '')}
        change={(value) => set(name, value)}
        error={problems[name]}
      />
    );
  const relation = isRelation(draft.type);
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <TextInput
          label={t.data.definition.name}
          value={draft.name}
          onChange={(event) => change({ ...draft, name: event.currentTarget.value })}
          error={problems['name'] ?? problems['newName']}
          required
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
        />
        <TypeSelect type={draft.type} change={(type) => change({ ...draft, type })} error={problems['type']} />
        {!relation && labelFields}
        {!relation && otherOptions.map(option)}
      </SimpleGrid>
      {relation ? (
        <RelationForm
          draft={draft}
          change={change}
          collectionName={props.collectionName ?? ''}
          targets={targets}
          collections={props.collections ?? []}
          exists={props.exists ?? false}
          problems={problems}
          option={option}
          rest={labelFields}
        />
      ) : (
        <Group gap="md">{booleanOptions.map(option)}</Group>
      )}
    </Stack>
  );
}

function LabelFields({
  draft,
  change,
  problems,
}: Required<Pick<FieldFormProps, 'draft' | 'change' | 'problems'>>): ReactNode {
  const t = useTexts();
  return (
    <>
      <TextInput
        label={t.data.definition.title}
        value={draft.title}
        onChange={(event) => change({ ...draft, title: event.currentTarget.value })}
        error={problems['title']}
      />
      <TextInput
        label={t.common.description}
        value={draft.description}
        onChange={(event) => change({ ...draft, description: event.currentTarget.value })}
        error={problems['description']}
      />
    </>
  );
}

interface BooleanOptionProps {
  readonly name: OptionName;
  readonly draft: FieldDraft;
  readonly set: (name: OptionName, value: boolean) => void;
  readonly error: string | undefined;
}

function BooleanOption({ name, draft, set, error }: BooleanOptionProps): ReactNode {
  const t = useTexts().data.types;
  return (
    <Checkbox
      label={name === 'multiple' && draft.type === 'file' ? t.multipleFiles : t.options[name]}
      checked={draft.options[name] === undefined ? name === 'allowNull' : draft.options[name] === true}
      onChange={(event) => set(name, event.currentTarget.checked)}
      error={error}
    />
  );
}

function TypeSelect({
  type,
  change,
  error,
}: {
  type: string;
  change: (type: string) => void;
  error: string | undefined;
}): ReactNode {
  const t = useTexts().data;
  const data = Object.entries(typeGroups).map(([group, types]) => ({
    group: t.types.groups[group as keyof typeof typeGroups],
    items: types.map((value) => ({ value, label: t.types.names[value] ?? value })),
  }));
  return (
    <Select
      label={t.definition.type}
      data={data}
      value={type}
      onChange={(value) => value && change(value)}
      error={error}
      searchable
      allowDeselect={false}
      maxDropdownHeight={320}
      required
    />
  );
}

interface OptionProps {
  readonly name: OptionName;
  readonly value: string;
  readonly change: (value: string) => void;
  readonly error: string | undefined;
}

function Option({ name, value, change, error }: OptionProps): ReactNode {
  const t = useTexts().data.types;
  const kind = optionKinds[name];
  const shared = {
    label: t.options[name],
    description: t.hints[name],
    error,
    inputWrapperOrder: ['label', 'input', 'description', 'error'] as ('label' | 'input' | 'description' | 'error')[],
  };
  if (kind === 'choices' || kind === 'object')
    return (
      <Textarea
        {...shared}
        value={value}
        onChange={(event) => change(event.currentTarget.value)}
        autosize
        minRows={kind === 'choices' ? 2 : 1}
        required={name === 'enum'}
        spellCheck={false}
      />
    );
  return (
    <TextInput
      {...shared}
      inputMode={kind === 'whole' ? 'numeric' : kind === 'number' ? 'decimal' : 'text'}
      value={value}
      onChange={(event) => change(event.currentTarget.value)}
      spellCheck={false}
    />
  );
}
