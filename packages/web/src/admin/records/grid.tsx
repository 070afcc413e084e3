/**
 * The records of a list as a grid: a hundred thousand rows of which those in view are drawn, moved through by keyboard
 * as a spreadsheet is. The grid itself has the focus and names its active cell, so that a row which leaves the view takes
 * no focus along.
 */
import type { Collection, Field, Key } from '@tablinum/client';
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { useApplication } from '../../data/application.tsx';
import { pageSize, type Row, type RowWindow } from '../../data/records/row-window.ts';
import { titleOf } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { type ColumnChoice, widthOf } from './columns.ts';
import classes from './grid.module.css';
import { GridHeader, type HeaderActs } from './grid-header.tsx';
import { GridRow, type RowActs } from './grid-row.tsx';

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
  const address = `/a/${useApplication()}/data/${collection.name}`;
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
  const shown = selected.size > 0 ? rows.rowsBetween(first, last) : [];
  const all = shown.length > 0 && shown.every((row) => selected.has(row.key));
  const acts = useStable<RowActs & HeaderActs>({
    activate: (row, column, editing) => {
      setActive({ row, column });
      if (!editing) focus();
    },
    edit: (row, column) => edit({ row, column }),
    toggle,
    open: props.open,
    cancel: stop,
    save: (row, field, value, move, record) => {
      stop();
      props.save(row, field, value, record);
      if (move === 'down') goTo({ row: active.row + 1, column: active.column });
      else if (move !== 'stay') goTo({ row: active.row, column: active.column + (move === 'right' ? 1 : -1) });
    },
    changeSort: props.changeSort,
    resize: (field, next) => props.changeChoice({ ...choice, widths: { ...choice.widths, [field]: next } }),
    selectShown: () =>
      select(new Set(all ? [] : [...selected, ...rows.rowsBetween(first, last).map((row) => row.key)])),
  });
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
      aria-activedescendant={rows.row(active.row) ? `${id}-${active.row}-${active.column}` : undefined}
      onKeyDown={pressed}
    >
      <GridHeader
        id={id}
        fields={fields}
        choice={choice}
        template={template}
        width={width}
        sort={props.sort}
        selected={all ? 'all' : selected.size > 0 ? 'some' : 'none'}
        acts={acts}
      />
      <div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize(), width }}>
        {items.map(({ key, index, start }) => {
          const row = rows.row(index);
          const edits = editing?.place.row === index;
          return (
            <GridRow
              key={key}
              id={id}
              index={index}
              start={start}
              row={row}
              collection={collection}
              fields={fields}
              template={template}
              address={address}
              selected={row !== undefined && selected.has(row.key)}
              active={active.row === index ? active.column : -1}
              editing={edits ? editing.place.column : -1}
              typed={edits ? editing.typed : null}
              acts={acts}
            />
          );
        })}
      </div>
    </div>
  );
}

/** An object that stays the same, whose functions are always those of the last drawing. */
function useStable<T extends object>(functions: T): T {
  const latest = useRef(functions);
  useLayoutEffect(() => {
    latest.current = functions;
  });
  const [stable] = useState(() => {
    const names = Object.keys(functions) as (keyof T)[];
    const calls = names.map((name) => [
      name,
      (...given: unknown[]) => (latest.current[name] as (...all: unknown[]) => unknown)(...given),
    ]);
    return Object.fromEntries(calls) as T;
  });
  return stable;
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

function showColumn(scroller: HTMLElement | null, headId: string): void {
  const head = document.getElementById(headId);
  if (!scroller || !head) return;
  const left = head.offsetLeft;
  if (left - leadWidth < scroller.scrollLeft) scroller.scrollLeft = left - leadWidth;
  else if (left + head.offsetWidth > scroller.scrollLeft + scroller.clientWidth)
    scroller.scrollLeft = left + head.offsetWidth - scroller.clientWidth;
}
