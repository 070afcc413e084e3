import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { type Collection, Failure, type Field, type Key, type Read, type RecordValues } from '@tablinum/client';
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { useLive } from '../../data/live.ts';
import { FormProblem } from '../../data/problem.tsx';
import { forget } from '../../data/queries.ts';
import { keyField, sameKey } from '../../data/records/label.ts';
import { titleOf, writtenName } from '../../data/schema.ts';
import { Facts } from '../../ui/facts.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toasts.tsx';
import { CellValue } from '../records/cell-value.tsx';
import type { RecordBodyProps } from './existing-record.tsx';
import { FieldsForm, formFields } from './fields-form.tsx';
import { type ChangeField, isReadable, type RecordDraft, unchanged, useRecordDraft, without } from './record-draft.ts';
import { useLeaveGuard } from './use-leave-guard.ts';

/** The fields of a record: edited under the version that they were read with. */
export function EditFields({ collection, schema, read, reload }: RecordBodyProps): ReactNode {
  const t = useTexts().data.record;
  const [held, hold] = useState<Read<RecordValues> | null>(null); // what stood there when the edit began
  const [draft, change, setDraft] = useRecordDraft();
  const dirty = Object.keys(draft.changes).length > 0;
  const base = (dirty && held) || read; // what others write is shown at once where nothing is being edited here
  const key = base.data[keyField(collection).name] as Key;
  const trashed = base.data['deletedAt'] != null;
  const may = !trashed && schema.may(collection.name, 'update');
  const mayWrite = (field: Field): boolean => may && schema.mayWrite(collection.name, 'update', writtenName(field));
  useLive(collection.name, ({ tk }) => sameKey(tk, key) && reload(), reload);
  useLeaveGuard(dirty);
  const save = useSaving(collection, key, draft, (sent) => {
    hold(null);
    setDraft((now) => without(now, sent));
  });
  const outdated = dirty && !save.isPending && read.etag !== base.etag;
  const stale = save.error instanceof Failure && save.error.code === 'VERSION_STALE';
  const edit: ChangeField = (...given) => {
    if (!dirty || !held) hold(read);
    change(...given);
  };
  const takeTheirs = (): void => {
    setDraft(unchanged);
    save.reset();
    reload();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReadable(draft) && dirty && !save.isPending) save.mutate(base.etag);
  };
  const fields = formFields(schema.forms.get(collection.name) ?? collection, false).filter(mayWrite);
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {trashed && <Alert icon={<Icon name="trash" />}>{t.trashed}</Alert>}
        {!trashed && fields.length === 0 && <Text c="dimmed">{t.readOnly}</Text>}
        {outdated && !stale && (
          <Alert color="yellow" icon={<Icon name="info" />}>
            {t.changed}
          </Alert>
        )}
        <FieldsForm
          fields={fields}
          values={{ ...base.data, ...draft.changes }}
          linked={draft.linked}
          change={edit}
          problems={save.error instanceof Failure ? save.error.details : {}}
        />
        {stale ? (
          <Conflict takeTheirs={takeTheirs} saveMine={() => save.mutate(null)} />
        ) : (
          <FormProblem error={save.error} />
        )}
        {fields.length > 0 && (
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
          facts={restOf(collection, fields).map((field) => [
            titleOf(field),
            <CellValue key={field.name} field={field} values={base.data} whole />,
          ])}
        />
      </Stack>
    </form>
  );
}

/** @param saved hears which changes are saved; what was changed again meanwhile is not among them. */
function useSaving(
  collection: Collection,
  key: Key,
  draft: RecordDraft,
  saved: (sent: RecordValues) => void,
): UseMutationResult<RecordValues, Error, string | null> {
  const t = useTexts().data.record;
  const app = useApplication();
  const sent = useRef<RecordValues>({});
  return useMutation({
    mutationFn: (etag) => {
      sent.current = draft.changes;
      const version = etag === null ? {} : { ifMatch: etag };
      return clientOf(app).records(collection.name).update(key, draft.changes, {}, version);
    },
    onSuccess: async () => {
      await forget(app, 'record', collection.name, String(key));
      await forget(app, 'history', collection.name);
      saved(sent.current);
      toast(t.saved);
    },
  });
}

function Conflict({ takeTheirs, saveMine }: { takeTheirs: () => void; saveMine: () => void }): ReactNode {
  const t = useTexts().data.record;
  return (
    <Alert color="yellow" role="alert" icon={<Icon name="warning" />} title={t.conflictTitle}>
      <Stack gap="xs">
        {t.conflictText}
        <Group>
          <Button variant="default" onClick={takeTheirs}>
            {t.takeTheirs}
          </Button>
          <Button variant="default" onClick={saveMine}>
            {t.saveAnyway}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

/** What stands below the form: what is not in it, the foreign keys of relations aside. */
function restOf(collection: Collection, fields: readonly Field[]): Field[] {
  const names = new Set(fields.map((field) => field.name));
  const many = new Set(['hasMany', 'belongsToMany']);
  return collection.fields.filter(
    (field) =>
      !names.has(field.name) && !many.has(field.type) && field.type !== 'password' && !isForeign(collection, field),
  );
}

/** The foreign key of a relation that is shown itself. */
function isForeign({ fields }: Collection, field: Field): boolean {
  return fields.some((each) => each.type === 'belongsTo' && each.foreignKey === field.name);
}
