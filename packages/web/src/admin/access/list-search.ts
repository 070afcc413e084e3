/** The part of the lists of the access pages that is stored in the URL. */
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
  /** Days such as `2026-11-21`, both inclusive. */
  readonly from?: string;
  readonly to?: string;
  readonly page?: number;
  readonly entry?: number;
}

export interface DeliveriesSearch {
  readonly status?: string;
  readonly page?: number;
}

type RawSearch = Record<string, unknown>;

/** The known parameters that have a text or a number. */
function pickSearchParameters<T>(
  raw: RawSearch,
  texts: readonly (keyof T & string)[],
  numbers: readonly (keyof T & string)[],
): T {
  const textEntries = texts.map((name) => [name, raw[name] == null ? '' : String(raw[name])] as const);
  const numberEntries = numbers.map((name) => [name, Math.trunc(Number(raw[name]))] as const);
  const entries = [
    ...textEntries.filter(([, value]) => value !== ''),
    ...numberEntries.filter(([, count]) => count > 0),
  ];
  return Object.fromEntries(entries) as T;
}

export const parseUsersSearch = (raw: RawSearch): UsersSearch =>
  pickSearchParameters(raw, ['q', 'role', 'status'], ['page']);
export const parseAuditSearch = (raw: RawSearch): AuditSearch =>
  pickSearchParameters(raw, ['actor', 'action', 'outcome', 'from', 'to'], ['page', 'entry']);
export const parseDeliveriesSearch = (raw: RawSearch): DeliveriesSearch =>
  pickSearchParameters(raw, ['status'], ['page']);
