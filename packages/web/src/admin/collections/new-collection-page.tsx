import { Accordion, Button, Checkbox, Group, Paper, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core';
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
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { emptyDraft, type FieldDraft, toField } from './field-draft.ts';
import { FieldForm } from './field-form.tsx';
import { type IndexDraft, IndexList, toIndexes } from './index-list.tsx';

const optionNames = ['timestamps', 'authors', 'paranoid', 'logging'] as const;

interface Draft {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly options: Readonly<Record<(typeof optionNames)[number], boolean>>;
  readonly fields: readonly (FieldDraft & { readonly id: number })[];
  readonly indexes: readonly IndexDraft[];
}

const initialDraft: Draft = {
  name: '',
  title: '',
  description: '',
  options: { timestamps: true, authors: false, paranoid: false, logging: false },
  fields: [],
  indexes: [],
};

/** Defines a collection, whole or not at all. */
export function NewCollectionPage(): ReactNode {
  const t = useTexts();
  const application = useApplication();
  const navigate = useNavigate();
  const { data: schema } = useSchema();
  const [draft, setDraft] = useState(initialDraft);
  const [opened, setOpened] = useState<string | null>(null);
  const create = useMutation({
    mutationFn: () => {
      const { name, title, description, options, fields, indexes } = draft;
      return getClient(application).collections.create({
        name,
        ...(title && { title }),
        ...(description && { description }),
        options: { ...options, ...(indexes.length > 0 && { indexes: toIndexes(indexes) }) },
        fields: fields.map(toField),
      });
    },
    onSuccess: async ({ name }) => {
      await invalidate(application, 'schema');
      toast(t.data.definition.created(draft.title || name));
      await navigate({ to: '/a/$app/data/$collection', params: { app: application, collection: name } });
    },
  });
  const problems = create.error instanceof Failure ? create.error.details : {};
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!create.isPending) create.mutate();
  };
  const addField = (): void => {
    const id = Math.max(0, ...draft.fields.map((each) => each.id)) + 1;
    setDraft({ ...draft, fields: [...draft.fields, { ...emptyDraft, id }] });
    setOpened(String(id));
  };
  const targets = [...(schema?.collections ?? []).map((each) => each.name), ...(draft.name ? [draft.name] : [])];
  return (
    <Page
      title={t.data.definition.newTitle}
      description={t.data.definition.newText}
      above={
        <TextLink to="/a/$app/data" params={{ app: application }}>
          {t.data.collections.title}
        </TextLink>
      }
    >
      <Allowed resource="collections" action="create">
        <form onSubmit={submit} noValidate>
          <Stack gap="lg">
            <Paper withBorder p="md">
              <SimpleGrid cols={{ base: 1, sm: 2 }}>
                <TextInput
                  label={t.data.definition.name}
                  description={t.data.definition.nameHint}
                  value={draft.name}
                  onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
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
                  onChange={(event) => setDraft({ ...draft, title: event.currentTarget.value })}
                  error={problems['title']}
                />
              </SimpleGrid>
              <TextInput
                mt="sm"
                label={t.common.description}
                value={draft.description}
                onChange={(event) => setDraft({ ...draft, description: event.currentTarget.value })}
              />
              <Text fw={500} size="sm" mt="md" mb={6}>
                {t.data.definition.options}
              </Text>
              <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs">
                {optionNames.map((name) => (
                  <Checkbox
                    key={name}
                    label={t.data.definition.optionNames[name]}
                    checked={draft.options[name]}
                    onChange={(event) =>
                      setDraft({ ...draft, options: { ...draft.options, [name]: event.currentTarget.checked } })
                    }
                  />
                ))}
              </SimpleGrid>
            </Paper>
            <section>
              <Group justify="space-between" mb="xs">
                <Title order={2}>{t.data.definition.fields}</Title>
                <Button variant="default" leftSection={<Icon name="plus" />} onClick={addField}>
                  {t.data.definition.addField}
                </Button>
              </Group>
              {draft.fields.length === 0 && <Text c="dimmed">{t.data.definition.noFields}</Text>}
              <Accordion variant="separated" value={opened} onChange={setOpened}>
                {draft.fields.map((field, index) => (
                  <Accordion.Item key={field.id} value={String(field.id)}>
                    <Group wrap="nowrap" gap={4} pr="xs">
                      <Accordion.Control
                        icon={<Icon name={filterFieldProblems(problems, index) ? 'warning' : 'columns'} />}
                      >
                        {field.name || t.data.definition.newField}{' '}
                        <Text span c="dimmed" size="sm">
                          {t.data.types.names[field.type]}
                        </Text>
                      </Accordion.Control>
                      <IconButton
                        icon="trash"
                        label={t.data.definition.removeField(field.name || t.data.definition.newField)}
                        onClick={() =>
                          setDraft({ ...draft, fields: draft.fields.filter((each) => each.id !== field.id) })
                        }
                      />
                    </Group>
                    <Accordion.Panel>
                      <FieldForm
                        draft={field}
                        change={(next) =>
                          setDraft({
                            ...draft,
                            fields: draft.fields.map((each) =>
                              each.id === field.id ? { ...next, id: field.id } : each,
                            ),
                          })
                        }
                        collectionName={draft.name}
                        collections={schema?.collections ?? []}
                        targets={targets}
                        mayBeKey
                        problems={filterFieldProblems(problems, index) ?? {}}
                      />
                    </Accordion.Panel>
                  </Accordion.Item>
                ))}
              </Accordion>
            </section>
            {draft.fields.length > 1 && (
              <IndexList
                indexes={draft.indexes}
                change={(indexes) => setDraft({ ...draft, indexes })}
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
      </Allowed>
    </Page>
  );
}

/** What the server said of one field, by property. */
function filterFieldProblems(problems: Readonly<Record<string, string>>, index: number): Record<string, string> | null {
  const prefix = `fields[${index}].`;
  const entries = Object.entries(problems).filter(([errorPath]) => errorPath.startsWith(prefix));
  return entries.length > 0
    ? Object.fromEntries(entries.map(([errorPath, text]) => [errorPath.slice(prefix.length), text]))
    : null;
}
