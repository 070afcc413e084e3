/** What of the access pages' lists stands in their addresses. */
export interface UsersSearch {
  readonly q?: string;
  readonly role?: string;
  readonly status?: string;
  readonly page?: number;
}

export interface AuditSearch {
  readonly actor?: string;
  readonly action?: string;
  readonly outcome?: string;
  /** Days, `2026-11-21`; both are counted in. */
  readonly from?: string;
  readonly to?: string;
  readonly page?: number;
  readonly entry?: number;
}

export interface DeliveriesSearch {
  readonly status?: string;
  readonly page?: number;
}

type Given = Record<string, unknown>;

/** Texts and numbers that are given, under the names that are known. */
function known<T>(given: Given, texts: readonly (keyof T & string)[], numbers: readonly (keyof T & string)[]): T {
  const words = texts.map((name) => [name, given[name] == null ? '' : String(given[name])] as const);
  const counts = numbers.map((name) => [name, Math.trunc(Number(given[name]))] as const);
  const there = [...words.filter(([, word]) => word !== ''), ...counts.filter(([, count]) => count > 0)];
  return Object.fromEntries(there) as T;
}

export const usersSearch = (given: Given): UsersSearch => known(given, ['q', 'role', 'status'], ['page']);
export const auditSearch = (given: Given): AuditSearch =>
  known(given, ['actor', 'action', 'outcome', 'from', 'to'], ['page', 'entry']);
export const deliveriesSearch = (given: Given): DeliveriesSearch => known(given, ['status'], ['page']);
