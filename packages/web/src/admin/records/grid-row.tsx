/** One row of a grid. It is memoised, so that scrolling does not render rows again. */
import type { Collection, Field } from '@tablinum/client';
import { type MouseEvent, memo, type ReactNode } from 'react';
import { getRecordLabel } from '../../data/records/label.ts';
import type { Row } from '../../data/records/row-window.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { CellEditor, type Move } from './cell-editor.tsx';
import { CellValue } from './cell-value.tsx';
import type { CellWrite } from './cell-write.ts';
import type { DrawnColumn } from './column-tracks.ts';
import classes from './grid.module.css';
import type { Editing } from './grid-props.ts';
import { isNumber } from './value-text.ts';

/** The object keeps its identity for the lifetime of the grid. */
export interface RowActions {
  activate(row: number, column: number, editing: boolean): void;
  edit(row: number, column: number): void;
  toggle(row: Row): void;
  open(row: Row): void;
  cancel(): void;
  save(row: Row, field: Field, write: CellWrite, move: Move): void;
}

interface GridRowProps {
  /** The prefix of the ids of the cells: `<id>-<row>-<column>`. */
  readonly id: string;
  readonly index: number;
  /** Pixels from the top of the list. */
  readonly start: number;
  readonly row: Row | undefined;
  readonly collection: Collection;
  readonly drawn: readonly DrawnColumn[];
  readonly template: string;
  /** The path of the list, such as `/a/main/data/albums`. */
  readonly address: string;
  readonly selected: boolean;
  /** The active column if the active cell is in this row; else -1. */
  readonly active: number;
  /** The column that is being edited; else -1. */
  readonly editing: number;
  /** The open editor in this row, or null. */
  readonly edited: Editing | null;
  readonly actions: RowActions;
}

export const GridRow = memo(function GridRow(props: GridRowProps): ReactNode {
  const { id, index, start, row, drawn, template, selected, active, editing, edited, actions } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={classes.row}
      style={{ transform: `translateY(${start}px)`, gridTemplateColumns: template }}
      data-editing={edited !== null || undefined}
      {...getRowAttributes(row, selected)}
    >
      <RowHeader {...props} />
      {drawn.map(({ field, column, track }) => (
        <div
          key={field.name}
          id={`${id}-${index}-${column}`}
          role="gridcell"
          tabIndex={-1}
          aria-colindex={column + 2}
          className={classes.cell}
          style={{ gridColumn: track }}
          data-pinned={column === 0 || undefined}
          data-active={active === column || undefined}
          data-number={isNumber(field) || undefined}
          onClick={() => actions.activate(index, column, editing === column)}
          onDoubleClick={() => actions.edit(index, column)}
        >
          {edited && editing === column && (
            <CellEditor
              field={field}
              row={edited.row}
              typed={edited.typed}
              cancel={actions.cancel}
              save={(write, move) => actions.save(edited.row, field, write, move)}
            />
          )}
          {row && editing !== column && <CellValue field={field} values={row.values} />}
        </div>
      ))}
    </div>
  );
});

function getRowAttributes(row: Row | undefined, selected: boolean): Record<string, unknown> {
  if (!row) return { 'aria-busy': true };
  const isFresh = row.changedAt > 0 && Date.now() - row.changedAt < 3000;
  return {
    'aria-selected': selected,
    ...(row.isRemoved && { 'data-gone': true }),
    ...(isFresh && { 'data-fresh': row.changedAt % 2 === 0 ? 'even' : 'odd' }),
  };
}

/** Uses plain elements, because about a hundred of them are created each second while the user scrolls. */
function RowHeader({ row, collection, address, selected, actions }: GridRowProps): ReactNode {
  const t = useTexts().data.records;
  if (!row) return <div role="gridcell" aria-colindex={1} className={classes.lead} />;
  const label = getRecordLabel(collection, row.values);
  const open = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return; // the browser opens another tab
    event.preventDefault();
    actions.open(row);
  };
  return (
    <div role="gridcell" aria-colindex={1} className={classes.lead}>
      <input
        type="checkbox"
        className={classes.check}
        tabIndex={-1}
        aria-label={t.selectRow(label)}
        checked={selected}
        onChange={() => actions.toggle(row)}
      />
      <a
        href={`${address}/${encodeURIComponent(row.key)}`}
        onClick={open}
        className={classes.open}
        aria-label={row.isRemoved ? `${t.openRow(label)} (${t.gone})` : t.openRow(label)}
        tabIndex={-1}
      >
        <Icon name="expand" size={14} />
      </a>
    </div>
  );
}
