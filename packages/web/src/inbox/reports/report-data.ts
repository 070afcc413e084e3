/** Reads the figures of a report: two queries about conversations, under the permissions of the user. */
import type { Client } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useApiQuery } from '../../data/queries.ts';
import { mergeRows, noFigures, type QueriedRow, type ReportRow } from './report-rows.ts';

/** What the rows of a report stand for. */
export const groupings = ['day', 'week', 'month', 'account', 'member', 'label'] as const;
export type Grouping = (typeof groupings)[number];

/** Days as `YYYY-MM-DD`, both included. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

/** A report, with the figures of all rows together. */
export interface Report {
  readonly rows: readonly ReportRow[];
  readonly total: ReportRow;
}

/** At most this many rows are read; a period of ten years has fewer days. */
const maxRows = 4000;
const formats = { day: 'YYYY-MM-DD', week: 'YYYYW', month: 'YYYY-MM' } as const;

/** The figures of a period, in the time zone of the browser. */
export function useReport(period: Period, grouping: Grouping): UseQueryResult<Report, Error> {
  const isValid = isValidPeriod(period);
  return useApiQuery(
    ['mail-report', period.from, period.to, grouping],
    (client, signal) => readReport(client, { period, grouping }, signal),
    { enabled: isValid, keepPreviousData: true },
  );
}

/** Whether both days are given, in their order. */
export function isValidPeriod({ from, to }: Period): boolean {
  return from !== '' && to !== '' && from <= to;
}

async function readReport(
  client: Client,
  { period, grouping }: { readonly period: Period; readonly grouping: Grouping | null },
  signal: AbortSignal,
): Promise<Report> {
  const read = (field: string, measures: readonly object[], by: Grouping | null): Promise<readonly QueriedRow[]> => {
    const filter = { [field]: { $dateBetween: [period.from, period.to] } };
    const body = { measures, dimensions: by === null ? [] : [toDimension(field, by)], filter, limit: maxRows };
    return client
      .call<readonly QueriedRow[]>('conversations:query', { method: 'POST', body, signal })
      .then(({ data }) => data);
  };
  const arrived = [
    { aggregation: 'count', alias: 'received' },
    { field: 'respondedAt', aggregation: 'count', alias: 'answered' },
    { field: 'responseSeconds', aggregation: 'avg', alias: 'response' },
  ];
  const settled = [
    { aggregation: 'count', alias: 'closed' },
    { field: 'resolutionSeconds', aggregation: 'avg', alias: 'resolution' },
  ];
  const [rowsArrived, rowsSettled, [arrivedInAll], [settledInAll]] = await Promise.all([
    read('firstReceivedAt', arrived, grouping),
    read('closedAt', settled, grouping),
    read('firstReceivedAt', arrived, null),
    read('closedAt', settled, null),
  ]);
  return {
    rows: mergeRows([...rowsArrived, ...rowsSettled]),
    total: { ...noFigures, ...arrivedInAll, ...settledInAll, group: null },
  };
}

function toDimension(field: string, grouping: Grouping): object {
  if (grouping === 'account') return { field: 'accountId', alias: 'group' };
  if (grouping === 'member') return { field: 'assigneeId', alias: 'group' };
  if (grouping === 'label') return { field: 'labels', alias: 'group' };
  return { field, format: formats[grouping], alias: 'group' };
}
