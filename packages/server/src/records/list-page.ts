import type { Row } from '../database/database.ts';
import { pageSeparator } from '../database/dialect.ts';
import type { ListPlan } from '../query/read-plan.ts';

/** The records of one page, from the rows of a {@link ListPlan} of one record more. */
export interface ListPage {
  /** The records as JSON text, without brackets around them. */
  readonly text: string;
  readonly hasNext: boolean;
  /** What the last record is sorted by: where the next page starts. */
  lastKeys(): unknown[];
  /** The write counter of each record by its key, where they were asked for. */
  versions(): Record<string, number>;
}

export function pageOf(rows: readonly Row[], plan: ListPlan, size: number): ListPage {
  return plan.shownKeys ? textPage(rows[0]!, plan.lead, plan.shownKeys, size) : rowPage(rows, plan, size);
}

/** The sort values that a row carries beside its object. */
export function keysOfRow(row: Row, plan: ListPlan): unknown[] {
  return plan.keys.map((_, index) => row[plan.lead + 1 + index]);
}

function textPage(row: Row, lead: number, keys: readonly string[], size: number): ListPage {
  const whole = (row[lead] as string | null) ?? '';
  const hasNext = (row[lead + 1] as number) > size;
  const text = hasNext ? whole.slice(0, whole.lastIndexOf(pageSeparator)) : whole;
  const lastKeys = (): unknown[] => {
    const start = text.lastIndexOf(pageSeparator);
    const last = JSON.parse(start < 0 ? text : text.slice(start + pageSeparator.length)) as Record<string, unknown>;
    return keys.map((name) => last[name]);
  };
  return { text, hasNext, lastKeys, versions: () => ({}) };
}

function rowPage(rows: readonly Row[], plan: ListPlan, size: number): ListPage {
  const hasNext = rows.length > size;
  const shown = hasNext ? rows.slice(0, size) : rows;
  return {
    text: shown.map((row) => row[plan.lead]).join(pageSeparator),
    hasNext,
    lastKeys: () => keysOfRow(shown.at(-1)!, plan),
    versions: () => versionsOf(shown, plan),
  };
}

function versionsOf(rows: readonly Row[], plan: ListPlan): Record<string, number> {
  const versions: Record<string, number> = {};
  const key = plan.lead + plan.keys.length; // the primary key is the last key of every sort
  for (const row of rows) versions[String(row[key])] = row[key + 1] as number;
  return versions;
}
