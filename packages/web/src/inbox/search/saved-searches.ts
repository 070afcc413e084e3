/** The views of the inbox that the user has saved on the server. */

import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { type InboxView, parseInboxSearch } from '../inbox-search.ts';

export interface SavedSearch {
  readonly id: number;
  readonly name: string;
  readonly view: InboxView;
}

const queryName = 'mail-saved-searches';
const noSearches: readonly SavedSearch[] = [];

/** The saved searches by name; none for a role that may not list them. */
export function useSavedSearches(): readonly SavedSearch[] {
  const may = useMay();
  const { data } = useApiQuery(
    [queryName],
    async (client) => {
      const query = { fields: ['id', 'name', 'view'], sort: 'name', pageSize: 100 };
      const { data: rows } = await client.call<readonly { id: number; name: string; view: Record<string, unknown> }[]>(
        'mailSavedSearches:list',
        { query },
      );
      return rows.map(({ id, name, view }): SavedSearch => {
        const { c: _, ...parsed } = parseInboxSearch(view);
        return { id, name, view: parsed };
      });
    },
    { enabled: may('mailSavedSearches', 'list'), staleTime: 60_000 },
  );
  return data ?? noSearches;
}

/** Saves the view, also under the name of a search that exists: that one is changed. */
export function useSaveSearch(): (given: { readonly name: string; readonly view: InboxView }) => Promise<void> {
  const saved = useSavedSearches();
  return useActionMutation({
    write: (client, { name, view }: { readonly name: string; readonly view: InboxView }) => {
      const existing = saved.find((each) => each.name === name);
      return existing
        ? client.call('mailSavedSearches:update', {
            method: 'POST',
            query: { filterByTk: existing.id },
            body: { view },
          })
        : client.call('mailSavedSearches:create', { method: 'POST', body: { name, view } });
    },
    changes: [queryName],
  });
}

export function useDeleteSearch(): (id: number) => Promise<void> {
  return useActionMutation({
    write: (client, id: number) =>
      client.call('mailSavedSearches:destroy', { method: 'POST', query: { filterByTk: id } }),
    changes: [queryName],
  });
}

/** Whether two views show the same list. */
export function isSameView(one: InboxView, other: InboxView): boolean {
  const form = (view: InboxView): string =>
    JSON.stringify(Object.entries(view).toSorted(([a], [b]) => a.localeCompare(b)));
  return form(one) === form(other);
}
