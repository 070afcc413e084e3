import type { Collection } from '@tablinum/client';
import { useEffect, useState } from 'react';
import { getClient } from '../../data/application.tsx';
import { useScope } from '../../data/queries.ts';
import { onReconnect } from '../../data/reachability.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import { findKeyField } from '../../data/records/label.ts';
import { type ListQuery, RowWindow } from '../../data/records/row-window.ts';
import type { RecordsSearch } from './records-search.ts';

interface Rows {
  readonly rows: RowWindow;
  /** What the list shows: filter, search, order. */
  readonly view: ListQuery;
  /** From the first page on: what is new takes its place. */
  readonly reload: () => void;
}

/**
 * The rows of what is asked for; live while they are shown. Another role, order or filter is another reading.
 *
 * @param names the fields in view: the records that its relations name come along.
 */
export function useRows(collection: Collection, names: readonly string[], search: RecordsSearch): Rows {
  const [application, role] = useScope();
  const queryJson = JSON.stringify(buildListQuery(collection, names, search));
  const key = findKeyField(collection).name;
  const openWindow = (): RowWindow =>
    new RowWindow(getClient(application), collection.name, key, JSON.parse(queryJson) as ListQuery);
  const requestKey = JSON.stringify([application, role, collection.name, key, queryJson]);
  const [state, setState] = useState(() => ({ requestKey, rows: openWindow() }));
  const current = state.requestKey === requestKey ? state : { requestKey, rows: openWindow() };
  if (current !== state) setState(current);
  const { rows } = current;
  const view = JSON.parse(queryJson) as ListQuery;
  const reload = (): void => setState({ requestKey, rows: openWindow() });
  useEffect(() => rows.ensure(0, 0), [rows]);
  useEffect(() => onReconnect(() => rows.state.error && rows.retry()), [rows]);
  useRealtimeEvents(
    collection.name,
    ({ name, tk: changedKey }) => {
      if (changedKey === null) return;
      if (name.endsWith('.created') || name.endsWith('.restored')) rows.noteAdded(changedKey);
      else if (name.endsWith('.updated')) rows.refresh(changedKey);
      else rows.markRemoved([changedKey]);
    },
    () => rows.renew(), // an open editor stays
  );
  return { rows, view, reload };
}

/** To-one relations come along, so that a cell says who and not which number. */
function buildListQuery(
  collection: Collection,
  names: readonly string[],
  { q, filter, sort, trash }: RecordsSearch,
): ListQuery {
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
