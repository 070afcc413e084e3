import { hash } from 'node:crypto';
import type { BoundStatement, Row } from '../../database/database.ts';
import { maxCountKey } from '../plan-cache.ts';
import type { RecordContext } from '../record-context.ts';
import { runReads } from './read-statements.ts';

/** A page and its total. */
export interface CountedPage {
  readonly rows: Row[];
  readonly countRow: Row;
}

/**
 * Reads a page with its count. A count holds as long as none of its tables changes, and requests that want the same one
 * while it is being made wait for it: a hundred clients that open a list make the server count once.
 */
export async function readCounted(
  context: RecordContext,
  page: BoundStatement,
  count: BoundStatement,
  tables: readonly string[],
): Promise<CountedPage> {
  if (context.tx) {
    const [rows, countRows] = await runReads(context, [page, count]);
    return { rows: rows!, countRow: countRows![0]! };
  }
  const { counts } = context.cache;
  const counter = context.database.changeCounter(tables);
  const key = buildCountKey(count);
  const known = key === null ? undefined : counts.get(key);
  if (known && known.counter === counter) {
    const [rows] = await runReads(context, [page]);
    return { rows: rows!, countRow: await known.row };
  }
  const both = runReads(context, [page, count]);
  if (counter !== null && key !== null) {
    const row = both.then(([, countRows]) => countRows![0]!);
    counts.set(key, { counter, row });
    row.catch(() => counts.delete(key));
  }
  const [rows, countRows] = await both;
  return { rows: rows!, countRow: countRows![0]! };
}

/** Characters of statement and values past which a count is made each time: looking for it would cost more. */
const maxCountText = 64 * 1024;

/** Tells counts apart; of a fixed length for long statements and values. Null where the count is not cached. */
function buildCountKey({ text, values }: BoundStatement): string | null {
  const length = values.reduce<number>((sum, each) => sum + (typeof each === 'string' ? each.length : 20), text.length);
  if (length > maxCountText) return null;
  const key = `${text}${JSON.stringify(values, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))}`;
  return key.length <= maxCountKey ? key : hash('sha256', key, 'base64url');
}
