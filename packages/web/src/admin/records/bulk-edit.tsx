import { Alert, Button, Group, Select, Stack } from '@mantine/core';
import type { Collection, Field, RecordValues } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import { useClient } from '../../data/application.tsx';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import { FormProblem } from '../../data/problem.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type BulkSelection, countSelected, writeSelected } from './bulk-selection.ts';
import { FieldInput } from './field-input.tsx';
import { InvalidInput } from './invalid-input.ts';

interface BulkEditProps {
  readonly collection: Collection;
  /** The fields that the role may write. */
  readonly fields: readonly Field[];
  readonly selection: BulkSelection;
  readonly cancel: () => void;
  readonly done: () => void;
}

/** Sets one field to the same value in all selected records. Clearing a field needs a confirmation. */
export function BulkEdit({ collection, fields, selection, cancel, done }: BulkEditProps): ReactNode {
  const t = useTexts();
  const labels = t.data.records.bulk;
  const records = useClient().records(collection.name);
  const [field, setField] = useState<Field | null>(null);
  const [value, setValue] = useState<unknown>(null);
  const [linked, setLinked] = useState<RecordValues | null>(null);
  const [confirming, setConfirming] = useState(false);
  const cancelButton = useRef<HTMLButtonElement>(null);
  const save = useMutation({
    mutationFn: (edited: Field) =>
      writeSelected(records, selection, (where) => records.updateMany(where, { [getWriteName(edited)]: value })),
    onSuccess: (count) => {
      toast(labels.changed(count));
      done();
    },
  });
  const empty = value === null || value === '' || (Array.isArray(value) && value.length === 0);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!field || value instanceof InvalidInput || save.isPending) return;
    if (empty && !confirming) {
      setConfirming(true);
      cancelButton.current?.focus(); // so that a key that is held down does not confirm
    } else save.mutate(field);
  };
  const change = (next: unknown, record?: RecordValues | null): void => {
    setValue(next);
    setLinked(record ?? null);
    setConfirming(false);
  };
  const count = countSelected(selection);
  return (
    <form onSubmit={submit}>
      <Stack>
        <Select
          label={labels.field}
          data={fields.map((each) => ({ value: each.name, label: getTitle(each) }))}
          value={field?.name ?? null}
          onChange={(name) => {
            setField(fields.find((each) => each.name === name) ?? null);
            change(null);
          }}
          searchable
          data-autofocus
        />
        {field && <FieldInput key={field.name} field={field} value={value} record={linked} change={change} />}
        {confirming && field && (
          <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />}>
            {labels.clearText(getTitle(field), count)}
          </Alert>
        )}
        <FormProblem error={save.error} />
        <Group justify="flex-end">
          <Button ref={cancelButton} variant="default" onClick={cancel}>
            {t.common.cancel}
          </Button>
          <Button type="submit" disabled={!field} loading={save.isPending} {...(confirming && { color: 'red.9' })}>
            {confirming ? labels.clearField(count) : labels.apply(count)}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
