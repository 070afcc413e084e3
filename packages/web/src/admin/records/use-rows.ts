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
  /** The filter, search and order of the list. */
  readonly view: ListQuery;
  /** Reads the list again from the first page, including new records. */
  readonly reload: () => void;
}

/**
 * The rows of a list, updated by realtime events. A change of role, order or filter opens a new window.
 *
 * @param names the shown fields. Records of shown to-one relations are loaded with the rows.
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
    () => rows.renew(), // an open editor stays open
  );
  return { rows, view, reload };
}

/** To-one relations are loaded with the records, so that cells can show labels instead of keys. */
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
