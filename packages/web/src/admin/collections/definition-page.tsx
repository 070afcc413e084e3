/** One collection as it is defined: its words, its fields, and its end. */
import { Badge, Button, Group, Modal, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { type Collection, Failure, type Field } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { Asked, FormProblem, messageOf } from '../../data/problem.tsx';
import { forget } from '../../data/queries.ts';
import { type Schema, titleOf, useSchema } from '../../data/schema.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { toast } from '../../ui/toasts.tsx';
import { changesOf, draftOf, emptyDraft, fieldOf } from './field-draft.ts';
import { FieldForm } from './field-form.tsx';
import { ImpactReport } from './impact.tsx';

export function DefinitionPage(): ReactNode {
  const { collection: name = '' } = useParams({ strict: false });
  const t = useTexts();
  const application = useApplication();
  const schema = useSchema();
  const collection = schema.data?.byName.get(name);
  const params = { app: application, collection: name };
  return (
    <Page
      title={collection ? titleOf(collection) : name}
      description={collection?.description}
      above={
        <>
          <TextLink to="/a/$app/data" params={params}>
            {t.data.collections.title}
          </TextLink>{' '}
          / {name}
        </>
      }
      actions={
        <ButtonLink variant="default" to="/a/$app/data/$collection" params={params} leftSection={<Icon name="table" />}>
          {t.data.definition.openRecords}
        </ButtonLink>
      }
    >
      <Asked query={schema}>
        {(data) =>
          collection ? (
            <Definition key={name} collection={collection} schema={data} />
          ) : (
            <Empty icon="search" title={t.common.problem.notFoundTitle} text={name} />
          )
        }
      </Asked>
    </Page>
  );
}

function Definition({ collection, schema }: { collection: Collection; schema: Schema }): ReactNode {
  const t = useTexts().data.definition;
  const changeable = schema.configures;
  return (
    <Stack gap="xl">
      {!changeable && <Text c="dimmed">{t.readOnly}</Text>}
      {collection.system && <Text c="dimmed">{t.systemText}</Text>}
      <Fields collection={collection} schema={schema} />
      {changeable && !collection.system && <Words collection={collection} />}
      {changeable && !collection.system && <Destroy collection={collection} />}
    </Stack>
  );
}

function Fields({ collection, schema }: { collection: Collection; schema: Schema }): ReactNode {
  const t = useTexts();
  const [edited, setEdited] = useState<Field | 'new' | null>(null);
  const application = useApplication();
  const remove = async (field: Field): Promise<void> => {
    const { collections } = clientOf(application);
    try {
      const impact = await collections.impactOfDestroyField(collection.name, field.name);
      const title = t.data.definition.destroyFieldTitle(field.name);
      if (!(await confirm({ title, text: <ImpactReport impact={impact} />, act: t.common.destroy, danger: true })))
        return;
      await collections.destroyField(collection.name, field.name);
      await forget(application);
      toast(t.data.definition.fieldRemoved(field.name));
    } catch (error) {
      toast(messageOf(error), { failed: true });
    }
  };
  const mayChange = (field: Field): boolean => schema.configures && !field.readOnly && !field.primaryKey;
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t.data.definition.fields}</Title>
        {schema.configures && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setEdited('new')}>
            {t.data.definition.addField}
          </Button>
        )}
      </Group>
      <ListTable
        label={t.data.definition.fields}
        rows={collection.fields}
        keyOf={(field) => field.name}
        columns={[
          {
            title: t.common.name,
            show: (field) => (
              <>
                <b>{field.name}</b>
                {field.title && (
                  <Text span c="dimmed" size="sm">
                    {' '}
                    {field.title}
                  </Text>
                )}
              </>
            ),
          },
          {
            title: t.data.definition.type,
            show: (field) => (
              <>
                {t.data.types.names[field.type] ?? field.type}
                {field.target && (
                  <Text span c="dimmed">
                    {' '}
                    → {field.target}
                  </Text>
                )}
              </>
            ),
          },
          { title: t.data.definition.fieldOptions, show: (field) => <OptionBadges field={field} /> },
          {
            title: '',
            width: 90,
            show: (field) =>
              mayChange(field) && (
                <Group gap={0} wrap="nowrap" justify="flex-end">
                  <IconButton
                    size="md"
                    icon="edit"
                    label={t.data.definition.editField(field.name)}
                    onClick={() => setEdited(field)}
                  />
                  <IconButton
                    size="md"
                    icon="trash"
                    label={t.data.definition.removeField(field.name)}
                    onClick={() => void remove(field)}
                  />
                </Group>
              ),
          },
        ]}
      />
      <Modal
        opened={edited !== null}
        onClose={() => setEdited(null)}
        size="lg"
        title={edited === 'new' ? t.data.definition.newField : edited && t.data.definition.editField(edited.name)}
      >
        {edited && (
          <EditField
            collection={collection}
            field={edited === 'new' ? null : edited}
            schema={schema}
            done={() => setEdited(null)}
          />
        )}
      </Modal>
    </section>
  );
}

function OptionBadges({ field }: { field: Field }): ReactNode {
  const t = useTexts().data;
  const words = [
    field.primaryKey && t.definition.primaryKey,
    field.readOnly && t.definition.keptByServer,
    field.required && t.types.options.required,
    field.unique && t.types.options.unique,
    field.enum?.slice(0, 4).join(', '),
    field.onDelete && t.types.onDelete[field.onDelete],
  ].filter((each) => typeof each === 'string');
  return (
    <Group gap={4}>
      {words.map((word) => (
        <Badge key={word} variant="default" tt="none" fw={500} size="sm">
          {word}
        </Badge>
      ))}
    </Group>
  );
}

interface EditFieldProps {
  readonly collection: Collection;
  /** Null for a new one. */
  readonly field: Field | null;
  readonly schema: Schema;
  readonly done: () => void;
}

function EditField({ collection, field, schema, done }: EditFieldProps): ReactNode {
  const t = useTexts();
  const application = useApplication();
  const [draft, setDraft] = useState(field ? draftOf(field) : emptyDraft);
  const save = useMutation({
    mutationFn: () => {
      const { collections } = clientOf(application);
      return field
        ? collections.updateField(collection.name, field.name, changesOf(field, draft))
        : collections.createField(collection.name, fieldOf(draft));
    },
    onSuccess: async () => {
      await forget(application);
      toast(t.data.definition.saved);
      done();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <FieldForm
          draft={draft}
          change={setDraft}
          targets={schema.collections.map((each) => each.name)}
          problems={save.error instanceof Failure ? save.error.details : {}}
        />
        <FormProblem error={save.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={done}>
            {t.common.cancel}
          </Button>
          <Button type="submit" loading={save.isPending}>
            {field ? t.common.save : t.common.add}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Words({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts();
  const application = useApplication();
  const [words, setWords] = useState({ title: collection.title ?? '', description: collection.description ?? '' });
  const save = useMutation({
    mutationFn: () =>
      clientOf(application).collections.update(collection.name, {
        title: words.title || null,
        description: words.description || null,
      }),
    onSuccess: async () => {
      await forget(application, 'schema');
      toast(t.data.definition.saved);
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
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
          <Text size="sm" c="dimmed">
            {kept.map((name) => t.data.definition.optionNames[name]).join(' · ')} {t.data.definition.optionsFixed}
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

function Destroy({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts();
  const application = useApplication();
  const navigate = useNavigate();
  const destroy = async (): Promise<void> => {
    const { collections } = clientOf(application);
    try {
      const impact = await collections.impactOfDestroy(collection.name, true);
      const title = t.data.definition.destroyTitle(titleOf(collection));
      const text = <ImpactReport impact={impact} />;
      if (!(await confirm({ title, text, act: t.common.destroy, typed: collection.name, danger: true }))) return;
      await collections.destroy(collection.name, true);
      await navigate({ to: '/a/$app/data', params: { app: application } });
      await forget(application);
      toast(t.data.definition.destroyed(titleOf(collection)));
    } catch (error) {
      toast(messageOf(error), { failed: true });
    }
  };
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2}>{t.data.definition.danger}</Title>
      <Text c="dimmed" mb="sm">
        {t.data.definition.dangerText}
      </Text>
      <Button variant="light" color="red" onClick={() => void destroy()}>
        {t.data.definition.dangerButton}
      </Button>
    </Paper>
  );
}
