import type { Collection, Field } from '@tablinum/client';
import { useRef, useState } from 'react';
import { useClient } from '../../data/application.tsx';
import { getWriteName } from '../../data/field-names.ts';
import { getErrorMessage } from '../../data/problem.tsx';
import { findKeyField } from '../../data/records/label.ts';
import type { RowWindow } from '../../data/records/row-window.ts';
import type { Schema } from '../../data/schema.ts';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { parseRows } from './clipboard-text.ts';
import type { CellPosition } from './grid-navigation.ts';
import { PasteHistory } from './paste-history.ts';
import { dropTitles, listWrites, maxPastedRows, type PastePlan, type PasteTarget, planPaste } from './paste-plan.ts';
import { type PasteReceipt, PasteRefused, repeatPaste, undoPaste, writePaste } from './paste-write.ts';
import { createRelationLookup } from './relation-lookup.ts';
import { WriteQueue } from './write-queue.ts';

export interface GridPaste {
  /** Pastes text at a cell: at once if it is one cell, else after a confirmation. */
  readonly paste: (active: CellPosition, text: string) => void;
  /** Undoes the last paste that has not been undone. @returns false if there is none, and no write is running. */
  readonly undo: () => boolean;
  /** Repeats the paste that was undone last, unless another one came after it. @returns as undo does. */
  readonly redo: () => boolean;
  /** The paste that waits for a confirmation. */
  readonly pending: PastePlan | null;
  /** Writes the pending paste. @throws PasteRefused */
  readonly confirm: (plan: PastePlan) => Promise<void>;
  readonly cancel: () => void;
}

interface GridPasteOptions {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly rows: RowWindow;
  readonly fields: readonly Field[];
  readonly mayUpdate: (field: Field) => boolean;
  readonly mayCreate: boolean;
}

/** Pasting from spreadsheets into the grid, with undo. */
export function useGridPaste(options: GridPasteOptions): GridPaste {
  const { collection, schema, rows, fields } = options;
  const client = useClient();
  const t = useImportTexts().paste;
  const undoLabel = useTexts().data.records.bulk.undo;
  const [pending, setPending] = useState<PastePlan | null>(null);
  const [history] = useState(() => new PasteHistory());
  /** Each write needs the versions and the history that the one before has left. */
  const [writes] = useState(() => new WriteQueue());
  const isBusy = useRef(false);
  const keyField = findKeyField(collection).name;

  const showWritten = ({ changed, created }: PasteReceipt): void => {
    for (const { record } of changed) rows.refresh(record.key);
    if (created.length > 0) rows.renew();
  };
  const confirm = (plan: PastePlan): Promise<void> =>
    writes.run(async () => {
      const written = await writePaste(client, collection.name, keyField, listWrites(plan));
      const mayUndo = written.created.length === 0 || schema.may(collection.name, 'destroy');
      if (!mayUndo) history.clear();
      const receipt = mayUndo ? history.add(written) : written;
      setPending(null);
      showWritten(receipt);
      const action = { label: undoLabel, run: () => void writes.run(() => undoLast(receipt)) };
      const text = t.done(receipt.changed.length, receipt.created.length);
      history.onTaken(receipt, toast(text, mayUndo ? { action } : {}));
    });
  const undo = (): boolean => {
    const mayFindPaste = history.last !== null || writes.isRunning;
    if (mayFindPaste) void writes.run(() => undoLast());
    return mayFindPaste;
  };
  /** @param expected undoes nothing if this is not the last paste any more. */
  const undoLast = async (expected = history.last): Promise<void> => {
    if (expected === null || expected !== history.last) return;
    const receipt = expected;
    history.takeLast();
    focusGrid();
    try {
      await undoPaste(client, collection.name, receipt);
      history.putUndone(receipt);
      rows.markRemoved(receipt.created.map(({ record }) => record.key));
      showWritten(receipt);
      toast(t.undone);
    } catch (error) {
      if (!isStale(error)) history.putBack(receipt);
      toast(isStale(error) ? t.undoStale : t.undoFailed(getErrorMessage(error as Error)), { failed: true });
    }
  };
  const redo = (): boolean => {
    const mayFindPaste = history.hasUndone || writes.isRunning;
    if (mayFindPaste) void writes.run(repeatUndone);
    return mayFindPaste;
  };
  const repeatUndone = async (): Promise<void> => {
    const receipt = history.takeUndone();
    if (!receipt) return;
    try {
      await repeatPaste(client, collection.name, keyField, receipt);
      history.putBack(receipt);
      showWritten(receipt);
      toast(t.repeated);
    } catch (error) {
      if (!isStale(error)) history.putUndone(receipt);
      toast(isStale(error) ? t.repeatStale : t.repeatFailed(getErrorMessage(error as Error)), { failed: true });
    }
  };
  const begin = async (active: CellPosition, text: string): Promise<void> => {
    const table = dropTitles(parseRows(text, maxPastedRows + 2), fields, active.column);
    if (table.length > maxPastedRows) return void toast(t.tooMany(maxPastedRows), { failed: true });
    const lastRow = Math.min(active.row + table.length, rows.state.count ?? 0) - 1;
    await loadRows(rows, active.row, lastRow);
    const columns = fields.slice(active.column);
    const targets = schema.byName;
    const lookup = await createRelationLookup(table, columns, { client, targets, problems: t.problems });
    const plan = planPaste(table, active, buildTarget(options), { lookup, problems: t.problems });
    const [row] = plan.rows;
    const isSingle = plan.rows.length === 1 && row?.cells.length === 1 && row.row !== null && table.length === 1;
    const isWhole = plan.skippedRows + plan.skippedColumns + plan.readOnlyColumns.length === 0;
    if (plan.rows.length === 0) toast(isWhole ? t.nothing : t.nothingWritable, { failed: !isWhole });
    else if (isSingle && isWhole && row.cells[0]?.problem === null) await confirm(plan);
    else setPending(plan);
  };
  const paste = (active: CellPosition, text: string): void => {
    if (isBusy.current || text === '') return;
    isBusy.current = true;
    void begin(active, text)
      .catch((error) => toast(getErrorMessage(error), { failed: true }))
      .finally(() => {
        isBusy.current = false;
      });
  };
  return { paste, undo, redo, pending, confirm, cancel: () => setPending(null) };
}

function buildTarget({ collection, schema, rows, fields, mayUpdate, mayCreate }: GridPasteOptions): PasteTarget {
  return {
    fields,
    count: rows.state.count ?? 0,
    row: (index) => rows.row(index),
    mayUpdate,
    mayCreate: (field) =>
      mayCreate &&
      !field.readOnly &&
      field.type !== 'file' &&
      (!field.target || field.type === 'belongsTo') &&
      !(field.primaryKey && field.autoIncrement) &&
      schema.mayWrite(collection.name, 'create', getWriteName(field)),
  };
}

/** Whether a record has been changed or deleted since. */
function isStale(error: unknown): boolean {
  return error instanceof PasteRefused && ['VERSION_STALE', 'RECORD_UNKNOWN'].includes(error.failure.code);
}

/** The toast with the button that had the focus disappears. */
function focusGrid(): void {
  document.querySelector<HTMLElement>('[role=grid]')?.focus({ preventScroll: true });
}

const loadMilliseconds = 15_000;

/** Waits until the rows of a range have been read, or for 15 seconds. @throws Error of the list. */
async function loadRows(rows: RowWindow, first: number, last: number): Promise<void> {
  const isMissing = (): boolean => {
    for (let index = first; index <= last; index += 1) if (!rows.row(index)) return true;
    return false;
  };
  if (!isMissing()) return;
  rows.ensure(first, last);
  await new Promise<void>((resolve, reject) => {
    const settle = (run: () => void): void => {
      clearTimeout(timer);
      unsubscribe();
      run();
    };
    const timer = setTimeout(() => settle(() => resolve()), loadMilliseconds);
    const unsubscribe = rows.subscribe(() => {
      if (rows.state.error) settle(() => reject(rows.state.error as Error));
      else if (!isMissing()) settle(resolve);
    });
  });
}
