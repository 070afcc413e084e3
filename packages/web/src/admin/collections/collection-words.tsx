import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { type Collection, Failure } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { FormProblem } from '../../data/problem.tsx';
import { forget } from '../../data/queries.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { IndexList, indexDrafts, indexesOf } from './index-list.tsx';

/** What people call a collection, and what its indexes are. */
export function CollectionWords({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts();
  const application = useApplication();
  const [words, setWords] = useState({ title: collection.title ?? '', description: collection.description ?? '' });
  const [indexes, setIndexes] = useState(() => indexDrafts(collection.options.indexes));
  const changed =
    JSON.stringify(indexesOf(indexes)) !== JSON.stringify(indexesOf(indexDrafts(collection.options.indexes)));
  const save = useMutation({
    mutationFn: () =>
      clientOf(application).collections.update(collection.name, {
        title: words.title || null,
        description: words.description || null,
        ...(changed && { options: { indexes: indexesOf(indexes) } }),
      }),
    onSuccess: async () => {
      await forget(application, 'schema');
      toast(t.data.definition.saved);
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!save.isPending) save.mutate();
  };
  const kept = (['timestamps', 'authors', 'paranoid', 'logging'] as const).filter((name) => collection.options[name]);
  return (
    <section>
      <Title order={2} mb="xs">
        {t.data.definition.details}
      </Title>
      <form onSubmit={submit}>
        <Stack gap="sm" maw={520}>
          <TextInput
            label={t.data.definition.title}
            value={words.title}
            onChange={(event) => setWords({ ...words, title: event.currentTarget.value })}
          />
          <TextInput
            label={t.common.description}
            value={words.description}
            onChange={(event) => setWords({ ...words, description: event.currentTarget.value })}
          />
          <IndexList
            indexes={indexes}
            change={setIndexes}
            fields={collection.fields.filter((field) => !field.target).map((field) => field.name)}
            error={save.error instanceof Failure ? save.error.details['options.indexes'] : undefined}
          />
          <Text size="sm" c="dimmed">
            {[...kept.map((name) => t.data.definition.optionNames[name]), t.data.definition.optionsFixed].join(' · ')}
          </Text>
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
