import { type Collection, Failure, type Field, type Key, type RecordValues } from '@tablinum/client';
import { useRef, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { messageOf } from '../../data/problem.tsx';
import type { Row, RowWindow } from '../../data/records/row-window.ts';
import { writtenName } from '../../data/schema.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Conflict } from './conflict.tsx';

interface CellEdit {
  readonly row: Row;
  readonly field: Field;
  readonly value: unknown;
  /** Under a relation: the record that was chosen. */
  readonly record?: RecordValues | null | undefined;
}

/** An edit on its way: the version that it began with, and the one that it leads to. */
interface Running {
  readonly base: number | null;
  readonly done: Promise<number | null>;
}

interface CellSaving {
  readonly save: (row: Row, field: Field, value: unknown, record?: RecordValues | null) => void;
  readonly conflict: Conflict | null;
  readonly settled: () => void;
}

/**
 * Saves one cell under the version that its row was read with, one edit of a row after the other. Where somebody else has
 * written meanwhile, another field is no conflict: it is saved over the newer version; the same field asks whose value stays.
 */
export function useCellSaving(collection: Collection, rows: RowWindow): CellSaving {
  const application = useApplication();
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const running = useRef(new Map<Key, Running>());
  const records = clientOf(application).records(collection.name);

  /** @returns the version that the row has afterwards, as far as it is known. */
  const write = async (edit: CellEdit, version: number | null): Promise<number | null> => {
    const { row, field, value } = edit;
    const name = writtenName(field);
    rows.replace(row.key, shownOf(edit), null);
    try {
      const sent = version === null ? {} : { ifMatch: version };
      const saved = await records.update(row.key, { [name]: value }, {}, sent);
      const now = version === null ? null : version + 1;
      rows.replace(row.key, { ...saved, ...shownOf(edit) }, now);
      return now;
    } catch (error) {
      // What was saved of other fields meanwhile stays.
      const before = { [name]: row.values[name], ...(field.target && { [field.name]: row.values[field.name] }) };
      rows.replace(row.key, before, null);
      if (!(error instanceof Failure) || error.code !== 'VERSION_STALE') throw error;
      return settle(edit);
    }
  };

  const settle = async (edit: CellEdit): Promise<number | null> => {
    const { row, field, value } = edit;
    const { data, etag } = await records.read(row.key);
    const counter = /^"(\d+)\./.exec(etag ?? '')?.[1];
    const version = counter === undefined ? null : Number(counter);
    const name = writtenName(field);
    const again = (): Promise<number | null> =>
      write({ ...edit, row: { ...row, values: { ...row.values, ...data }, version } }, version);
    if (JSON.stringify(data[name]) === JSON.stringify(row.values[name])) return again();
    rows.refresh(row.key);
    setConflict({
      field: { ...field, target: '' },
      mine: value,
      theirs: data[name],
      saveMine: () => void again().catch(tell),
    });
    return version;
  };

  const save: CellSaving['save'] = (row, field, value, record) => {
    const edit = { row, field, value, record };
    const before = running.current.get(row.key);
    rows.replace(row.key, shownOf(edit), null);
    const done = (async () => {
      const version = await before?.done.catch(() => row.version);
      return write(edit, before && before.base === row.version ? (version ?? null) : row.version);
    })();
    const own: Running = { base: row.version, done };
    running.current.set(row.key, own);
    done.catch(tell).finally(() => running.current.get(row.key) === own && running.current.delete(row.key));
  };

  return { save, conflict, settled: () => setConflict(null) };
}

/** The row as it is shown at once. */
function shownOf({ field, value, record }: CellEdit): RecordValues {
  return { [writtenName(field)]: value, ...(field.target && { [field.name]: record ?? null }) };
}

function tell(error: unknown): void {
  toast(messageOf(error), { failed: true });
}
