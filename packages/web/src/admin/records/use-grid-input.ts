import type { Field } from '@tablinum/client';
import { type KeyboardEvent, useEffect, useEffectEvent } from 'react';
import type { Row } from '../../data/records/row-window.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { findPreviewKind, toFiles } from '../files/file-values.ts';
import { openGallery } from '../files/gallery-state.ts';
import { formatRows, getCellText, quoteCell, tableType } from './clipboard-text.ts';
import { findDestination } from './grid-navigation.ts';
import { type GridProps, rowHeight } from './grid-props.ts';
import type { GridSelection } from './grid-selection.ts';
import type { GridCursor } from './use-grid-cursor.ts';

interface GridInput {
  readonly handleKeyDown: (event: KeyboardEvent) => void;
}

/** The keyboard and the clipboard of a grid. Events of elements inside of it, such as an editor, are ignored. */
export function useGridInput(
  { rows, fields, editable, open, paste, undo, redo }: GridProps,
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
    else if ((key === 'Enter' || key === ' ') && !hasControl && row && showFiles(row, field)) event.stopPropagation();
    else if (key === 'Enter' && row && (hasControl || !field || !editable(field))) open(row);
    else if (key === 'Enter' || key === 'F2') edit(active);
    else if (key === ' ' && row) selection.toggle(row);
    else if (key === 'Delete' && row) clearActiveCell();
    else if (isUndo(event) && undo()) event.stopPropagation();
    else if (isRedo(event) && redo()) event.stopPropagation();
    else if (key.length === 1 && !hasControl && !event.altKey) edit(active, key);
    else return;
    event.preventDefault();
  };
  const handleCopy = (data: DataTransfer): boolean => {
    const row = rows.row(active.row);
    const field = fields[active.column];
    const isTextMarked = getSelection()?.isCollapsed === false;
    if (!row || isTextMarked) return false;
    const selectedRows = selection.listRows();
    if (selectedRows.length === 0 && !field) return false;
    const text = selectedRows.length === 0 && field ? getCellText(field, row.values) : formatRows(fields, selectedRows);
    data.setData('text/plain', text);
    data.setData(tableType, selectedRows.length === 0 ? quoteCell(text) : text);
    if (selectedRows.length > 0) toast(t.copied(selectedRows.length));
    return true;
  };
  const handlePaste = (data: DataTransfer): boolean => {
    if (!paste || !fields[active.column]) return false;
    paste(active, data.getData(tableType) || data.getData('text/plain'));
    return true;
  };
  // Browsers send the event to the cell that was clicked last, or to the document, instead of the element with the focus.
  const handleClipboard = useEffectEvent((event: ClipboardEvent) => {
    const { clipboardData: data, type } = event;
    if (editing || !data || document.activeElement !== scroller.current) return;
    if (type === 'copy' ? handleCopy(data) : handlePaste(data)) event.preventDefault();
  });
  useEffect(() => {
    const listener = (event: ClipboardEvent): void => handleClipboard(event);
    document.addEventListener('copy', listener);
    document.addEventListener('paste', listener);
    return () => {
      document.removeEventListener('copy', listener);
      document.removeEventListener('paste', listener);
    };
  }, []);
  return { handleKeyDown };
}

/** Opens the gallery with the files of a cell. @returns false if none of them has a preview. */
function showFiles(row: Row, field: Field | undefined): boolean {
  if (field?.type !== 'file') return false;
  const files = toFiles(row.values[field.name]);
  const first = files.find((each) => findPreviewKind(each) !== null);
  if (first) openGallery(files, first);
  return first !== undefined;
}

function isUndo({ key, ctrlKey, metaKey, shiftKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === 'z' && (ctrlKey || metaKey) && !shiftKey;
}

/** Ctrl+Shift+Z, and Ctrl+Y as on Windows. */
function isRedo({ key, ctrlKey, metaKey, shiftKey }: KeyboardEvent): boolean {
  const letter = key.toLowerCase();
  return (letter === 'z' && (ctrlKey || metaKey) && shiftKey) || (letter === 'y' && ctrlKey && !shiftKey);
}
