import { type Collection, Failure, type Field, type RecordValues } from '@tablinum/client';
import { useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { messageOf } from '../../data/problem.tsx';
import type { Row, RowWindow } from '../../data/records/row-window.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Conflict } from './conflict.tsx';

/**
 * Saves one cell under the version that its row was read with. Where somebody else has written meanwhile, another field is
 * no conflict: it is saved over the newer version; the same field asks whose value stays.
 */
export function useCellSaving(
  collection: Collection,
  rows: RowWindow,
): {
  save: (row: Row, field: Field, value: unknown, record?: RecordValues | null) => void;
  conflict: Conflict | null;
  settled: () => void;
} {
  const application = useApplication();
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const records = clientOf(application).records(collection.name);
  const written = (field: Field): string =>
    field.type === 'belongsTo' ? (field.foreignKey ?? field.name) : field.name;

  const write = async (
    row: Row,
    field: Field,
    value: unknown,
    record: RecordValues | null | undefined,
    version: number | null,
  ): Promise<void> => {
    const name = written(field);
    const shown = field.target ? { [field.name]: record ?? null } : {};
    rows.replace(row.key, { [name]: value, ...shown }, null);
    try {
      const saved = await records.update(row.key, { [name]: value }, {}, version === null ? {} : { ifMatch: version });
      rows.replace(row.key, { ...saved, ...shown }, version === null ? null : version + 1);
    } catch (error) {
      rows.replace(row.key, row.values, row.version);
      if (error instanceof Failure && error.code === 'VERSION_STALE') return settle(row, field, value, record);
      toast(messageOf(error), { failed: true });
    }
  };

  const settle = async (
    row: Row,
    field: Field,
    value: unknown,
    record: RecordValues | null | undefined,
  ): Promise<void> => {
    const { data, etag } = await records.read(row.key);
    const version = Number(/^"(\d+)\./.exec(etag ?? '')?.[1] ?? Number.NaN);
    const name = written(field);
    const again = (): Promise<void> =>
      write({ ...row, values: { ...row.values, ...data }, version }, field, value, record, version);
    if (JSON.stringify(data[name]) === JSON.stringify(row.values[name])) return again();
    rows.refresh(row.key);
    setConflict({ field: { ...field, target: '' }, mine: value, theirs: data[name], saveMine: () => void again() });
  };

  return {
    save: (row, field, value, record) =>
      void write(row, field, value, record, row.version).catch((error: unknown) =>
        toast(messageOf(error), { failed: true }),
      ),
    conflict,
    settled: () => setConflict(null),
  };
}
