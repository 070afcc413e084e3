/** Remembers the filter, order and scroll position of lists, for the way back from a record. */
import type { RecordsSearch } from './records-search.ts';

const views = new Map<string, RecordsSearch>();
const positions = new Map<string, number>();
const maxPositions = 100;

export function rememberView(application: string, collection: string, search: RecordsSearch): void {
  views.set(`${application}/${collection}`, search);
}

export function getRememberedView(application: string, collection: string): RecordsSearch {
  return views.get(`${application}/${collection}`) ?? {};
}

export function rememberPosition(key: string, top: number): void {
  positions.delete(key);
  positions.set(key, top);
  const [oldest] = positions.keys();
  if (positions.size > maxPositions && oldest !== undefined) positions.delete(oldest);
}

export function getRememberedPosition(key: string): number {
  return positions.get(key) ?? 0;
}
