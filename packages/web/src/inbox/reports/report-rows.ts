/** The rows of a report. */

/** One row of a report. Durations are averages in seconds; null: there was none. */
export interface ReportRow {
  /** A period, or an id; null: no member. */
  readonly group: string | number | null;
  readonly received: number;
  readonly answered: number;
  readonly response: number | null;
  readonly closed: number;
  readonly resolution: number | null;
}

/** The figures of a row. */
export type Figures = Omit<ReportRow, 'group'>;
/** A row of one of the two queries, with its figures only. */
export type QueriedRow = Partial<Figures> & { readonly group?: string | number | null };

/** A row without conversations. */
export const noFigures: Figures = { received: 0, answered: 0, response: null, closed: 0, resolution: null };

/** The rows of both queries as one row for each group, in the order of the groups. */
export function mergeRows(rows: readonly QueriedRow[]): readonly ReportRow[] {
  const merged = new Map<string | number | null, ReportRow>();
  for (const { group = null, ...figures } of rows)
    merged.set(group, { ...noFigures, ...merged.get(group), ...figures, group });
  return [...merged.values()].sort((one, other) => compareGroups(one.group, other.group));
}

function compareGroups(one: ReportRow['group'], other: ReportRow['group']): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one ?? '').localeCompare(String(other ?? ''));
}
