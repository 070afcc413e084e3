import { type Collection, Failure, type Field, type Key, type RecordValues } from '@tablinum/client';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getWriteName } from '../../data/field-names.ts';
import { onReconnect } from '../../data/reachability.ts';
import type { Row, RowWindow } from '../../data/records/row-window.ts';
import type { CellWrite } from './cell-write.ts';
import type { Conflict } from './conflict.tsx';

interface CellEdit extends CellWrite {
  /** The row as it was when the editor was opened. Its version is sent in If-Match, whatever has arrived since. */
  readonly row: Row;
  readonly field: Field;
}

/** An edit that the server refused, or that did not reach it. Its value is shown until it is saved or discarded. */
export interface UnsavedEdit extends CellEdit {
  readonly id: string;
  readonly error: unknown;
}

/** The running writes of a row. */
interface RunningWrite {
  /** The version that the first write started from. */
  readonly base: number | null;
  /** The version of the row after the last write; null where it is not known. */
  readonly done: Promise<number | null>;
}

export interface CellSaving {
  readonly save: (row: Row, field: Field, write: CellWrite) => void;
  readonly conflict: Conflict | null;
  readonly closeConflict: () => void;
  readonly unsaved: readonly UnsavedEdit[];
  readonly retry: () => void;
  readonly discard: () => void;
}

/**
 * Saves single cells under the version that their editor was opened with. The edits of one row are written one after the
 * other. If somebody else has changed another field meanwhile, the edit is written over the newer version; if somebody has
 * changed the same field, the user chooses which value to keep.
 */
export function useCellSaving(collection: Collection, rows: RowWindow): CellSaving {
  const application = useApplication();
  const [conflicts, setConflicts] = useState<readonly Conflict[]>([]);
  const { unsaved, addUnsaved, removeUnsaved, clearUnsaved } = useUnsavedEdits();
  const running = useRef(new Map<Key, RunningWrite>());
  const records = getClient(application).records(collection.name);

  /** @returns the version of the row after the write; null where it is not known. */
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
    const version = parseVersion(etag);
    const name = getWriteName(field);
    const retryWrite = (): Promise<number | null> =>
      write({ ...edit, row: { ...row, values: { ...row.values, ...data }, version } }, version);
    if (JSON.stringify(data[name]) === JSON.stringify(row.values[name])) return retryWrite();
    rows.replace(row.key, data, version);
    removeUnsaved(edit);
    if (JSON.stringify(data[name]) === JSON.stringify(edit.value)) return version; // an earlier write arrived; its response was lost
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
    // The entry is not removed at the end: an editor that was opened meanwhile still has the version from before.
    running.current.set(row.key, { base: row.version, done });
    done.catch((error: unknown) => addUnsaved(edit, error));
  };

  // Edits that did not reach the server are sent again after a reconnect.
  const sendAgain = useEffectEvent(() => {
    for (const edit of unsaved) if (edit.error instanceof Failure && edit.error.unreachable) send(edit);
  });
  useEffect(() => onReconnect(() => sendAgain()), []);

  const discard = (): void => {
    clearUnsaved();
    for (const { row, field } of unsaved) {
      const value = row.values[getWriteName(field)];
      const record = (row.values[field.name] ?? null) as RecordValues | null;
      rows.replace(row.key, toOptimisticValues({ row, field, value, record }), null);
      rows.refresh(row.key, true);
    }
  };

  return {
    save: (row, field, write) => send({ row, field, ...write }),
    conflict: conflicts[0] ?? null,
    closeConflict: () => setConflicts((all) => all.slice(1)),
    unsaved,
    retry: () => unsaved.forEach(send),
    discard,
  };
}

interface UnsavedEdits {
  readonly unsaved: readonly UnsavedEdit[];
  readonly addUnsaved: (edit: CellEdit, error: unknown) => void;
  readonly removeUnsaved: (edit: CellEdit) => void;
  readonly clearUnsaved: () => void;
}

/** The edits that are not saved, at most one for each cell. */
function useUnsavedEdits(): UnsavedEdits {
  const [unsaved, setUnsaved] = useState<readonly UnsavedEdit[]>([]);
  const without = (all: readonly UnsavedEdit[], id: string): UnsavedEdit[] => all.filter((each) => each.id !== id);
  return {
    unsaved,
    addUnsaved: (edit, error) => {
      const id = getEditId(edit);
      setUnsaved((all) => [...without(all, id), { ...edit, id, error }]);
    },
    removeUnsaved: (edit) => setUnsaved((all) => without(all, getEditId(edit))),
    clearUnsaved: () => setUnsaved([]),
  };
}

function getEditId({ row, field }: CellEdit): string {
  return JSON.stringify([row.key, field.name]);
}

/** The version counter of an ETag such as `"12.5f3a"`. */
function parseVersion(etag: string | null): number | null {
  const counter = /^"(\d+)\./.exec(etag ?? '')?.[1];
  return counter === undefined ? null : Number(counter);
}

/** The values of the cell that are shown before the server has answered. */
function toOptimisticValues({ field, value, record }: CellEdit): RecordValues {
  return { [getWriteName(field)]: value, ...(field.target && { [field.name]: record ?? null }) };
}
