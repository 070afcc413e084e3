/**
 * The records of a list as a grid: a hundred thousand rows of which those in view are drawn, moved through by keyboard
 * as a spreadsheet is. The grid itself has the focus and names its active cell, so that a row which leaves the view takes
 * no focus along.
 */
import { Checkbox } from '@mantine/core';
import type { Collection, Field, Key } from '@tablinum/client';
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { useApplication } from '../../data/application.tsx';
import { labelOf } from '../../data/records/label.ts';
import { pageSize, type Row, type RowWindow } from '../../data/records/row-window.ts';
import { titleOf } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { CellEditor } from './cell-editor.tsx';
import { CellValue } from './cell-value.tsx';
import { type ColumnChoice, widthOf } from './columns.ts';
import classes from './grid.module.css';
import { isNumber } from './value-text.ts';

export const rowHeight = 34;
/** Browsers place nothing below some fifteen million pixels. */
export const mostRows = 400_000;
const leadWidth = 76;

export interface Place {
  readonly row: number;
  readonly column: number;
}

interface GridProps {
  readonly collection: Collection;
  readonly rows: RowWindow;
  readonly fields: readonly Field[];
  readonly choice: ColumnChoice;
  readonly changeChoice: (choice: ColumnChoice) => void;
  readonly sort: readonly string[];
  readonly changeSort: (sort: readonly string[]) => void;
  readonly selected: ReadonlySet<Key>;
  readonly select: (keys: ReadonlySet<Key>) => void;
  /** Whether a cell may be edited in its place. */
  readonly editable: (field: Field) => boolean;
  readonly save: (row: Row, field: Field, value: unknown, record?: Row['values'] | null) => void;
  readonly open: (row: Row) => void;
}

export function Grid(props: GridProps): ReactNode {
  const { collection, rows, fields, choice, selected, select } = props;
  const t = useTexts().data.records;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const { count: known } = useSyncExternalStore(rows.subscribe, rows.snapshot);
  const count = Math.min(known ?? 0, mostRows);
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const [editing, setEditing] = useState<{ readonly place: Place; readonly typed: string | null } | null>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    scrollPaddingStart: rowHeight,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(
    () => rows.ensure(first - pageSize / 4, Math.min(last + pageSize / 2, Math.max(count - 1, 0))),
    [rows, first, last, count],
  );

  const focus = useCallback(() => scroller.current?.focus({ preventScroll: true }), []);
  const goTo = (place: Place): void => {
    const row = Math.max(0, Math.min(count - 1, place.row));
    const column = Math.max(0, Math.min(fields.length - 1, place.column));
    setActive({ row, column });
    virtual.scrollToIndex(row, { align: 'auto' });
    showColumn(scroller.current, `${id}-h${column}`);
  };
  const edit = (place: Place, typed: string | null = null): void => {
    const row = rows.row(place.row);
    if (row && !row.gone && props.editable(fields[place.column]!)) setEditing({ place, typed });
  };
  const stop = (): void => {
    setEditing(null);
    focus();
  };
  const toggle = (row: Row): void => {
    const next = new Set(selected);
    if (!next.delete(row.key)) next.add(row.key);
    select(next);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (editing || event.target !== scroller.current) return;
    const row = rows.row(active.row);
    const page = Math.max(1, Math.floor((scroller.current.clientHeight - rowHeight) / rowHeight) - 1);
    const to = destination(event, active, { count, columns: fields.length, page });
    if (to) goTo(to);
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && row) props.open(row);
    else if (event.key === 'Enter' || event.key === 'F2') edit(active);
    else if (event.key === ' ' && row) toggle(row);
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) edit(active, event.key);
    else return;
    event.preventDefault();
  };
  const template = `${leadWidth}px ${fields.map((field) => `${widthOf(field, choice)}px`).join(' ')}`;
  const width = leadWidth + fields.reduce((sum, field) => sum + widthOf(field, choice), 0);
  const activeRow = rows.row(active.row);
  return (
    <div
      ref={scroller}
      className={classes.scroller}
      role="grid"
      tabIndex={0}
      aria-label={t.grid(titleOf(collection))}
      aria-description={t.gridHint}
      aria-rowcount={count + 1}
      aria-colcount={fields.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={activeRow ? `${id}-${active.row}-${active.column}` : undefined}
      onKeyDown={pressed}
    >
      <Header {...props} id={id} template={template} width={width} loaded={rows.rowsBetween(first, last)} />
      <div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize(), width }}>
        {items.map((item) => (
          <div
            key={item.key}
            role="row"
            aria-rowindex={item.index + 2}
            className={classes.row}
            style={{ transform: `translateY(${item.start}px)`, gridTemplateColumns: template }}
            {...rowState(rows.row(item.index), selected)}
          >
            <Lead row={rows.row(item.index)} collection={collection} selected={selected} toggle={toggle} />
            {fields.map((field, column) => {
              const row = rows.row(item.index);
              const here = active.row === item.index && active.column === column;
              const edits = editing?.place.row === item.index && editing.place.column === column;
              return (
                <div
                  key={field.name}
                  id={`${id}-${item.index}-${column}`}
                  role="gridcell"
                  tabIndex={-1}
                  aria-colindex={column + 2}
                  className={classes.cell}
                  data-active={here || undefined}
                  data-number={isNumber(field) || undefined}
                  onClick={() => {
                    setActive({ row: item.index, column });
                    if (!edits) focus();
                  }}
                  onDoubleClick={() => edit({ row: item.index, column })}
                >
                  {edits && row ? (
                    <CellEditor
                      field={field}
                      row={row}
                      typed={editing.typed}
                      cancel={stop}
                      save={(value, move, record) => {
                        stop();
                        props.save(row, field, value, record);
                        if (move !== 'stay')
                          goTo({
                            row: active.row + (move === 'down' ? 1 : 0),
                            column: active.column + (move === 'right' ? 1 : move === 'left' ? -1 : 0),
                          });
                      }}
                    />
                  ) : (
                    row && <CellValue field={field} values={row.values} />
                  )}
                </div>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Where a key leads, or null for one that leads nowhere. */
function destination(
  { key, ctrlKey, metaKey }: KeyboardEvent,
  { row, column }: Place,
  { count, columns, page }: { count: number; columns: number; page: number },
): Place | null {
  const far = ctrlKey || metaKey;
  switch (key) {
    case 'ArrowDown':
      return { row: far ? count - 1 : row + 1, column };
    case 'ArrowUp':
      return { row: far ? 0 : row - 1, column };
    case 'ArrowRight':
      return { row, column: far ? columns - 1 : column + 1 };
    case 'ArrowLeft':
      return { row, column: far ? 0 : column - 1 };
    case 'PageDown':
      return { row: row + page, column };
    case 'PageUp':
      return { row: row - page, column };
    case 'Home':
      return { row: far ? 0 : row, column: 0 };
    case 'End':
      return { row: far ? count - 1 : row, column: columns - 1 };
    default:
      return null;
  }
}

function rowState(row: Row | undefined, selected: ReadonlySet<Key>): Record<string, unknown> {
  if (!row) return { 'aria-busy': true };
  const fresh = row.changedAt > 0 && Date.now() - row.changedAt < 3000;
  return {
    'aria-selected': selected.has(row.key),
    ...(row.gone && { 'data-gone': true }),
    ...(fresh && { 'data-fresh': row.changedAt % 2 === 0 ? 'even' : 'odd' }),
  };
}

function showColumn(scroller: HTMLElement | null, headId: string): void {
  const head = document.getElementById(headId);
  if (!scroller || !head) return;
  const left = head.offsetLeft;
  if (left - leadWidth < scroller.scrollLeft) scroller.scrollLeft = left - leadWidth;
  else if (left + head.offsetWidth > scroller.scrollLeft + scroller.clientWidth)
    scroller.scrollLeft = left + head.offsetWidth - scroller.clientWidth;
}

function Lead({
  row,
  collection,
  selected,
  toggle,
}: {
  row: Row | undefined;
  collection: Collection;
  selected: ReadonlySet<Key>;
  toggle: (row: Row) => void;
}): ReactNode {
  const t = useTexts().data.records;
  const app = useApplication();
  if (!row) return <div role="gridcell" aria-colindex={1} className={classes.lead} />;
  const label = labelOf(collection, row.values);
  return (
    <div role="gridcell" aria-colindex={1} className={classes.lead}>
      <Checkbox
        size="xs"
        tabIndex={-1}
        aria-label={t.selectRow(label)}
        checked={selected.has(row.key)}
        onChange={() => toggle(row)}
      />
      <Link
        to="/a/$app/data/$collection/$key"
        params={{ app, collection: collection.name, key: String(row.key) }}
        className={classes.open}
        aria-label={row.gone ? `${t.openRow(label)} (${t.gone})` : t.openRow(label)}
        tabIndex={-1}
        preload={false}
      >
        <Icon name="expand" size={14} />
      </Link>
    </div>
  );
}

function Header({
  fields,
  choice,
  changeChoice,
  sort,
  changeSort,
  selected,
  select,
  id,
  template,
  width,
  loaded,
}: GridProps & { id: string; template: string; width: number; loaded: readonly Row[] }): ReactNode {
  const t = useTexts().data.records;
  const all = loaded.length > 0 && loaded.every((row) => selected.has(row.key));
  return (
    <div role="rowgroup" className={classes.head} style={{ width }}>
      <div role="row" aria-rowindex={1} className={classes.headRow} style={{ gridTemplateColumns: template }}>
        <div role="columnheader" aria-colindex={1} className={classes.lead}>
          <Checkbox
            size="xs"
            aria-label={t.selectAll}
            checked={all}
            indeterminate={!all && selected.size > 0}
            onChange={() => select(new Set(all ? [] : [...selected, ...loaded.map((row) => row.key)]))}
          />
        </div>
        {fields.map((field, column) => (
          <HeadCell
            key={field.name}
            id={`${id}-h${column}`}
            field={field}
            column={column}
            sortable={!field.target && !['json', 'array', 'password'].includes(field.type) && !field.multiple}
            sort={sort}
            changeSort={changeSort}
            width={widthOf(field, choice)}
            resize={(next) => changeChoice({ ...choice, widths: { ...choice.widths, [field.name]: next } })}
          />
        ))}
      </div>
    </div>
  );
}

interface HeadCellProps {
  readonly id: string;
  readonly field: Field;
  readonly column: number;
  readonly sortable: boolean;
  readonly sort: readonly string[];
  readonly changeSort: (sort: readonly string[]) => void;
  readonly width: number;
  readonly resize: (width: number) => void;
}

function HeadCell({ id, field, column, sortable, sort, changeSort, width, resize }: HeadCellProps): ReactNode {
  const t = useTexts().data.records;
  const direction = sort.includes(field.name) ? 'ascending' : sort.includes(`-${field.name}`) ? 'descending' : null;
  const next = direction === null ? [field.name] : direction === 'ascending' ? [`-${field.name}`] : [];
  const others = sort.filter((term) => term.replace(/^-/, '') !== field.name);
  return (
    <div
      id={id}
      role="columnheader"
      aria-colindex={column + 2}
      className={classes.headCell}
      {...(sortable && { 'aria-sort': direction ?? 'none' })}
    >
      {sortable ? (
        <button
          type="button"
          className={classes.sort}
          title={t.sortBy(titleOf(field))}
          onClick={(event) => changeSort(event.shiftKey ? [...others, ...next] : next)}
        >
          <span>{titleOf(field)}</span>
          {direction && <Icon name={direction === 'ascending' ? 'arrowUp' : 'arrowDown'} size={13} />}
        </button>
      ) : (
        <span className={classes.sort}>
          <span>{titleOf(field)}</span>
        </span>
      )}
      <Resizer label={t.resize(titleOf(field))} width={width} resize={resize} />
    </div>
  );
}

const least = 60;
const most = 800;

/** The right edge of a column, to be dragged; with the keyboard in steps of 16 pixels. */
function Resizer({
  label,
  width,
  resize,
}: {
  label: string;
  width: number;
  resize: (width: number) => void;
}): ReactNode {
  const from = useRef<{ x: number; width: number } | null>(null);
  const set = (next: number): void => resize(Math.min(most, Math.max(least, Math.round(next))));
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={-1}
      className={classes.resizer}
      onPointerDown={(event) => {
        from.current = { x: event.clientX, width };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => from.current && set(from.current.width + event.clientX - from.current.x)}
      onPointerUp={() => {
        from.current = null;
      }}
      onKeyDown={(event) => {
        if (event.key === 'ArrowLeft') set(width - 16);
        if (event.key === 'ArrowRight') set(width + 16);
      }}
    />
  );
}
