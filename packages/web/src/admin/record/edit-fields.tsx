import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { Collection, Field, Key, Read, RecordValues } from '@tablinum/client';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useLive } from '../../data/live.ts';
import { keyField, sameKey } from '../../data/records/label.ts';
import { titleOf, writtenName } from '../../data/schema.ts';
import { Facts } from '../../ui/facts.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { CellValue } from '../records/cell-value.tsx';
import { ConflictChoices } from './conflict-choices.tsx';
import type { RecordBodyProps } from './existing-record.tsx';
import { FieldsForm, formFields } from './fields-form.tsx';
import { type ChangeField, isReadable, unchanged, useRecordDraft } from './record-draft.ts';
import { openProblems, RecordProblem } from './record-problem.tsx';
import { useLeaveGuard } from './use-leave-guard.ts';
import { useRecordSaving } from './use-record-saving.ts';

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
  const fields = formFields(schema.forms.get(collection.name) ?? collection, false).filter(mayWrite);
  useLive(
    collection.name,
    ({ tk }) => void (sameKey(tk, key) && reload()),
    () => void reload(),
  );
  useLeaveGuard(dirty);
  const saving = useRecordSaving({ collection, id: key, fields, base, setBase: hold, draft, setDraft, reload });
  const { stale } = saving;
  const problems = openProblems(saving.error, saving.sent, draft.changes);
  const outdated = dirty && !saving.saving && read.etag !== base.etag;
  const edit: ChangeField = (...given) => {
    if (!dirty || !held) hold(read);
    change(...given);
  };
  const discard = (): void => {
    setDraft(unchanged);
    saving.reset();
    void reload();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReadable(draft) && dirty && !saving.saving) saving.save();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {trashed && <Alert icon={<Icon name="trash" />}>{t.trashed}</Alert>}
        {!trashed && fields.length === 0 && <Text c="dimmed">{t.readOnly}</Text>}
        {outdated && (
          <Alert color="yellow" icon={<Icon name="info" />}>
            {t.changed}
          </Alert>
        )}
        <FieldsForm
          fields={fields}
          values={{ ...base.data, ...draft.changes }}
          linked={draft.linked}
          change={edit}
          problems={problems}
        />
        <RecordProblem error={saving.error} problems={problems} fields={fields} />
        {stale && (
          <ConflictChoices
            fields={stale.fields}
            mine={{ ...base.data, ...draft.changes, ...draft.linked }}
            theirs={stale.theirs.data}
            save={saving.resolve}
            back={saving.back}
          />
        )}
        {fields.length > 0 && (
          <Group justify="flex-end">
            {dirty && (
              <Button variant="subtle" onClick={discard}>
                {t.discard}
              </Button>
            )}
            <Button type="submit" disabled={!dirty} loading={saving.saving}>
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
