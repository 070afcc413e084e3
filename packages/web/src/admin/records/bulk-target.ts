/** Which records a bulk action writes, and how the writes are sent: by filter where one can say it, else by keys in batches. */
import type { Key, Records, RecordValues, WriteParameters } from '@tablinum/client';
import type { Shown } from '../../data/records/row-window.ts';

export type BulkTarget =
  | { readonly kind: 'keys'; readonly keys: readonly Key[] }
  /** Every record of the list as it is filtered and searched, loaded or not. */
  | { readonly kind: 'matching'; readonly shown: Shown; readonly keyField: string; readonly count: number };

/** Keys travel in the URL of a write, which has room for about this many. */
const keysPerRequest = 500;
const keysPerPage = 1000;

export function countOf(target: BulkTarget): number {
  return target.kind === 'keys' ? target.keys.length : target.count;
}

export type WriteTarget = Pick<WriteParameters, 'filterByTk' | 'filter'>;

/**
 * Runs a write for all records of the target.
 *
 * @param write returns what the server wrote: the records, or their number.
 * @returns how many records the server has written.
 */
export async function writeAll(
  records: Records,
  target: BulkTarget,
  write: (target: WriteTarget) => Promise<readonly RecordValues[] | number>,
): Promise<number> {
  if (target.kind === 'matching' && target.shown.search === undefined && target.shown.onlyDeleted !== true)
    return written(await write({ filter: target.shown.filter ?? { [target.keyField]: { $ne: null } } }));
  const keys = target.kind === 'keys' ? target.keys : await matchingKeys(records, target.shown, target.keyField);
  let count = 0;
  for (let first = 0; first < keys.length; first += keysPerRequest)
    count += written(await write({ filterByTk: keys.slice(first, first + keysPerRequest) }));
  return count;
}

function written(result: readonly RecordValues[] | number): number {
  return typeof result === 'number' ? result : result.length;
}

async function matchingKeys(
  records: Records,
  { filter, search, onlyDeleted }: Shown,
  keyField: string,
): Promise<readonly Key[]> {
  const keys: Key[] = [];
  const parameters = { filter, search, onlyDeleted, fields: [keyField], pageSize: keysPerPage };
  for await (const page of records.pages(parameters)) keys.push(...page.map((each) => each[keyField] as Key));
  return keys;
}
