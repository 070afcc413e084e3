/**
 * The records of a list as a grid: a hundred thousand rows of which those in view are drawn, moved through by keyboard
 * as a spreadsheet is. The grid itself has the focus and names its active cell, so that a row which leaves the view takes
 * no focus along.
 */
import type { Collection, Field, Key, RecordValues } from '@tablinum/client';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import {
  type ClipboardEvent,
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
import { getTitle, getWriteName } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { useStable } from '../../ui/use-stable.ts';
import { formatRows, getCellText } from './clipboard-text.ts';
import type { ColumnChoice } from './columns.ts';
import classes from './grid.module.css';
import { useColumnLayout } from './grid-columns.ts';
import { GridHeader, type HeaderActions } from './grid-header.tsx';
import { type CellPosition, findDestination } from './grid-navigation.ts';
import { GridRow, type RowActions } from './grid-row.tsx';
import { getRememberedPosition, rememberPosition } from './view-memory.ts';

export const rowHeight = 34;
/** Rows drawn above and below those in view. */
const overscan = 10;
/** Browsers place nothing below some fifteen million pixels. */
export const maxRows = 400_000;

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
  /** Every record of the list is selected, loaded or not; `selected` holds nothing then. */
  readonly allSelected: boolean;
  /** The list is the same one as long as this is: it is scrolled to where it was left. */
  readonly positionKey: string;
  /** Whether a cell may be edited in its place. */
  readonly editable: (field: Field) => boolean;
  readonly save: (row: Row, field: Field, value: unknown, record?: Row['values'] | null) => void;
  readonly open: (row: Row) => void;
}

/** An open editor: what is saved goes to the row as it was when the editor was opened. */
export interface Editing {
  readonly position: CellPosition;
  readonly row: Row;
  /** The key that began the edit, or null. */
  readonly typed: string | null;
}

export function Grid(props: GridProps): ReactNode {
  const { collection, rows, fields, choice, selected, select, allSelected } = props;
  const t = useTexts().data.records;
  const address = `/a/${useApplication()}/data/${collection.name}`;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const { count: known } = useSyncExternalStore(rows.subscribe, rows.snapshot);
  const count = Math.min(known ?? 0, maxRows);
  const [active, setActive] = useState<CellPosition>({ row: 0, column: 0 });
  const [editing, setEditing] = useState<Editing | null>(null);
  // The editor goes with its record, wherever the list has it by now.
  const found = editing ? rows.indexOf(editing.row.key) : -1;
  const editedRow = found >= 0 ? found : editing?.position.row;
  const { drawn, template, width, scrollToColumn } = useColumnLayout(
    scroller,
    fields,
    choice,
    editing?.position.column ?? -1,
  );
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan,
    scrollPaddingStart: rowHeight,
    // The row that is edited stays: its text is nowhere else.
    rangeExtractor: (range) => includeRow(defaultRangeExtractor(range), editedRow, count),
  });
  const { positionKey } = props;
  useLayoutEffect(() => {
    if (scroller.current) scroller.current.scrollTop = getRememberedPosition(positionKey);
  }, [positionKey]);
  const items = virtual.getVirtualItems();
  const first = Math.max(0, (virtual.range?.startIndex ?? 0) - overscan);
  const last = Math.min(Math.max(0, count - 1), (virtual.range?.endIndex ?? 0) + overscan);
  useEffect(
    () => rows.ensure(first - pageSize / 4, Math.min(last + pageSize / 2, Math.max(count - 1, 0))),
    [rows, first, last, count],
  );

  const focus = useCallback(() => scroller.current?.focus({ preventScroll: true }), []);
  const goTo = (position: CellPosition): void => {
    const row = Math.max(0, Math.min(count - 1, position.row));
    const column = Math.max(0, Math.min(fields.length - 1, position.column));
    setActive({ row, column });
    virtual.scrollToIndex(row, { align: 'auto' });
    scrollToColumn(column);
  };
  const edit = (position: CellPosition, typed: string | null = null): void => {
    const row = rows.row(position.row);
    if (row && !row.isRemoved && props.editable(fields[position.column]!)) setEditing({ position, typed, row });
  };
  const stop = (): void => {
    setEditing(null);
    focus();
  };
  const toggle = (row: Row): void => {
    const next = new Set(allSelected ? rows.loaded().map(({ key }) => key) : selected);
    if (!next.delete(row.key)) next.add(row.key);
    select(next);
  };
  const clear = (row: Row): void => {
    const field = fields[active.column]!;
    const name = getWriteName(field);
    if (row.isRemoved || field.required || row.values[name] == null || !props.editable(field)) return;
    const before = [row.values[name], field.target ? (row.values[field.name] as RecordValues | null) : null] as const;
    props.save(row, field, null);
    const undo = (): void => props.save(rows.byKey(row.key) ?? row, field, ...before);
    toast(t.cleared(getTitle(field)), { action: { label: t.bulk.undo, run: undo } });
  };
  const handleCopy = (event: ClipboardEvent): void => {
    const row = rows.row(active.row);
    if (event.target !== scroller.current || !row || getSelection()?.isCollapsed === false) return;
    const chosen = allSelected ? rows.loaded() : [...selected].flatMap((key) => rows.byKey(key) ?? []);
    const text = chosen.length > 0 ? formatRows(fields, chosen) : getCellText(fields[active.column]!, row.values);
    event.clipboardData.setData('text/plain', text);
    event.preventDefault();
    if (chosen.length > 0) toast(t.copied(chosen.length));
  };
  const handleKeyDown = (event: KeyboardEvent): void => {
    if (editing || event.target !== scroller.current) return;
    const row = rows.row(active.row);
    const page = Math.max(1, Math.floor((scroller.current.clientHeight - rowHeight) / rowHeight) - 1);
    const to = findDestination(event, active, { count, columns: fields.length, page });
    if (to) goTo(to);
    else if (
      event.key === 'Enter' &&
      row &&
      (event.ctrlKey || event.metaKey || !props.editable(fields[active.column]!))
    )
      props.open(row);
    else if (event.key === 'Enter' || event.key === 'F2') edit(active);
    else if (event.key === ' ' && row) toggle(row);
    else if (event.key === 'Delete' && row) clear(row);
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) edit(active, event.key);
    else return;
    event.preventDefault();
  };
  const isDrawn = rows.row(active.row) !== undefined && drawn.some(({ column }) => column === active.column);
  const loaded = selected.size > 0 ? rows.loaded() : [];
  const all = allSelected || (loaded.length > 0 && loaded.every((row) => selected.has(row.key)));
  const actions = useStable<RowActions & HeaderActions>({
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
    selectLoaded: () => select(new Set(all ? [] : rows.loaded().map(({ key }) => key))),
  });
  return (
    <div
      ref={scroller}
      className={classes.scroller}
      role="grid"
      tabIndex={0}
      aria-label={t.grid(getTitle(collection))}
      aria-description={t.gridHint}
      aria-rowcount={count + 1}
      aria-colcount={fields.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={isDrawn ? `${id}-${active.row}-${active.column}` : undefined}
      onScroll={(event) => rememberPosition(positionKey, event.currentTarget.scrollTop)}
      onKeyDown={handleKeyDown}
      onCopy={handleCopy}
    >
      <GridHeader
        id={id}
        drawn={drawn}
        choice={choice}
        template={template}
        width={width}
        sort={props.sort}
        selected={all ? 'all' : selected.size > 0 ? 'some' : 'none'}
        actions={actions}
      />
      <div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize(), width }}>
        {items.map(({ key, index, start }) => {
          const row = rows.row(index);
          const edits = editing !== null && editedRow === index;
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
              selected={row !== undefined && (allSelected || selected.has(row.key))}
              active={active.row === index ? active.column : -1}
              editing={edits ? editing.position.column : -1}
              edited={edits ? editing : null}
              actions={actions}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The rows that are drawn, with one more where it is not among them. */
function includeRow(rows: number[], row: number | undefined, count: number): number[] {
  return row === undefined || row >= count || rows.includes(row) ? rows : [...rows, row].sort((a, b) => a - b);
}
