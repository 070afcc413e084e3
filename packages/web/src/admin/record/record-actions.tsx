import { Button } from '@mantine/core';
import type { Collection, Key, RecordValues } from '@tablinum/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { messageOf } from '../../data/problem.tsx';
import { forget } from '../../data/queries.ts';
import { keyField } from '../../data/records/label.ts';
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

/** What is done with a record as a whole: into the trash, back, and away for good. */
export function RecordActions({ collection, schema, record }: RecordActionsProps): ReactNode {
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
      {trashed && schema.may(collection.name, 'restore') && (
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
