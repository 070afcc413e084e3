import { Button, Checkbox, Group, List, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core';
import { type Collection, Failure } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { FormProblem } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { createIndexDrafts, IndexList, toIndexes } from './index-list.tsx';

const optionNames = ['timestamps', 'authors', 'paranoid', 'logging'] as const;
type Options = Readonly<Record<(typeof optionNames)[number], boolean>>;

/** What people call a collection, what it keeps of its records, and what its indexes are. */
export function CollectionSettings({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts();
  const application = useApplication();
  const [labels, setLabels] = useState({ title: collection.title ?? '', description: collection.description ?? '' });
  const [options, setOptions] = useState(() => readOptions(collection));
  const [indexes, setIndexes] = useState(() => createIndexDrafts(collection.options.indexes));
  const haveIndexesChanged =
    JSON.stringify(toIndexes(indexes)) !== JSON.stringify(toIndexes(createIndexDrafts(collection.options.indexes)));
  const save = useMutation({
    mutationFn: async () => {
      const change = {
        title: labels.title || null,
        description: labels.description || null,
        options: {
          ...findChangedOptions(collection, options),
          ...(haveIndexesChanged && { indexes: toIndexes(indexes) }),
        },
      };
      const { collections } = getClient(application);
      try {
        return await collections.update(collection.name, change);
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== 'DATA_WOULD_BE_LOST') throw error;
        const { optionsLost: title, optionsLose: confirmLabel } = t.data.definition;
        if (!(await confirm({ title, text: <DataLossList failure={error} />, confirmLabel, danger: true })))
          return null;
        return collections.update(collection.name, change, true);
      }
    },
    onSuccess: async (saved) => {
      if (!saved) return;
      await invalidate(application);
      toast(t.data.definition.saved);
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!save.isPending) save.mutate();
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
          <Text fw={500} size="sm">
            {t.data.definition.options}
          </Text>
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs">
            {optionNames.map((name) => (
              <Checkbox
                key={name}
                label={t.data.definition.optionNames[name]}
                checked={options[name]}
                onChange={(event) => setOptions({ ...options, [name]: event.currentTarget.checked })}
              />
            ))}
          </SimpleGrid>
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

/** What switching options off would delete, by option. */
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

function readOptions({ options }: Collection): Options {
  const { timestamps = false, authors = false, paranoid = false, logging = false } = options;
  return { timestamps, authors, paranoid, logging };
}

/** The options that were switched. */
function findChangedOptions(collection: Collection, options: Options): Partial<Options> {
  const before = readOptions(collection);
  const changedNames = optionNames.filter((name) => before[name] !== options[name]);
  return Object.fromEntries(changedNames.map((name) => [name, options[name]]));
}
