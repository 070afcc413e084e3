import { Button, Group, Paper, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { Failure } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { Allowed } from '../../data/denied.tsx';
import { FormProblem } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import { useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type CollectionDraft, initialDraft, toNewCollection } from './collection-draft.ts';
import { OptionCheckboxes } from './collection-options.tsx';
import { DraftedFields } from './drafted-fields.tsx';
import { IndexList } from './index-list.tsx';

/** Defines a collection with its fields, options and indexes. It is created in one request, whole or not at all. */
export function NewCollectionPage(): ReactNode {
  const t = useTexts();
  const app = useApplication();
  return (
    <Page
      title={t.data.definition.newTitle}
      description={t.data.definition.newText}
      above={
        <TextLink to="/a/$app/data" params={{ app }}>
          {t.data.collections.title}
        </TextLink>
      }
    >
      <Allowed resource="collections" action="create">
        <CollectionForm />
      </Allowed>
    </Page>
  );
}

function CollectionForm(): ReactNode {
  const t = useTexts();
  const { data: schema } = useSchema();
  const [draft, setDraft] = useState(initialDraft);
  const change = (part: Partial<CollectionDraft>): void => setDraft({ ...draft, ...part });
  const create = useCreateCollection();
  const problems = create.error instanceof Failure ? create.error.details : {};
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!create.isPending) create.mutate(draft);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="lg">
        <CollectionLabels draft={draft} change={change} problems={problems} />
        <DraftedFields
          draft={draft}
          change={(fields) => change({ fields })}
          collections={schema?.collections ?? []}
          problems={problems}
        />
        {draft.fields.length > 1 && (
          <IndexList
            indexes={draft.indexes}
            change={(indexes) => change({ indexes })}
            fields={draft.fields.map((field) => field.name).filter(Boolean)}
            error={problems['options.indexes']}
          />
        )}
        <FormProblem error={create.error} />
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending}>
            {t.common.create}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Creates the collection and opens its list of records. */
function useCreateCollection() {
  const t = useTexts().data.definition;
  const application = useApplication();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (draft: CollectionDraft) => getClient(application).collections.create(toNewCollection(draft)),
    onSuccess: async ({ name }, draft) => {
      await invalidate(application, 'schema');
      toast(t.created(draft.title || name));
      await navigate({ to: '/a/$app/data/$collection', params: { app: application, collection: name } });
    },
  });
}

interface CollectionLabelsProps {
  readonly draft: CollectionDraft;
  readonly change: (part: Partial<CollectionDraft>) => void;
  readonly problems: Readonly<Record<string, string>>;
}

/** The name, title, description and options of a collection. */
function CollectionLabels({ draft, change, problems }: CollectionLabelsProps): ReactNode {
  const t = useTexts();
  return (
    <Paper withBorder p="md">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label={t.data.definition.name}
          description={t.data.definition.nameHint}
          value={draft.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          error={problems['name']}
          required
          autoFocus
          autoCapitalize="none"
          spellCheck={false}
        />
        <TextInput
          label={t.data.definition.title}
          description={t.data.definition.titleHint}
          value={draft.title}
          onChange={(event) => change({ title: event.currentTarget.value })}
          error={problems['title']}
        />
      </SimpleGrid>
      <TextInput
        mt="sm"
        label={t.common.description}
        value={draft.description}
        onChange={(event) => change({ description: event.currentTarget.value })}
      />
      <Text fw={500} size="sm" mt="md" mb={6}>
        {t.data.definition.options}
      </Text>
      <OptionCheckboxes options={draft.options} change={(options) => change({ options })} />
    </Paper>
  );
}
