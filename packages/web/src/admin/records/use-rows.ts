import type { Collection } from '@tablinum/client';
import { useEffect, useState } from 'react';
import { clientOf } from '../../data/application.tsx';
import { useLive } from '../../data/live.ts';
import { useScope } from '../../data/queries.ts';
import { onReturn } from '../../data/reachability.ts';
import { keyField } from '../../data/records/label.ts';
import { RowWindow, type Shown } from '../../data/records/row-window.ts';
import type { RecordsSearch } from './records-search.ts';

interface Rows {
  readonly rows: RowWindow;
  /** What the list shows: filter, search, order. */
  readonly view: Shown;
  /** From the first page on: what is new takes its place. */
  readonly readAgain: () => void;
}

/**
 * The rows of what is asked for; live while they are shown. Another role, order or filter is another reading.
 *
 * @param names the fields in view: the records that its relations name come along.
 */
export function useRows(collection: Collection, names: readonly string[], search: RecordsSearch): Rows {
  const [application, role] = useScope();
  const shown = JSON.stringify(shownOf(collection, names, search));
  const key = keyField(collection).name;
  const open = (): RowWindow => new RowWindow(clientOf(application), collection.name, key, JSON.parse(shown) as Shown);
  const asked = JSON.stringify([application, role, collection.name, key, shown]);
  const [held, hold] = useState(() => ({ asked, rows: open() }));
  const current = held.asked === asked ? held : { asked, rows: open() };
  if (current !== held) hold(current);
  const { rows } = current;
  const view = JSON.parse(shown) as Shown;
  const readAgain = (): void => hold({ asked, rows: open() });
  useEffect(() => rows.ensure(0, 0), [rows]);
  useEffect(() => onReturn(() => rows.state.error && rows.retry()), [rows]);
  useLive(
    collection.name,
    ({ name, tk }) => {
      if (tk === null) return;
      if (name.endsWith('.created') || name.endsWith('.restored')) rows.noteAdded(tk);
      else if (name.endsWith('.updated')) rows.refresh(tk);
      else rows.markGone([tk]);
    },
    () => rows.renew(), // an open editor stays
  );
  return { rows, view, readAgain };
}

/** To-one relations come along, so that a cell says who and not which number. */
function shownOf(collection: Collection, names: readonly string[], { q, filter, sort, trash }: RecordsSearch): Shown {
  const appends = collection.fields
    .filter((field) => field.target && names.includes(field.name))
    .map((field) => field.name);
  return {
    ...(q && { search: q }),
    ...(filter && { filter }),
    ...(sort && { sort: sort.split(',') }),
    ...(appends.length > 0 && { appends }),
    ...(trash && { onlyDeleted: true }),
  };
}
