/** One record: its fields, what it is linked with, and how it came to be so. */
import { Alert, Button, Group, SimpleGrid, Stack, Tabs } from '@mantine/core';
import { type Collection, Failure, type Field, type Key, type Read, type RecordValues } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { useBlocker, useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { useLive } from '../../data/live.ts';
import { Asked, FormProblem, messageOf } from '../../data/problem.tsx';
import { forget, useAsked } from '../../data/queries.ts';
import { keyField, labelOf, sameKey } from '../../data/records/label.ts';
import { type Schema, titleOf, useSchema } from '../../data/schema.ts';
import { confirm } from '../../ui/confirm.tsx';
import { Facts } from '../../ui/facts.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { toast } from '../../ui/toasts.tsx';
import { CellValue } from './cell-value.tsx';
import { FieldInput, Unreadable } from './field-input.tsx';
import { HistoryList } from './history-list.tsx';
import { RelatedList } from './related-list.tsx';

/** `key` is null for a record that is to be made. */
export function RecordPage(): ReactNode {
  const { collection: name = '', key } = useParams({ strict: false });
  const schema = useSchema();
  const t = useTexts().common.problem;
  const collection = schema.data?.byName.get(name);
  if (!schema.data || !collection)
    return (
      <Page title={name}>
        <Asked query={schema}>{() => <Empty icon="search" title={t.notFoundTitle} text={name} />}</Asked>
      </Page>
    );
  if (key === undefined) return <NewRecord collection={collection} />;
  return <ExistingRecord key={`${name}/${key}`} collection={collection} schema={schema.data} id={key} />;
}

/** Fields that a form asks for: a relation in the place of its foreign key, nothing that the server keeps. */
function formFields({ fields }: Collection, isNew: boolean): Field[] {
  const led = new Set(fields.filter((field) => field.type === 'belongsTo').map((field) => field.foreignKey));
  return fields.filter(
    (field) =>
      !field.readOnly &&
      !led.has(field.name) &&
      (!field.target || field.type === 'belongsTo') &&
      !(field.primaryKey && (field.autoIncrement || !isNew)),
  );
}

/** The member of a body that a field writes. */
function writtenName(field: Field): string {
  return field.type === 'belongsTo' ? (field.foreignKey ?? field.name) : field.name;
}

interface FieldsFormProps {
  readonly collection: Collection;
  readonly isNew: boolean;
  readonly values: RecordValues;
  readonly linked: Readonly<Record<string, RecordValues | null>>;
  readonly change: (name: string, value: unknown, relation?: { name: string; record: RecordValues | null }) => void;
  readonly problems: Readonly<Record<string, string>>;
  readonly disabled: boolean;
}

function FieldsForm({ collection, isNew, values, linked, change, problems, disabled }: FieldsFormProps): ReactNode {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="sm">
      {formFields(collection, isNew).map((field) => {
        const name = writtenName(field);
        const record =
          field.name in linked ? linked[field.name] : (values[field.name] as RecordValues | null | undefined);
        return (
          <FieldInput
            key={field.name}
            field={field}
            value={values[name] ?? null}
            record={field.target ? record : null}
            change={(value, picked) =>
              change(name, value, field.target ? { name: field.name, record: picked ?? null } : undefined)
            }
            error={problems[name] ?? problems[field.name]}
            disabled={disabled}
          />
        );
      })}
    </SimpleGrid>
  );
}

/** What was changed and not yet saved. */
interface Draft {
  readonly changes: RecordValues;
  readonly linked: Readonly<Record<string, RecordValues | null>>;
}
const unchanged: Draft = { changes: {}, linked: {} };

function useDraft(): [Draft, FieldsFormProps['change'], (draft: Draft) => void] {
  const [draft, setDraft] = useState(unchanged);
  const change: FieldsFormProps['change'] = (name, value, relation) =>
    setDraft(({ changes, linked }) => ({
      changes: { ...changes, [name]: value },
      linked: relation ? { ...linked, [relation.name]: relation.record } : linked,
    }));
  return [draft, change, setDraft];
}

function isReadable({ changes }: Draft): boolean {
  return !Object.values(changes).some((value) => value instanceof Unreadable);
}

function NewRecord({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts().data;
  const app = useApplication();
  const navigate = useNavigate();
  const [draft, change] = useDraft();
  const create = useMutation({
    mutationFn: () => clientOf(app).records(collection.name).create(draft.changes),
    onSuccess: (record) => {
      toast(t.record.created);
      const key = String(record[keyField(collection).name]);
      return navigate({
        to: '/a/$app/data/$collection/$key',
        params: { app, collection: collection.name, key },
        replace: true,
      });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReadable(draft)) create.mutate();
  };
  const defaults = Object.fromEntries(
    collection.fields.flatMap((field) => (field.defaultValue === undefined ? [] : [[field.name, field.defaultValue]])),
  );
  return (
    <Page title={t.record.newTitle(titleOf(collection))} above={<Above collection={collection} />}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <FieldsForm
            collection={collection}
            isNew
            values={{ ...defaults, ...draft.changes }}
            linked={draft.linked}
            change={change}
            problems={create.error instanceof Failure ? create.error.details : {}}
            disabled={false}
          />
          <FormProblem error={create.error} />
          <Group justify="flex-end">
            <Button type="submit" loading={create.isPending}>
              {t.record.create}
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  );
}

function Above({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts().data;
  const app = useApplication();
  return (
    <>
      <TextLink to="/a/$app/data" params={{ app }}>
        {t.collections.title}
      </TextLink>{' '}
      /{' '}
      <TextLink to="/a/$app/data/$collection" params={{ app, collection: collection.name }}>
        {titleOf(collection)}
      </TextLink>
    </>
  );
}

function ExistingRecord({ collection, schema, id }: { collection: Collection; schema: Schema; id: Key }): ReactNode {
  const app = useApplication();
  const appends = collection.fields
    .filter((field) => field.type === 'belongsTo' || field.type === 'hasOne')
    .map((field) => field.name);
  const record = useAsked(
    ['record', collection.name, String(id)],
    (client, signal) =>
      client
        .records(collection.name)
        .read(id, { appends, ...(collection.options.paranoid && { withDeleted: true }) }, { signal }),
    { staleTime: 0 },
  );
  const label = record.data ? labelOf(collection, record.data.data) : `#${id}`;
  return (
    <Page
      title={label}
      above={<Above collection={collection} />}
      actions={record.data && <RecordActions collection={collection} schema={schema} record={record.data.data} />}
    >
      <Asked query={record} asked={{ resource: collection.name, action: 'get' }}>
        {(read) => (
          <RecordBody
            key={app}
            collection={collection}
            schema={schema}
            read={read}
            reload={() => void record.refetch()}
          />
        )}
      </Asked>
    </Page>
  );
}

function RecordActions({
  collection,
  schema,
  record,
}: {
  collection: Collection;
  schema: Schema;
  record: RecordValues;
}): ReactNode {
  const t = useTexts().data;
  const app = useApplication();
  const navigate = useNavigate();
  const key = record[keyField(collection).name] as Key;
  const trashed = record['deletedAt'] != null;
  const records = clientOf(app).records(collection.name);
  const run = (act: () => Promise<void>) => (): void =>
    void act().catch((error: unknown) => toast(messageOf(error), { failed: true }));
  const restore = run(async () => {
    await records.restore(key);
    toast(t.records.bulk.restored(1));
    await forget(app, 'record', collection.name);
  });
  const destroy = run(async () => {
    const soft = collection.options.paranoid && !trashed;
    const text = soft ? t.records.bulk.destroyTextTrash : t.records.bulk.destroyText;
    if (!(await confirm({ title: t.records.bulk.destroyTitle(1), text, act: t.record.destroy, danger: true }))) return;
    await records.destroy({ filterByTk: key, ...(trashed && { force: true }) });
    await navigate({
      to: '/a/$app/data/$collection',
      params: { app, collection: collection.name },
      ignoreBlocker: true,
    });
    toast(t.records.bulk.destroyed(1), soft ? { action: { label: t.records.bulk.undo, run: restore } } : {});
  });
  return (
    <>
      {trashed && (
        <Button variant="default" leftSection={<Icon name="history" />} onClick={restore}>
          {t.record.restore}
        </Button>
      )}
      {schema.may(collection.name, 'destroy') && (
        <Button variant="default" leftSection={<Icon name="trash" />} onClick={destroy}>
          {trashed ? t.records.bulk.destroyForGood : t.record.destroy}
        </Button>
      )}
    </>
  );
}

interface RecordBodyProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly read: Read<RecordValues>;
  readonly reload: () => void;
}

function RecordBody({ collection, schema, read, reload }: RecordBodyProps): ReactNode {
  const t = useTexts().data.record;
  const key = read.data[keyField(collection).name] as Key;
  const many = collection.fields.filter((field) => field.type === 'hasMany' || field.type === 'belongsToMany');
  return (
    <Tabs defaultValue="fields" keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="fields">{t.fields}</Tabs.Tab>
        {many.map((field) => (
          <Tabs.Tab key={field.name} value={`relation.${field.name}`}>
            {titleOf(field)}
          </Tabs.Tab>
        ))}
        {collection.options.logging && <Tabs.Tab value="history">{t.history}</Tabs.Tab>}
      </Tabs.List>
      <Tabs.Panel value="fields">
        <EditFields collection={collection} schema={schema} read={read} reload={reload} />
      </Tabs.Panel>
      {many.map((field) => (
        <Tabs.Panel key={field.name} value={`relation.${field.name}`}>
          <RelatedList
            collection={collection}
            field={field}
            id={key}
            editable={schema.may(collection.name, 'update')}
          />
        </Tabs.Panel>
      ))}
      <Tabs.Panel value="history">
        <HistoryList collection={collection} id={key} reverted={reload} />
      </Tabs.Panel>
    </Tabs>
  );
}

function EditFields({ collection, schema, read, reload }: RecordBodyProps): ReactNode {
  const t = useTexts().data.record;
  const app = useApplication();
  const [base, setBase] = useState(read);
  const [draft, change, setDraft] = useDraft();
  const dirty = Object.keys(draft.changes).length > 0;
  const key = base.data[keyField(collection).name] as Key;
  const trashed = base.data['deletedAt'] != null;
  // What somebody else writes is shown at once where nothing is being edited here.
  useEffect(() => {
    if (!dirty) setBase(read);
  }, [read, dirty]);
  const outdated = dirty && read.etag !== base.etag;
  useLive(collection.name, ({ tk }) => sameKey(tk, key) && reload(), reload);
  useBlocker({
    shouldBlockFn: async () => !(await confirm({ title: t.unsaved, text: t.unsavedText, act: t.discard })),
    enableBeforeUnload: dirty,
    disabled: !dirty,
  });
  const save = useMutation({
    mutationFn: (etag: string | null) =>
      clientOf(app)
        .records(collection.name)
        .update(key, draft.changes, {}, etag === null ? {} : { ifMatch: etag }),
    onSuccess: async () => {
      setDraft(unchanged);
      await forget(app, 'record', collection.name, String(key));
      await forget(app, 'history', collection.name);
      toast(t.saved);
    },
  });
  const stale = save.error instanceof Failure && save.error.code === 'VERSION_STALE';
  const takeTheirs = (): void => {
    setDraft(unchanged);
    save.reset();
    reload();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReadable(draft) && dirty) save.mutate(base.etag);
  };
  const kept = collection.fields.filter(
    (field) => field.primaryKey || (field.readOnly && !isForeign(collection, field)),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {trashed && <Alert icon={<Icon name="trash" />}>{t.trashed}</Alert>}
        {outdated && !stale && (
          <Alert color="yellow" icon={<Icon name="info" />}>
            {t.changed}
          </Alert>
        )}
        <FieldsForm
          collection={collection}
          isNew={false}
          values={{ ...base.data, ...draft.changes }}
          linked={draft.linked}
          change={change}
          problems={save.error instanceof Failure ? save.error.details : {}}
          disabled={trashed || !schema.may(collection.name, 'update')}
        />
        {stale ? (
          <Alert color="yellow" role="alert" icon={<Icon name="warning" />} title={t.conflictTitle}>
            <Stack gap="xs">
              {t.conflictText}
              <Group>
                <Button variant="default" onClick={takeTheirs}>
                  {t.takeTheirs}
                </Button>
                <Button variant="default" onClick={() => save.mutate(null)}>
                  {t.saveAnyway}
                </Button>
              </Group>
            </Stack>
          </Alert>
        ) : (
          <FormProblem error={save.error} />
        )}
        {!trashed && schema.may(collection.name, 'update') && (
          <Group justify="flex-end">
            {dirty && (
              <Button variant="subtle" onClick={takeTheirs}>
                {t.discard}
              </Button>
            )}
            <Button type="submit" disabled={!dirty} loading={save.isPending}>
              {t.save}
            </Button>
          </Group>
        )}
        <Facts
          facts={kept.map((field) => [titleOf(field), <CellValue key={field.name} field={field} values={base.data} />])}
        />
      </Stack>
    </form>
  );
}

/** The foreign key of a relation that is shown itself. */
function isForeign({ fields }: Collection, field: Field): boolean {
  return fields.some((each) => each.type === 'belongsTo' && each.foreignKey === field.name);
}
