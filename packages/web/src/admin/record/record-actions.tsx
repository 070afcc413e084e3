import { Button } from '@mantine/core';
import type { Collection, Key, RecordValues } from '@tablinum/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import { findKeyField } from '../../data/records/label.ts';
import type { Schema } from '../../data/schema.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toasts.tsx';

interface RecordActionsProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly record: RecordValues;
}

/** The actions on a whole record: delete, restore, and delete permanently. */
export function RecordActions({ collection, schema, record }: RecordActionsProps): ReactNode {
  const t = useTexts().data;
  const app = useApplication();
  const navigate = useNavigate();
  const key = record[findKeyField(collection).name] as Key;
  const isTrashed = record['deletedAt'] != null;
  const records = getClient(app).records(collection.name);
  const run = (action: () => Promise<void>) => (): void =>
    void action().catch((error: unknown) => toast(getErrorMessage(error), { failed: true }));
  const restore = run(async () => {
    await records.restore(key);
    toast(t.records.bulk.restored(1));
    await invalidate(app, 'record', collection.name);
  });
  const destroy = run(async () => {
    const isSoftDelete = collection.options.paranoid && !isTrashed;
    const text = isSoftDelete ? t.records.bulk.destroyTextTrash : t.records.bulk.destroyText;
    if (!(await confirm({ title: t.records.bulk.destroyTitle(1), text, confirmLabel: t.record.destroy, danger: true })))
      return;
    await records.destroy({ filterByTk: key, ...(isTrashed && { force: true }) });
    await navigate({
      to: '/a/$app/data/$collection',
      params: { app, collection: collection.name },
      ignoreBlocker: true,
    });
    toast(t.records.bulk.destroyed(1), isSoftDelete ? { action: { label: t.records.bulk.undo, run: restore } } : {});
  });
  return (
    <>
      {isTrashed && schema.may(collection.name, 'restore') && (
        <Button variant="default" leftSection={<Icon name="history" />} onClick={restore}>
          {t.record.restore}
        </Button>
      )}
      {schema.may(collection.name, 'destroy') && (
        <Button variant="default" leftSection={<Icon name="trash" />} onClick={destroy}>
          {isTrashed ? t.records.bulk.destroyForGood : t.record.destroy}
        </Button>
      )}
    </>
  );
}
