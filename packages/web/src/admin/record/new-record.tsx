import { Button, Group, Stack } from '@mantine/core';
import type { Collection, RecordValues } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { Allowed } from '../../data/denied.tsx';
import { newKey } from '../../data/new-key.ts';
import { keyField } from '../../data/records/label.ts';
import { type Schema, titleOf, writtenName } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { FieldsForm, formFields } from './fields-form.tsx';
import { isReadable, useRecordDraft } from './record-draft.ts';
import { openProblems, RecordProblem } from './record-problem.tsx';
import { useLeaveGuard } from './use-leave-guard.ts';

interface NewRecordProps {
  readonly collection: Collection;
  readonly schema: Schema;
  /** The way back. */
  readonly above: ReactNode;
}

export function NewRecord({ collection, schema, above }: NewRecordProps): ReactNode {
  const t = useTexts().data.record;
  return (
    <Page title={t.newTitle(titleOf(collection))} above={above}>
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
  // The same for every attempt: one whose reply was lost makes no second record.
  const [idempotencyKey, renewKey] = useState(newKey);
  useLeaveGuard(Object.keys(draft.changes).length > 0);
  const create = useMutation({
    mutationFn: (changes: RecordValues) =>
      clientOf(app).records(collection.name).create(given(collection, changes), {}, { idempotencyKey }),
    onSuccess: (record) => {
      toast(t.created);
      const key = String(record[keyField(collection).name]);
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
    if (isReadable(draft) && !create.isPending) create.mutate(draft.changes);
  };
  const edit: typeof change = (...given) => {
    if (create.error) renewKey(newKey());
    change(...given);
  };
  const problems = openProblems(create.error, create.variables ?? {}, draft.changes);
  const fields = formFields(schema.forms.get(collection.name) ?? collection, true).filter((field) =>
    schema.mayWrite(collection.name, 'create', writtenName(field)),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <FieldsForm
          fields={fields}
          values={{ ...defaultsOf(collection), ...draft.changes }}
          linked={draft.linked}
          change={edit}
          problems={problems}
        />
        <RecordProblem error={create.error} problems={problems} fields={fields} />
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending}>
            {t.create}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function defaultsOf({ fields }: Collection): Record<string, unknown> {
  const given = fields.filter((field) => field.defaultValue !== undefined);
  return Object.fromEntries(given.map((field) => [field.name, field.defaultValue]));
}

/** A UUID that was cleared again is made by the server. */
function given({ fields }: Collection, changes: RecordValues): RecordValues {
  const made = new Set(fields.filter(({ type }) => type === 'uid').map(({ name }) => name));
  return Object.fromEntries(Object.entries(changes).filter(([name, value]) => value !== null || !made.has(name)));
}
