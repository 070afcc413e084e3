import { type Collection, Failure, type Field, type Key, type RecordValues } from '@tablinum/client';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { onReconnect } from '../../data/reachability.ts';
import type { Row, RowWindow } from '../../data/records/row-window.ts';
import { getWriteName } from '../../data/schema.ts';
import type { Conflict } from './conflict.tsx';

interface CellEdit {
  /** As it was when the editor was opened: its version goes into If-Match, whatever has arrived since. */
  readonly row: Row;
  readonly field: Field;
  readonly value: unknown;
  /** Under a relation: the record that was chosen. */
  readonly record?: RecordValues | null | undefined;
}

/** An edit that the server did not take, or that did not reach it. Its value stays until it is saved or discarded. */
export interface UnsavedEdit extends CellEdit {
  readonly id: string;
  readonly error: unknown;
}

/** The edits of a row that are on their way: the version that the first began with, and the one that they lead to. */
interface RunningEdit {
  readonly base: number | null;
  readonly done: Promise<number | null>;
}

export interface CellSaving {
  readonly save: (row: Row, field: Field, value: unknown, record?: RecordValues | null) => void;
  readonly conflict: Conflict | null;
  readonly closeConflict: () => void;
  readonly unsaved: readonly UnsavedEdit[];
  readonly retry: () => void;
  readonly discard: () => void;
}

/**
 * Saves one cell under the version that its editor was opened with, one edit of a row after the other. Where somebody else
 * has written meanwhile, another field is no conflict: it is saved over the newer version; the same field asks whose value stays.
 */
export function useCellSaving(collection: Collection, rows: RowWindow): CellSaving {
  const application = useApplication();
  const [conflicts, setConflicts] = useState<readonly Conflict[]>([]);
  const [unsaved, setUnsaved] = useState<readonly UnsavedEdit[]>([]);
  const running = useRef(new Map<Key, RunningEdit>());
  const records = getClient(application).records(collection.name);

  const addUnsaved = (edit: CellEdit, error: unknown): void =>
    setUnsaved((all) => [...all.filter(({ id }) => id !== getEditId(edit)), { ...edit, id: getEditId(edit), error }]);
  const removeUnsaved = (edit: CellEdit): void => setUnsaved((all) => all.filter(({ id }) => id !== getEditId(edit)));

  /** @returns the version that the row has afterwards, as far as it is known. */
  const write = async (edit: CellEdit, version: number | null): Promise<number | null> => {
    const { row, field, value } = edit;
    rows.replace(row.key, toOptimisticValues(edit), null);
    try {
      const writeOptions = version === null ? {} : { ifMatch: version };
      const saved = await records.update(row.key, { [getWriteName(field)]: value }, {}, writeOptions);
      const now = version === null ? null : version + 1;
      rows.replace(row.key, { ...toOptimisticValues(edit), ...saved }, now);
      removeUnsaved(edit);
      return now;
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'VERSION_STALE') throw error;
      return resolveStaleEdit(edit);
    }
  };

  const resolveStaleEdit = async (edit: CellEdit): Promise<number | null> => {
    const { row, field } = edit;
    const appends = field.target ? [field.name] : [];
    const { data, etag } = await records.getWithEtag(row.key, { appends });
    const counter = /^"(\d+)\./.exec(etag ?? '')?.[1];
    const version = counter === undefined ? null : Number(counter);
    const name = getWriteName(field);
    const retryWrite = (): Promise<number | null> =>
      write({ ...edit, row: { ...row, values: { ...row.values, ...data }, version } }, version);
    if (JSON.stringify(data[name]) === JSON.stringify(row.values[name])) return retryWrite();
    rows.replace(row.key, data, version);
    removeUnsaved(edit);
    if (JSON.stringify(data[name]) === JSON.stringify(edit.value)) return version; // a reply of ours was lost
    const saveMine = (): void => void retryWrite().catch((error: unknown) => addUnsaved(edit, error));
    const mine = { ...row.values, ...toOptimisticValues(edit) };
    setConflicts((all) => [...all, { field, mine, theirs: data, saveMine }]);
    return version;
  };

  const send = (edit: CellEdit): void => {
    const { row } = edit;
    const before = running.current.get(row.key);
    rows.replace(row.key, toOptimisticValues(edit), null);
    const done = (async () => {
      const version = await before?.done.catch(() => undefined);
      return write(edit, version !== undefined && before?.base === row.version ? version : row.version);
    })();
    // It stays when it is done: an editor that was opened meanwhile still has the version from before.
    running.current.set(row.key, { base: row.version, done });
    done.catch((error: unknown) => addUnsaved(edit, error));
  };

  // What did not arrive because the server was away is sent again when it is back.
  const sendAgain = useEffectEvent(() => {
    for (const edit of unsaved) if (edit.error instanceof Failure && edit.error.unreachable) send(edit);
  });
  useEffect(() => onReconnect(() => sendAgain()), []);

  const discard = (): void => {
    setUnsaved([]);
    for (const { row, field } of unsaved) {
      rows.replace(
        row.key,
        toOptimisticValues({ row, field, value: row.values[getWriteName(field)], record: getLinkedRecord(row, field) }),
        null,
      );
      rows.refresh(row.key, true);
    }
  };

  return {
    save: (row, field, value, record) => send({ row, field, value, record }),
    conflict: conflicts[0] ?? null,
    closeConflict: () => setConflicts((all) => all.slice(1)),
    unsaved,
    retry: () => unsaved.forEach(send),
    discard,
  };
}

function getEditId({ row, field }: CellEdit): string {
  return JSON.stringify([row.key, field.name]);
}

function getLinkedRecord({ values }: Row, { name }: Field): RecordValues | null {
  return (values[name] ?? null) as RecordValues | null;
}

/** The row as it is shown at once. */
function toOptimisticValues({ field, value, record }: CellEdit): RecordValues {
  return { [getWriteName(field)]: value, ...(field.target && { [field.name]: record ?? null }) };
}
