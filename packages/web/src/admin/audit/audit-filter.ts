import type { Filter } from '@tablinum/client';
import type { AuditSearch } from '../access/list-search.ts';

/** The API filter for the search of the page. Days are in the time zone of the browser. */
export function buildAuditFilter({ actor, action, outcome, from, to }: AuditSearch): Filter | undefined {
  const parts = [
    ...(actor ? [{ actor: { $includes: actor } }] : []),
    ...(action ? [{ action: { $includes: action } }] : []),
    ...(outcome ? [{ outcome }] : []),
    ...(from ? [{ at: { $gte: startOfDay(from, 0) } }] : []),
    ...(to ? [{ at: { $lt: startOfDay(to, 1) } }] : []),
  ];
  return parts.length === 0 ? undefined : { $and: parts };
}

function startOfDay(day: string, offset: number): string {
  const [year = 1970, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + offset).toISOString();
}
