import type { Row } from '../../database/database.ts';
import { pageSeparator } from '../../database/dialect.ts';
import type { ListPlan } from '../../query/read-plan.ts';

/** The records of one page, made from the rows of a {@link ListPlan}, which reads one record more than the page has. */
export interface ListPage {
  /** The records as JSON text, without brackets around them. */
  readonly text: string;
  readonly hasNext: boolean;
  /** The sort values of the last record, after which the next page starts. */
  lastKeys(): unknown[];
  /** The write counter of each record by its key, if the request asks for it. */
  versions(): Record<string, number>;
}

/** Builds a page from the rows of its plan, which has read one record more than `size`. */
export function buildPage(rows: readonly Row[], plan: ListPlan, size: number): ListPage {
  return plan.keyNames ? buildTextPage(rows[0]!, plan.keyNames, size) : buildRowPage(rows, plan, size);
}

/** The sort values that a row contains in addition to its object. */
export function readSortKeys(row: Row, plan: ListPlan): unknown[] {
  return plan.keys.map((_, index) => row[1 + index]);
}

function buildTextPage(row: Row, keys: readonly string[], size: number): ListPage {
  const whole = (row[0] as string | null) ?? '';
  const hasNext = (row[1] as number) > size;
  const text = hasNext ? whole.slice(0, whole.lastIndexOf(pageSeparator)) : whole;
  const lastKeys = (): unknown[] => {
    const start = text.lastIndexOf(pageSeparator);
    const last = JSON.parse(start < 0 ? text : text.slice(start + pageSeparator.length)) as Record<string, unknown>;
    return keys.map((name) => last[name]);
  };
  return { text, hasNext, lastKeys, versions: () => ({}) };
}

function buildRowPage(rows: readonly Row[], plan: ListPlan, size: number): ListPage {
  const hasNext = rows.length > size;
  const pageRows = hasNext ? rows.slice(0, size) : rows;
  return {
    text: pageRows.map((row) => row[0]).join(pageSeparator),
    hasNext,
    lastKeys: () => readSortKeys(pageRows.at(-1)!, plan),
    versions: () => readVersions(pageRows, plan),
  };
}

function readVersions(rows: readonly Row[], plan: ListPlan): Record<string, number> {
  const versions: Record<string, number> = {};
  const key = plan.keys.length; // the primary key is the last key of every sort
  for (const row of rows) versions[String(row[key])] = row[key + 1] as number;
  return versions;
}
