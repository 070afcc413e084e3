import type { ClipboardEvent, KeyboardEvent } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { formatRows, getCellText } from './clipboard-text.ts';
import { findDestination } from './grid-navigation.ts';
import { type GridProps, rowHeight } from './grid-props.ts';
import type { GridSelection } from './grid-selection.ts';
import type { GridCursor } from './use-grid-cursor.ts';

interface GridInput {
  readonly handleKeyDown: (event: KeyboardEvent) => void;
  readonly handleCopy: (event: ClipboardEvent) => void;
}

/** The keyboard and the clipboard of a grid. Events of elements inside of it, such as an editor, are ignored. */
export function useGridInput(
  { rows, fields, editable, open }: GridProps,
  { active, editing, viewport, goTo, edit, clearActiveCell }: GridCursor,
  selection: GridSelection,
): GridInput {
  const t = useTexts().data.records;
  const { scroller, count } = viewport;
  const isGrid = (target: EventTarget): boolean => target === scroller.current;

  const handleKeyDown = (event: KeyboardEvent): void => {
    if (editing || !scroller.current || !isGrid(event.target)) return;
    const { key } = event;
    const hasControl = event.ctrlKey || event.metaKey;
    const row = rows.row(active.row);
    const field = fields[active.column];
    const page = Math.max(1, Math.floor((scroller.current.clientHeight - rowHeight) / rowHeight) - 1);
    const destination = findDestination(event, active, { count, columns: fields.length, page });
    if (destination) goTo(destination);
    else if (key === 'Enter' && row && (hasControl || !field || !editable(field))) open(row);
    else if (key === 'Enter' || key === 'F2') edit(active);
    else if (key === ' ' && row) selection.toggle(row);
    else if (key === 'Delete' && row) clearActiveCell();
    else if (key.length === 1 && !hasControl && !event.altKey) edit(active, key);
    else return;
    event.preventDefault();
  };
  const handleCopy = (event: ClipboardEvent): void => {
    const row = rows.row(active.row);
    const field = fields[active.column];
    const isTextMarked = getSelection()?.isCollapsed === false;
    if (!isGrid(event.target) || !row || isTextMarked) return;
    const selectedRows = selection.listRows();
    if (selectedRows.length === 0 && !field) return;
    const text = selectedRows.length === 0 && field ? getCellText(field, row.values) : formatRows(fields, selectedRows);
    event.clipboardData.setData('text/plain', text);
    event.preventDefault();
    if (selectedRows.length > 0) toast(t.copied(selectedRows.length));
  };
  return { handleKeyDown, handleCopy };
}
