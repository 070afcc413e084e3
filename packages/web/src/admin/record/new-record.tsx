import { Button, Group, Stack } from '@mantine/core';
import type { Collection, RecordValues } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { Allowed } from '../../data/denied.tsx';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import { createIdempotencyKey } from '../../data/idempotency-key.ts';
import { findKeyField } from '../../data/records/label.ts';
import type { Schema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { FieldsForm, listFormFields } from './fields-form.tsx';
import { hasUnfinishedUploads, isValidDraft, useRecordDraft } from './record-draft.ts';
import { listOpenProblems, RecordProblem } from './record-problem.tsx';
import { useLeaveGuard } from './use-leave-guard.ts';

interface NewRecordProps {
  readonly collection: Collection;
  readonly schema: Schema;
  /** The link to the list. */
  readonly above: ReactNode;
}

export function NewRecord({ collection, schema, above }: NewRecordProps): ReactNode {
  const t = useTexts().data.record;
  return (
    <Page title={t.newTitle(getTitle(collection))} above={above}>
      <Allowed resource={collection.name} action="create">
        <NewRecordForm collection={collection} schema={schema} />
      </Allowed>
    </Page>
  );
}

function NewRecordForm({ collection, schema }: Omit<NewRecordProps, 'above'>): ReactNode {
  const t = useTexts().data.record;
  const app = useApplication();
  const navigate = useNavigate();
  const [draft, change] = useRecordDraft();
  // The same key for every attempt, so that a retry after a lost response does not create a second record.
  const [idempotencyKey, renewKey] = useState(createIdempotencyKey);
  useLeaveGuard(Object.keys(draft.changes).length > 0);
  const create = useMutation({
    mutationFn: (changes: RecordValues) =>
      getClient(app).records(collection.name).create(omitClearedUids(collection, changes), {}, { idempotencyKey }),
    onSuccess: (record) => {
      toast(t.created);
      const key = String(record[findKeyField(collection).name]);
      return navigate({
        to: '/a/$app/data/$collection/$key',
        params: { app, collection: collection.name, key },
        replace: true,
        ignoreBlocker: true,
      });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isValidDraft(draft) && !create.isPending) create.mutate(draft.changes);
  };
  const edit: typeof change = (...given) => {
    if (create.error) renewKey(createIdempotencyKey());
    change(...given);
  };
  const problems = listOpenProblems(create.error, create.variables ?? {}, draft.changes);
  const fields = listFormFields(schema.forms.get(collection.name) ?? collection, true).filter((field) =>
    schema.mayWrite(collection.name, 'create', getWriteName(field)),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <FieldsForm
          fields={fields}
          values={{ ...readDefaults(collection), ...draft.changes }}
          linked={draft.linked}
          change={edit}
          problems={problems}
        />
        <RecordProblem error={create.error} problems={problems} fields={fields} />
        <Group justify="flex-end">
          <Button type="submit" disabled={hasUnfinishedUploads(draft)} loading={create.isPending}>
            {t.create}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function readDefaults({ fields }: Collection): Record<string, unknown> {
  const fieldsWithDefault = fields.filter((field) => field.defaultValue !== undefined);
  return Object.fromEntries(fieldsWithDefault.map((field) => [field.name, field.defaultValue]));
}

/** Removes UUIDs that were cleared, so that the server generates them. */
function omitClearedUids({ fields }: Collection, changes: RecordValues): RecordValues {
  const uidNames = new Set(fields.filter(({ type }) => type === 'uid').map(({ name }) => name));
  return Object.fromEntries(Object.entries(changes).filter(([name, value]) => value !== null || !uidNames.has(name)));
}
