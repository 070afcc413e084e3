import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { Collection, Field, Key, RecordValues, RecordWithEtag } from '@tablinum/client';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import { findKeyField, isSameKey } from '../../data/records/label.ts';
import { DescriptionList } from '../../ui/description-list.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { CellValue } from '../records/cell-value.tsx';
import { ConflictChoices } from './conflict-choices.tsx';
import type { RecordBodyProps } from './existing-record.tsx';
import { FieldsForm, listFormFields } from './fields-form.tsx';
import {
  type ChangeField,
  emptyRecordDraft,
  hasUnfinishedUploads,
  isValidDraft,
  useRecordDraft,
} from './record-draft.ts';
import { listOpenProblems, RecordProblem } from './record-problem.tsx';
import { useLeaveGuard } from './use-leave-guard.ts';
import { useRecordSaving } from './use-record-saving.ts';

/** The form of a record. It is saved under the version that it was read with. */
export function EditFields({ collection, schema, loaded, reload }: RecordBodyProps): ReactNode {
  const t = useTexts().data.record;
  const [editBase, setEditBase] = useState<RecordWithEtag<RecordValues> | null>(null); // the record when the edit began
  const [draft, change, setDraft] = useRecordDraft();
  const isDirty = Object.keys(draft.changes).length > 0;
  const base = (isDirty && editBase) || loaded; // without edits, changes of others are shown at once
  const key = base.data[findKeyField(collection).name] as Key;
  const isTrashed = base.data['deletedAt'] != null;
  const mayUpdate = !isTrashed && schema.may(collection.name, 'update');
  const mayWrite = (field: Field): boolean =>
    mayUpdate && schema.mayWrite(collection.name, 'update', getWriteName(field));
  const fields = listFormFields(schema.forms.get(collection.name) ?? collection, false).filter(mayWrite);
  useRealtimeEvents(
    collection.name,
    ({ tk: changedKey }) => void (isSameKey(changedKey, key) && reload()),
    () => void reload(),
  );
  useLeaveGuard(isDirty);
  const saving = useRecordSaving({ collection, id: key, fields, base, setBase: setEditBase, draft, setDraft, reload });
  const { stale } = saving;
  const problems = listOpenProblems(saving.error, saving.submitted, draft.changes);
  const isOutdated = isDirty && !saving.saving && loaded.etag !== base.etag;
  const edit: ChangeField = (...given) => {
    if (!isDirty || !editBase) setEditBase(loaded);
    change(...given);
  };
  const discard = (): void => {
    setDraft(emptyRecordDraft);
    saving.reset();
    void reload();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isValidDraft(draft) && isDirty && !saving.saving) saving.save();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {isTrashed && <Alert icon={<Icon name="trash" />}>{t.trashed}</Alert>}
        {!isTrashed && fields.length === 0 && <Text c="dimmed">{t.readOnly}</Text>}
        {isOutdated && (
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
          <FormButtons
            isDirty={isDirty}
            isUploading={hasUnfinishedUploads(draft)}
            isSaving={saving.saving}
            discard={discard}
          />
        )}
        <RemainingFields collection={collection} fields={fields} values={base.data} />
      </Stack>
    </form>
  );
}

interface FormButtonsProps {
  readonly isDirty: boolean;
  readonly isUploading: boolean;
  readonly isSaving: boolean;
  readonly discard: () => void;
}

function FormButtons({ isDirty, isUploading, isSaving, discard }: FormButtonsProps): ReactNode {
  const t = useTexts().data.record;
  return (
    <Group justify="flex-end">
      {isDirty && (
        <Button variant="subtle" onClick={discard}>
          {t.discard}
        </Button>
      )}
      <Button type="submit" disabled={!isDirty || isUploading} loading={isSaving}>
        {t.save}
      </Button>
    </Group>
  );
}

interface RemainingFieldsProps {
  readonly collection: Collection;
  /** The fields of the form. */
  readonly fields: readonly Field[];
  readonly values: RecordValues;
}

/** The values that the form does not show, for reading. */
function RemainingFields({ collection, fields, values }: RemainingFieldsProps): ReactNode {
  return (
    <DescriptionList
      items={listRemainingFields(collection, fields).map((field) => [
        getTitle(field),
        <CellValue key={field.name} field={field} values={values} whole />,
      ])}
    />
  );
}

/** The fields that are not in the form, without to-many relations, passwords and the foreign keys of relations. */
function listRemainingFields(collection: Collection, fields: readonly Field[]): Field[] {
  const names = new Set(fields.map((field) => field.name));
  const toManyTypes = new Set(['hasMany', 'belongsToMany']);
  return collection.fields.filter(
    (field) =>
      !names.has(field.name) &&
      !toManyTypes.has(field.type) &&
      field.type !== 'password' &&
      !isForeignKey(collection, field),
  );
}

/** Whether the field is the foreign key of a relation, which is shown instead. */
function isForeignKey({ fields }: Collection, field: Field): boolean {
  return fields.some((each) => each.type === 'belongsTo' && each.foreignKey === field.name);
}
