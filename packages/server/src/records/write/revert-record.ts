import { ApiError } from '../../protocol/api-error.ts';
import { requireKnownNames } from '../../protocol/known-names.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { listReadableFields } from '../../query/history-plan.ts';
import type { Collection } from '../../schema/registry.ts';
import { type HistoryGrants, historyGrants, readEntries, requireLogging, requireOneKey } from '../read/read-history.ts';
import { requireGrant } from '../read/read-records.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../record-context.ts';
import { getRules } from '../system/system-rules.ts';
import { readStates } from './history.ts';
import { findWriteLocks, updateRecords, type WriteResult } from './write-records.ts';
import type { IfMatch } from './write-steps.ts';

const knownParameters: ReadonlySet<string> = new Set(['filterByTk', 'entry', 'fields', 'except', 'appends']);
const entryPageSize = 200;

/**
 * Reverts the fields of a record to the values that they had after an entry of its history. It is an ordinary update.
 * Fields that the caller may not read or write stay as they are, so the reply does not depend on hidden values. So do fields
 * that are not in the history.
 *
 * @param parameters `{filterByTk, entry, fields?, except?, appends?}`.
 * @throws ApiError 404 for an entry that is not in the caller's history of the record; and as an update.
 */
export async function revertRecord(
  context: RecordContext,
  collection: Collection,
  parameters: Readonly<Record<string, unknown>>,
  match: IfMatch,
): Promise<WriteResult> {
  const update = requireGrant(context, collection, 'update');
  const grants = historyGrants(context, collection);
  requireLogging(collection);
  requireKnownNames('revert', parameters, knownParameters);
  const { entry, ...rest } = parameters;
  const request = normaliseRequest('update', rest, true, true);
  const key = requireOneKey(request.filterByTk, collection, 'revert');
  const entryId = parseEntryId(entry);
  const revert = async (tx: TransactionContext): Promise<WriteResult> => {
    const then = await readValuesAfter(tx, collection, grants, { key, entryId });
    const states = await readStates(tx, collection, tx.tx, [key]);
    const now = states.get(String(key)) ?? {};
    const body: Record<string, unknown> = {};
    for (const field of listReadableFields(collection, [...grants, update])) {
      const id = String(field.id);
      if (field.primaryKey || field.definition.autoNowAdd || !then.has(id)) continue;
      if (JSON.stringify(then.get(id)) !== JSON.stringify(now[id] ?? null)) body[field.name] = then.get(id);
    }
    return updateRecords(tx, collection, request, { body, match, rules: getRules(collection) });
  };
  // Heavy: a history may be long.
  const lockKey = await findWriteLocks(context, getRules(collection), { filterByTk: key });
  return inTransaction(context, revert, { heavy: true, lockKey });
}

function parseEntryId(input: unknown): number {
  const text = typeof input === 'number' ? String(input) : input;
  if (typeof text === 'string' && /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text)))
    return Number(text);
  throw new ApiError('PARAMETER_INVALID', '"entry" must be the id of an entry of the history.');
}

/**
 * The values of the fields after an entry, by field id: those that the last change up to the entry has written. For a field
 * without such a change: what the first change after the entry has replaced.
 */
async function readValuesAfter(
  tx: TransactionContext,
  collection: Collection,
  grants: HistoryGrants,
  { key, entryId }: { readonly key: unknown; readonly entryId: number },
): Promise<ReadonlyMap<string, unknown>> {
  const valuesBefore = new Map<string, unknown>();
  const valuesSince = new Map<string, unknown>();
  let isFound = false;
  let before: number | null = null;
  for (;;) {
    const page = { key, before, offset: 0, size: entryPageSize, counted: false };
    const { entries } = await readEntries(tx, collection, grants, page);
    for (const { id, action, changes } of entries) {
      isFound ||= id === entryId;
      for (const [field, [from, to]] of Object.entries(changes)) {
        if (id > entryId) valuesSince.set(field, from);
        else if (!valuesBefore.has(field)) valuesBefore.set(field, to);
      }
      // Older entries belong to an earlier record with the same key.
      if (action === 'created' || (id <= entryId && !isFound)) return mergeValues(isFound, valuesSince, valuesBefore);
    }
    const last = entries.at(-1);
    if (!last || entries.length < entryPageSize) return mergeValues(isFound, valuesSince, valuesBefore);
    before = last.id;
  }
}

function mergeValues(
  isFound: boolean,
  valuesSince: ReadonlyMap<string, unknown>,
  valuesBefore: ReadonlyMap<string, unknown>,
): Map<string, unknown> {
  if (!isFound) throw new ApiError('RECORD_UNKNOWN', 'The history of this record has no such entry.');
  return new Map([...valuesSince, ...valuesBefore]);
}
