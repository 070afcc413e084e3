import type { Filter } from '@tablinum/client';

/** The part of a list that is stored in the URL, so that a link shows the same list to a colleague. */
export interface RecordsSearch {
  readonly q?: string;
  readonly filter?: Filter;
  readonly sort?: string;
  readonly trash?: true;
}

export function parseRecordsSearch(raw: Record<string, unknown>): RecordsSearch {
  const { q, filter, sort, trash } = raw;
  return {
    ...(q != null && q !== '' && { q: String(q) }),
    ...(typeof filter === 'object' && filter !== null && { filter: filter as Filter }),
    ...(typeof sort === 'string' && sort !== '' && { sort }),
    ...((trash === true || trash === 'true') && { trash: true as const }),
  };
}

/** Changes the URL. A property that is undefined or an empty string is removed from it. */
export type GoToSearch = (change: { readonly [name in keyof RecordsSearch]?: unknown }) => void;

/** Whether a filter or a full-text search is set. */
export function isNarrowed({ q, filter }: RecordsSearch): boolean {
  return Boolean(q || filter);
}

/** The search with the change applied. */
export function changeSearch(search: RecordsSearch, change: Parameters<GoToSearch>[0]): RecordsSearch {
  return Object.fromEntries(
    Object.entries({ ...search, ...change }).filter(([, value]) => value !== undefined && value !== ''),
  );
}
