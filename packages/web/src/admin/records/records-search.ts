import type { Filter } from '@tablinum/client';

/** What of a grid stands in its address: a link shows a colleague the same. */
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
