import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core';
import type { Collection, Field, Key, RecordValues } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useClient } from '../../data/application.tsx';
import { FormProblem, messageOf } from '../../data/problem.tsx';
import type { RowWindow } from '../../data/records/row-window.ts';
import { type Schema, titleOf, writtenName } from '../../data/schema.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toasts.tsx';
import classes from './bulk-bar.module.css';
import { FieldInput, Unreadable } from './field-input.tsx';

interface BulkBarProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly rows: RowWindow;
  readonly selected: ReadonlySet<Key>;
  readonly clear: () => void;
  readonly trash: boolean;
  readonly readAgain: () => void;
}

/** What can be done with the selected records at once; the server does it to all of them or to none. */
export function BulkBar({ collection, schema, rows, selected, clear, trash, readAgain }: BulkBarProps): ReactNode {
  const t = useTexts().data.records.bulk;
  const client = useClient();
  const [editing, setEditing] = useState(false);
  const keys = [...selected];
  const fields = (schema.forms.get(collection.name) ?? collection).fields.filter(
    (each) =>
      !each.readOnly &&
      !each.primaryKey &&
      (!each.target || each.type === 'belongsTo') &&
      schema.mayWrite(collection.name, 'update', writtenName(each)),
  );
  const records = client.records(collection.name);
  const run = async (act: () => Promise<void>): Promise<void> =>
    act().catch((error: unknown) => toast(messageOf(error), { failed: true }));
  const restore = (which: readonly Key[]): Promise<void> =>
    run(async () => {
      await records.restore(which);
      toast(t.restored(which.length));
      clear();
      if (trash) rows.markGone(which);
      else readAgain();
    });
  const destroy = (): Promise<void> =>
    run(async () => {
      const soft = collection.options.paranoid && !trash;
      const question = {
        title: t.destroyTitle(keys.length),
        text: soft ? t.destroyTextTrash : t.destroyText,
        act: trash ? t.destroyForGood : t.destroy,
        danger: true,
      };
      if (!(await confirm(question))) return;
      await records.destroy({ filterByTk: keys, ...(trash && { force: true }) });
      rows.markGone(keys);
      clear();
      toast(t.destroyed(keys.length), soft ? { action: { label: t.undo, run: () => void restore(keys) } } : {});
    });
  return (
    <div className={classes.bar} role="toolbar" aria-label={t.selected(keys.length)}>
      <Text fw={500} size="sm" className="tabular">
        {t.selected(keys.length)}
      </Text>
      {!trash && fields.length > 0 && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="edit" size={14} />}
          onClick={() => setEditing(true)}
        >
          {t.edit}
        </Button>
      )}
      {trash && schema.may(collection.name, 'restore') && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="history" size={14} />}
          onClick={() => void restore(keys)}
        >
          {t.restore}
        </Button>
      )}
      {schema.may(collection.name, 'destroy') && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="trash" size={14} />}
          onClick={() => void destroy()}
        >
          {trash ? t.destroyForGood : t.destroy}
        </Button>
      )}
      <Button size="compact-sm" variant="subtle" onClick={clear}>
        {t.clear}
      </Button>
      <Modal opened={editing} onClose={() => setEditing(false)} title={t.editTitle(keys.length)}>
        <BulkEdit
          collection={collection}
          fields={fields}
          keys={keys}
          done={() => {
            setEditing(false);
            for (const key of keys) rows.refresh(key);
          }}
        />
      </Modal>
    </div>
  );
}

interface BulkEditProps {
  readonly collection: Collection;
  /** Those that the role may write. */
  readonly fields: readonly Field[];
  readonly keys: readonly Key[];
  readonly done: () => void;
}

/** One field, set to the same value in all of them. */
function BulkEdit({ collection, fields, keys, done }: BulkEditProps): ReactNode {
  const t = useTexts().data.records.bulk;
  const client = useClient();
  const [field, setField] = useState<Field | null>(null);
  const [value, setValue] = useState<unknown>(null);
  const [linked, setLinked] = useState<RecordValues | null>(null);
  const save = useMutation({
    mutationFn: () =>
      client.records(collection.name).updateMany({ filterByTk: keys }, { [writtenName(field!)]: value }),
    onSuccess: () => {
      toast(t.changed(keys.length));
      done();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (field && !(value instanceof Unreadable) && !save.isPending) save.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Select
          label={t.field}
          data={fields.map((each) => ({ value: each.name, label: titleOf(each) }))}
          value={field?.name ?? null}
          onChange={(name) => {
            setField(fields.find((each) => each.name === name) ?? null);
            setValue(null);
            setLinked(null);
          }}
          searchable
          data-autofocus
        />
        {field && (
          <FieldInput
            key={field.name}
            field={field}
            value={value}
            record={linked}
            change={(next, record) => {
              setValue(next);
              setLinked(record ?? null);
            }}
          />
        )}
        <FormProblem error={save.error} />
        <Group justify="flex-end">
          <Button type="submit" disabled={!field} loading={save.isPending}>
            {t.apply}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
