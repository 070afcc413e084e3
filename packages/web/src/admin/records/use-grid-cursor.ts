import type { RecordValues } from '@tablinum/client';
import { useEffect, useState } from 'react';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { CellPosition } from './grid-navigation.ts';
import type { Editing, GridProps } from './grid-props.ts';
import { type GridViewport, useGridViewport } from './use-grid-viewport.ts';

export interface GridCursor {
  /** The active cell. */
  readonly active: CellPosition;
  readonly setActive: (position: CellPosition) => void;
  /** The open editor, if there is one. */
  readonly editing: Editing | null;
  readonly viewport: GridViewport;
  /** Makes a cell active and scrolls it into view. Positions outside of the grid are clamped to its edges. */
  readonly goTo: (position: CellPosition) => void;
  /** Opens the editor of a cell, if it is editable. */
  readonly edit: (position: CellPosition, typed?: string | null) => void;
  /** Closes the editor and returns the focus to the grid. */
  readonly stopEditing: () => void;
  /** Sets the active cell to null and offers to undo it. */
  readonly clearActiveCell: () => void;
}

/** The active cell of a grid, its editor, and the viewport that follows both. */
export function useGridCursor(props: GridProps): GridCursor {
  const { rows, fields, editable, save, activeCell } = props;
  const t = useTexts().data.records;
  const [active, setActive] = useState<CellPosition>({ row: 0, column: 0 });
  const [editing, setEditing] = useState<Editing | null>(null);
  const viewport = useGridViewport(props, editing);
  useEffect(() => {
    activeCell.current = active;
  }, [activeCell, active]);

  const goTo = (position: CellPosition): void => {
    const row = Math.max(0, Math.min(viewport.count - 1, position.row));
    const column = Math.max(0, Math.min(fields.length - 1, position.column));
    setActive({ row, column });
    viewport.scrollTo({ row, column });
  };
  const edit = (position: CellPosition, typed: string | null = null): void => {
    const row = rows.row(position.row);
    const field = fields[position.column];
    if (row && field && !row.isRemoved && editable(field)) setEditing({ position, typed, row });
  };
  const stopEditing = (): void => {
    setEditing(null);
    viewport.focus();
  };
  const clearActiveCell = (): void => {
    const row = rows.row(active.row);
    const field = fields[active.column];
    if (!row || !field) return;
    const value = row.values[getWriteName(field)];
    if (row.isRemoved || field.required || value == null || !editable(field)) return;
    const record = field.target ? (row.values[field.name] as RecordValues | null) : null;
    save(row, field, { value: null });
    const undo = (): void => save(rows.byKey(row.key) ?? row, field, { value, record });
    toast(t.cleared(getTitle(field)), { action: { label: t.bulk.undo, run: undo } });
  };
  return { active, setActive, editing, viewport, goTo, edit, stopEditing, clearActiveCell };
}
