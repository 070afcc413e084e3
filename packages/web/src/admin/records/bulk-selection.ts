/** The records of a bulk action. Writes are sent with a filter where possible, else with keys in batches. */
import type { Key, Records, RecordValues, WriteParameters } from '@tablinum/client';
import type { ListQuery } from '../../data/records/row-window.ts';

export type BulkSelection =
  | { readonly kind: 'keys'; readonly keys: readonly Key[] }
  /** Every record that matches the filter and the search of the list, loaded or not. */
  | { readonly kind: 'matching'; readonly query: ListQuery; readonly keyField: string; readonly count: number };

/** Keys are sent in the URL, whose length limits their number. */
const keysPerRequest = 500;
const keysPerPage = 1000;

export function countSelected(selection: BulkSelection): number {
  return selection.kind === 'keys' ? selection.keys.length : selection.count;
}

export type WriteSelector = Pick<WriteParameters, 'filterByTk' | 'filter'>;

/**
 * Runs a write for all selected records.
 *
 * @param write returns the records that the server has written, or their number.
 * @returns how many records the server has written.
 */
export async function writeSelected(
  records: Records,
  selection: BulkSelection,
  write: (selector: WriteSelector) => Promise<readonly RecordValues[] | number>,
): Promise<number> {
  if (selection.kind === 'matching' && selection.query.search === undefined && selection.query.onlyDeleted !== true)
    return countWritten(await write({ filter: selection.query.filter ?? { [selection.keyField]: { $ne: null } } }));
  const keys =
    selection.kind === 'keys' ? selection.keys : await readMatchingKeys(records, selection.query, selection.keyField);
  let count = 0;
  for (let first = 0; first < keys.length; first += keysPerRequest)
    count += countWritten(await write({ filterByTk: keys.slice(first, first + keysPerRequest) }));
  return count;
}

function countWritten(result: readonly RecordValues[] | number): number {
  return typeof result === 'number' ? result : result.length;
}

async function readMatchingKeys(
  records: Records,
  { filter, search, onlyDeleted }: ListQuery,
  keyField: string,
): Promise<readonly Key[]> {
  const keys: Key[] = [];
  const parameters = { filter, search, onlyDeleted, fields: [keyField], pageSize: keysPerPage };
  for await (const page of records.pages(parameters)) keys.push(...page.map((each) => each[keyField] as Key));
  return keys;
}
