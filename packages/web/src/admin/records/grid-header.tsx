/** The header of a grid. Titles sort the list; the edges of columns can be dragged. */
import { Checkbox } from '@mantine/core';
import type { Field } from '@tablinum/client';
import { memo, type ReactNode, useRef } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { DrawnColumn } from './column-tracks.ts';
import { type ColumnChoice, getColumnWidth } from './columns.ts';
import classes from './grid.module.css';
import { isNumber } from './value-text.ts';

interface GridHeaderProps {
  /** The prefix of the ids of the cells: `<id>-h<column>`. */
  readonly id: string;
  readonly drawn: readonly DrawnColumn[];
  readonly choice: ColumnChoice;
  readonly template: string;
  readonly width: number;
  readonly sort: readonly string[];
  /** How many of the loaded rows are selected. */
  readonly selected: 'all' | 'some' | 'none';
  readonly actions: HeaderActions;
}

/** The object keeps its identity for the lifetime of the grid. */
export interface HeaderActions {
  changeSort(sort: readonly string[]): void;
  resize(field: string, width: number): void;
  selectLoaded(): void;
}

export const GridHeader = memo(function GridHeader(props: GridHeaderProps): ReactNode {
  const { id, drawn, choice, template, width, sort, selected, actions } = props;
  const t = useTexts().data.records;
  return (
    <div role="rowgroup" className={classes.head} style={{ width }}>
      <div role="row" aria-rowindex={1} className={classes.headRow} style={{ gridTemplateColumns: template }}>
        <div role="columnheader" aria-colindex={1} className={classes.lead}>
          <Checkbox
            size="xs"
            aria-label={t.selectAll}
            checked={selected === 'all'}
            indeterminate={selected === 'some'}
            onChange={actions.selectLoaded}
          />
        </div>
        {drawn.map(({ field, column, track }) => (
          <HeadCell
            key={field.name}
            id={`${id}-h${column}`}
            field={field}
            column={column}
            track={track}
            sortable={!field.target && !['json', 'array', 'file', 'password'].includes(field.type) && !field.multiple}
            sort={sort}
            changeSort={actions.changeSort}
            width={getColumnWidth(field, choice)}
            resize={(next) => actions.resize(field.name, next)}
          />
        ))}
      </div>
    </div>
  );
});

interface HeadCellProps {
  readonly id: string;
  readonly field: Field;
  readonly column: number;
  readonly track: number;
  readonly sortable: boolean;
  readonly sort: readonly string[];
  readonly changeSort: (sort: readonly string[]) => void;
  readonly width: number;
  readonly resize: (width: number) => void;
}

function HeadCell({ id, field, column, track, sortable, sort, changeSort, width, resize }: HeadCellProps): ReactNode {
  const t = useTexts().data.records;
  const direction = sort.includes(field.name) ? 'ascending' : sort.includes(`-${field.name}`) ? 'descending' : null;
  const next = direction === null ? [field.name] : direction === 'ascending' ? [`-${field.name}`] : [];
  const otherTerms = sort.filter((term) => term.replace(/^-/, '') !== field.name);
  return (
    <div
      id={id}
      role="columnheader"
      aria-colindex={column + 2}
      className={classes.headCell}
      style={{ gridColumn: track }}
      data-pinned={column === 0 || undefined}
      data-number={isNumber(field) || undefined}
      {...(sortable && { 'aria-sort': direction ?? 'none' })}
    >
      {sortable ? (
        <button
          type="button"
          className={classes.sort}
          title={t.sortBy(getTitle(field))}
          onClick={(event) => changeSort(event.shiftKey ? [...otherTerms, ...next] : next)}
        >
          <span>{getTitle(field)}</span>
          {direction && <Icon name={direction === 'ascending' ? 'arrowUp' : 'arrowDown'} size={13} />}
        </button>
      ) : (
        <span className={classes.sort}>
          <span>{getTitle(field)}</span>
        </span>
      )}
      <Resizer label={t.resize(getTitle(field))} width={width} resize={resize} />
    </div>
  );
}

const minWidth = 60;
const maxWidth = 800;

/** The right edge of a column. It can be dragged, or moved with the arrow keys in steps of 16 pixels. */
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
  const set = (next: number): void => resize(Math.min(maxWidth, Math.max(minWidth, Math.round(next))));
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width}
      aria-valuemin={minWidth}
      aria-valuemax={maxWidth}
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
