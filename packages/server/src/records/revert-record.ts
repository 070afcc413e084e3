/** Going back to what a record was: an update like any other, with values that its history has. */
import { ApiError } from '../protocol/api-error.ts';
import { parameterUnknown } from '../protocol/known-names.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import type { Grant } from '../query/grant.ts';
import { fieldsTold } from '../query/history-plan.ts';
import type { Collection } from '../schema/registry.ts';
import { statesAt } from './history.ts';
import { historyGrants, oneKeyOf, readEntries, requireLogging } from './read-history.ts';
import { requireGrant } from './read-records.ts';
import { type RecordContext, together } from './record-context.ts';
import { rulesOf } from './system/rules-of.ts';
import { updateRecords, type WriteResult } from './write-records.ts';
import type { Match } from './write-steps.ts';

const shown: ReadonlySet<string> = new Set(['filterByTk', 'entry', 'fields', 'except', 'appends']);
const entriesAtOnce = 200;

/**
 * Gives the fields of a record the values that they had after an entry of its history. Fields that the caller may not see
 * or not write stay as they are, whatever has become of them: the answer depends on no hidden value. So do those of which
 * history knows nothing.
 *
 * @throws ApiError 404 for an entry that the caller's history of the record does not show, and all that an update throws.
 */
export async function revertRecord(
  context: RecordContext,
  collection: Collection,
  parameters: Readonly<Record<string, unknown>>,
  match: Match,
): Promise<WriteResult> {
  const update = requireGrant(context, collection, 'update');
  const grants = historyGrants(context, collection);
  requireLogging(collection);
  const unknown = Object.keys(parameters).find((name) => !shown.has(name));
  if (unknown !== undefined) throw parameterUnknown('revert', unknown, shown);
  const { entry, ...rest } = parameters;
  const request = normaliseRequest('update', rest, true, true);
  const key = oneKeyOf(request.filterByTk, collection, 'revert');
  const wanted = entryOf(entry);
  const reverted = async (inside: RecordContext): Promise<WriteResult> => {
    const then = await valuesAfter(inside, collection, grants, key, wanted);
    const states = await statesAt(inside, collection, inside.inside!, [key]);
    const now = states.get(String(key)) ?? {};
    const body: Record<string, unknown> = {};
    for (const field of fieldsTold(collection, [...grants, update])) {
      const id = String(field.id);
      if (field.primaryKey || field.definition.autoNowAdd || !then.has(id)) continue;
      if (JSON.stringify(then.get(id)) !== JSON.stringify(now[id] ?? null)) body[field.name] = then.get(id);
    }
    return updateRecords(inside, collection, request, body, match, rulesOf(collection));
  };
  // A history may be long.
  return together(context, reverted, { heavy: true });
}

function entryOf(input: unknown): number {
  const text = typeof input === 'number' ? String(input) : input;
  if (typeof text === 'string' && /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text)))
    return Number(text);
  throw new ApiError('PARAMETER_INVALID', 'entry must be the id of an entry of the history.');
}

/**
 * What the fields held after an entry, by their ids: what the last change up to it made, or where there was none what the
 * first change after it found.
 */
async function valuesAfter(
  inside: RecordContext,
  collection: Collection,
  grants: readonly Grant[],
  key: unknown,
  wanted: number,
): Promise<ReadonlyMap<string, unknown>> {
  const made = new Map<string, unknown>();
  const found = new Map<string, unknown>();
  let isThere = false;
  let before: number | null = null;
  for (;;) {
    const page = { key, before, offset: 0, size: entriesAtOnce, counted: false };
    const { entries } = await readEntries(inside, collection, grants, page);
    for (const { id, action, changes } of entries) {
      isThere ||= id === wanted;
      for (const [field, [from, to]] of Object.entries(changes)) {
        if (id > wanted) found.set(field, from);
        else if (!made.has(field)) made.set(field, to);
      }
      // What comes before is the history of another record that had the key.
      if (action === 'created' || (id <= wanted && !isThere)) return asked(isThere, found, made);
    }
    if (entries.length < entriesAtOnce) return asked(isThere, found, made);
    before = entries.at(-1)!.id;
  }
}

function asked(
  isThere: boolean,
  found: ReadonlyMap<string, unknown>,
  made: ReadonlyMap<string, unknown>,
): Map<string, unknown> {
  if (!isThere) throw new ApiError('RECORD_UNKNOWN', 'The history of this record has no such entry.');
  return new Map([...found, ...made]);
}
