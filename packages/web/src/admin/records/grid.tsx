/**
 * The records of a list as a grid. Only the visible rows are drawn; the keyboard works as in a spreadsheet. The grid itself
 * has the focus and names its active cell (aria-activedescendant), so that the focus is not lost when a row leaves the view.
 */
import { type ReactNode, useId } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { useStable } from '../../ui/use-stable.ts';
import classes from './grid.module.css';
import { GridHeader, type HeaderActions } from './grid-header.tsx';
import type { GridProps } from './grid-props.ts';
import { GridRow, type RowActions } from './grid-row.tsx';
import { createGridSelection, type GridSelection } from './grid-selection.ts';
import { type GridCursor, useGridCursor } from './use-grid-cursor.ts';
import { useGridInput } from './use-grid-input.ts';
import { rememberPosition } from './view-memory.ts';

export function Grid(props: GridProps): ReactNode {
  const { collection, rows, fields, choice, positionKey } = props;
  const t = useTexts().data.records;
  const id = useId();
  const cursor = useGridCursor(props);
  const selection = createGridSelection(props);
  const { active, viewport } = cursor;
  const { scroller, drawn, template, width } = viewport;
  const { handleKeyDown } = useGridInput(props, cursor, selection);
  const actions = useGridActions(props, cursor, selection);
  const isActiveDrawn = rows.row(active.row) !== undefined && drawn.some(({ column }) => column === active.column);
  return (
    <div
      ref={scroller}
      className={classes.scroller}
      role="grid"
      tabIndex={0}
      aria-label={t.grid(getTitle(collection))}
      aria-description={t.gridHint}
      aria-rowcount={viewport.count + 1}
      aria-colcount={fields.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={isActiveDrawn ? `${id}-${active.row}-${active.column}` : undefined}
      onScroll={(event) => rememberPosition(positionKey, event.currentTarget.scrollTop)}
      onKeyDown={handleKeyDown}
    >
      <GridHeader
        id={id}
        drawn={drawn}
        choice={choice}
        template={template}
        width={width}
        sort={props.sort}
        selected={selection.extent}
        actions={actions}
      />
      <GridBody id={id} grid={props} cursor={cursor} selection={selection} actions={actions} />
    </div>
  );
}

/** What rows and headers can do. The object keeps its identity, so that rows are not drawn again for it. */
function useGridActions(props: GridProps, cursor: GridCursor, selection: GridSelection): RowActions & HeaderActions {
  const { choice, changeChoice, changeSort, open, save, rows, fields } = props;
  const { active, setActive, viewport, goTo, edit, stopEditing } = cursor;
  return useStable<RowActions & HeaderActions>({
    activate: (row, column, editing) => {
      setActive({ row, column });
      if (!editing) viewport.focus();
    },
    edit: (row, column) => {
      const record = fields[column]?.type === 'file' ? rows.row(row) : undefined;
      if (record) open(record);
      else edit({ row, column });
    },
    toggle: selection.toggle,
    open,
    cancel: stopEditing,
    save: (row, field, write, move) => {
      stopEditing();
      save(row, field, write);
      if (move === 'down') goTo({ row: active.row + 1, column: active.column });
      else if (move !== 'stay') goTo({ row: active.row, column: active.column + (move === 'right' ? 1 : -1) });
    },
    changeSort,
    resize: (field, width) => changeChoice({ ...choice, widths: { ...choice.widths, [field]: width } }),
    selectLoaded: selection.toggleLoaded,
  });
}

interface GridBodyProps {
  readonly id: string;
  readonly grid: GridProps;
  readonly cursor: GridCursor;
  readonly selection: GridSelection;
  readonly actions: RowActions;
}

function GridBody({ id, grid, cursor, selection, actions }: GridBodyProps): ReactNode {
  const { collection, rows } = grid;
  const { active, editing, viewport } = cursor;
  const { virtual, drawn, template, width, editedRow } = viewport;
  const address = `/a/${useApplication()}/data/${collection.name}`;
  return (
    <div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize(), width }}>
      {virtual.getVirtualItems().map(({ key, index, start }) => {
        const row = rows.row(index);
        const edited = editedRow === index ? editing : null;
        return (
          <GridRow
            key={key}
            id={id}
            index={index}
            start={start}
            row={row}
            collection={collection}
            drawn={drawn}
            template={template}
            address={address}
            selected={row !== undefined && selection.isSelected(row)}
            active={active.row === index ? active.column : -1}
            editing={edited ? edited.position.column : -1}
            edited={edited}
            actions={actions}
          />
        );
      })}
    </div>
  );
}
