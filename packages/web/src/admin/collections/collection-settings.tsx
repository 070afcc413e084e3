import { Button, Group, List, Stack, Text, TextInput, Title } from '@mantine/core';
import { type Collection, Failure } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { FormProblem } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type CollectionOptions, OptionCheckboxes, optionNames } from './collection-options.tsx';
import { createIndexDrafts, type IndexDraft, IndexList, toIndexes } from './index-list.tsx';
import { SearchIndexFields } from './search-index-fields.tsx';

/** The title, description, indexes and options of a collection. */
export function CollectionSettings({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts();
  const [labels, setLabels] = useState({ title: collection.title ?? '', description: collection.description ?? '' });
  const [options, setOptions] = useState(() => readOptions(collection));
  const [indexes, setIndexes] = useState(() => createIndexDrafts(collection.options.indexes));
  const [search, setSearch] = useState(collection.options.search ?? []);
  const save = useSaveSettings(collection);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!save.isPending) save.mutate({ ...labels, options, indexes, search });
  };
  return (
    <section>
      <Title order={2} mb="xs">
        {t.data.definition.details}
      </Title>
      <form onSubmit={submit}>
        <Stack gap="sm" maw={520}>
          <TextInput
            label={t.data.definition.title}
            value={labels.title}
            onChange={(event) => setLabels({ ...labels, title: event.currentTarget.value })}
          />
          <TextInput
            label={t.common.description}
            value={labels.description}
            onChange={(event) => setLabels({ ...labels, description: event.currentTarget.value })}
          />
          <IndexList
            indexes={indexes}
            change={setIndexes}
            fields={collection.fields.filter((field) => !field.target).map((field) => field.name)}
            error={save.error instanceof Failure ? save.error.details['options.indexes'] : undefined}
          />
          <SearchIndexFields
            collection={collection}
            search={search}
            change={setSearch}
            error={save.error instanceof Failure ? save.error.details['options.search'] : undefined}
          />
          <Text fw={500} size="sm">
            {t.data.definition.options}
          </Text>
          <OptionCheckboxes options={options} change={setOptions} />
          <FormProblem error={save.error} />
          <Group>
            <Button type="submit" variant="default" loading={save.isPending}>
              {t.data.definition.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </section>
  );
}

interface Settings {
  readonly title: string;
  readonly description: string;
  readonly options: CollectionOptions;
  readonly indexes: readonly IndexDraft[];
  readonly search: readonly string[];
}

/** Saves the settings. If data would be lost by it, the user is asked first; the result is null if the answer is no. */
function useSaveSettings(collection: Collection) {
  const t = useTexts().data.definition;
  const application = useApplication();
  return useMutation({
    mutationFn: async (settings: Settings) => {
      const change = buildChange(collection, settings);
      const { collections } = getClient(application);
      try {
        return await collections.update(collection.name, change);
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== 'DATA_WOULD_BE_LOST') throw error;
        const { optionsLost: title, optionsLose: confirmLabel } = t;
        if (!(await confirm({ title, text: <DataLossList failure={error} />, confirmLabel, danger: true })))
          return null;
        return collections.update(collection.name, change, true);
      }
    },
    onSuccess: async (saved) => {
      if (!saved) return;
      await invalidate(application);
      toast(t.saved);
    },
  });
}

/** The request body of `collections.update`: the labels, and the options and indexes that have changed. */
function buildChange(collection: Collection, { title, description, options, indexes, search }: Settings) {
  const before = toIndexes(createIndexDrafts(collection.options.indexes));
  const after = toIndexes(indexes);
  const haveIndexesChanged = JSON.stringify(after) !== JSON.stringify(before);
  return {
    title: title || null,
    description: description || null,
    options: {
      ...findChangedOptions(collection, options),
      ...(haveIndexesChanged && { indexes: after }),
      ...(JSON.stringify(search) !== JSON.stringify(collection.options.search ?? []) && { search }),
    },
  };
}

/** The data that would be deleted by switching options off. */
function DataLossList({ failure }: { failure: Failure }): ReactNode {
  const names = useTexts().data.definition.optionNames;
  return (
    <List size="sm">
      {optionNames.map((name) => {
        const loss = failure.details[`options.${name}`];
        return (
          loss && (
            <List.Item key={name}>
              {names[name]}: {loss}
            </List.Item>
          )
        );
      })}
    </List>
  );
}

function readOptions({ options }: Collection): CollectionOptions {
  const { timestamps = false, authors = false, paranoid = false, logging = false } = options;
  return { timestamps, authors, paranoid, logging };
}

/** The options whose value has changed. */
function findChangedOptions(collection: Collection, options: CollectionOptions): Partial<CollectionOptions> {
  const before = readOptions(collection);
  const changedNames = optionNames.filter((name) => before[name] !== options[name]);
  return Object.fromEntries(changedNames.map((name) => [name, options[name]]));
}
