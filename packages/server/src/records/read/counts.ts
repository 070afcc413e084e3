import { hash } from 'node:crypto';
import type { BoundStatement, Row } from '../../database/database.ts';
import { requireRow } from '../../database/run-statement.ts';
import { readVisitedRows } from '../../database/visited-rows.ts';
import { maxCountKey } from '../plan-cache.ts';
import type { RecordContext } from '../record-context.ts';
import { runReads } from './read-statements.ts';

/** A page and its total. */
export interface CountedPage {
  readonly rows: Row[];
  readonly countRow: Row;
  /** How many rows the count visited; 0 if it was cached. */
  readonly countVisited: number;
}

/**
 * Reads a page with its count. A count is cached until one of its tables changes. Concurrent requests for the same
 * count share it: a hundred clients that open the same list make the server count once. Threads share the counts that
 * they have read.
 *
 * @param tables that the count reads.
 */
export async function readCounted(
  context: RecordContext,
  page: BoundStatement,
  count: BoundStatement,
  tables: readonly string[],
): Promise<CountedPage> {
  if (context.tx) return toCountedPage(await runReads(context, [page, count]));
  const { counts } = context.cache;
  const counter = context.database.changeCounter(tables);
  const key = buildCountKey(count);
  const cached = key === null ? undefined : counts.get(key);
  if (cached && cached.counter === counter) {
    const [rows = []] = await runReads(context, [page]);
    return { rows, countRow: await cached.row, countVisited: 0 };
  }
  if (counter === null || key === null) return toCountedPage(await runReads(context, [page, count]));
  const shared = context.database.sharedTotals?.(tables);
  const known = shared?.find(key);
  if (known) {
    counts.set(key, { counter, row: Promise.resolve(known) });
    const [rows = []] = await runReads(context, [page]);
    return { rows, countRow: known, countVisited: 0 };
  }
  const both = runReads(context, [page, count]).then(toCountedPage);
  const row = both.then(({ countRow }) => countRow);
  counts.set(key, { counter, row });
  row.then(
    (counted) => shared?.note(key, counted),
    () => counts.delete(key),
  );
  return both;
}

function toCountedPage([rows = [], countRows = []]: Row[][]): CountedPage {
  return { rows, countRow: requireRow(countRows), countVisited: readVisitedRows(countRows) };
}

/** Longer statements and values, in characters, are counted each time: building their key would cost more. */
const maxCountText = 64 * 1024;

/** The key of a count, hashed if it is long. Null if the count is not cached. */
function buildCountKey({ text, values }: BoundStatement): string | null {
  const length = values.reduce<number>((sum, each) => sum + (typeof each === 'string' ? each.length : 20), text.length);
  if (length > maxCountText) return null;
  const key = `${text}${JSON.stringify(values, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))}`;
  return key.length <= maxCountKey ? key : hash('sha256', key, 'base64url');
}
