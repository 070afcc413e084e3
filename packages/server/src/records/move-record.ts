import { endPlaces, isDisordered, renumber, shift } from '../database/positions.ts';
import { ApiError } from '../protocol/api-error.ts';
import { parameterUnknown } from '../protocol/known-names.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import { misfit } from '../schema/field-type.ts';
import { type Collection, type Field, fieldOf } from '../schema/registry.ts';
import { placeOf } from './places.ts';
import { requireGrant } from './read-records.ts';
import { type RecordContext, together } from './record-context.ts';
import { keyOf } from './record-key.ts';
import { fieldValue, valuesOf } from './related-parent.ts';
import { rulesOf } from './system/rules-of.ts';
import { updateRecords, type WriteResult } from './write-records.ts';

type Method = 'insertBefore' | 'insertAfter';

interface Move {
  readonly field: Field;
  readonly source: unknown;
  readonly target: unknown;
  /** Undefined: the target's place, after it when moving down. */
  readonly method: Method | undefined;
  readonly sticky: boolean;
  /** The scope to move to, or undefined. */
  readonly targetScope: unknown;
}

const known = new Set(['sourceId', 'filterByTk', 'targetId', 'sortField', 'method', 'sticky', 'targetScope']);

/**
 * Moves a record to the place of another one, to the first place (`sticky`), or to the end of another scope. The records
 * between make room; they are not told of as changed.
 *
 * @throws ApiError 400 for parameters that do not fit, 404 for a source that is not there.
 */
export async function moveRecord(
  context: RecordContext,
  collection: Collection,
  parameters: Readonly<Record<string, unknown>>,
): Promise<WriteResult> {
  const move = moveOf(parameters, collection);
  const grant = requireGrant(context, collection, 'update');
  if (!grant.may(move.field))
    throw new ApiError('FIELD_DENIED', `The role may not write "${move.field.name}" of ${collection.name}.`);
  requireScopeNamed(context, collection, move);
  const turn = `places ${collection.id}`;
  return together(context, (inside) => moved(inside, collection, move), { turn, heavy: true });
}

/**
 * Who names a scope, or a record beside which another one is to lie, asks which scope it lies in: the answer is for those who
 * may read it.
 */
function requireScopeNamed(
  { grantOf }: RecordContext,
  collection: Collection,
  { field, target, targetScope }: Move,
): void {
  const { scopeKey } = field.definition;
  if (scopeKey === undefined || (target === undefined && targetScope === undefined)) return;
  const scope = fieldOf(collection, scopeKey);
  const reads = grantOf(collection.name, 'get')?.may(scope) ?? false;
  const writes = targetScope === undefined || (grantOf(collection.name, 'update')?.may(scope) ?? false);
  if (!reads || !writes)
    throw new ApiError(
      'FIELD_DENIED',
      `The role may not ${reads ? 'write' : 'read'} "${scopeKey}" of ${collection.name}.`,
    );
}

async function moved(inside: RecordContext, collection: Collection, move: Move): Promise<WriteResult> {
  const { database, inside: transaction } = inside;
  const place = placeOf(collection, move.field);
  const grant = requireGrant(inside, collection, 'update');
  const scopeKey = move.field.definition.scopeKey ?? null;
  const scopeOf = (key: unknown): Promise<unknown> =>
    scopeKey === null ? Promise.resolve(null) : fieldValue(inside, collection, key, scopeKey, grant);
  const own = await scopeOf(move.source);
  const beside = move.target === undefined ? undefined : await besideScope(inside, collection, move, scopeKey);
  const scope = move.targetScope !== undefined ? move.targetScope : beside === undefined ? own : beside;
  if (beside !== undefined && beside !== scope)
    throw new ApiError('PARAMETER_INVALID', 'targetId lies in another scope than targetScope names.');
  transaction!.touch(collection.table);
  if (await isDisordered(database, transaction!, place, scope)) await renumber(database, transaction!, place);
  const from = scope === own ? Number(await fieldValue(inside, collection, move.source, move.field.name, grant)) : null;
  const to = await newPlace(inside, collection, move, scope, from);
  const values = { [move.field.name]: to, ...(scope !== own && { [scopeKey!]: scope }) };
  return updateRecords(inside, collection, requestByKeys('update', move.source), values, null, rulesOf(collection));
}

/** Makes room and returns the number of the place. */
async function newPlace(
  inside: RecordContext,
  collection: Collection,
  { field, target, method, sticky }: Move,
  scope: unknown,
  from: number | null,
): Promise<number> {
  const { database, inside: transaction } = inside;
  const place = placeOf(collection, field);
  const [first, last] = await endPlaces(database, transaction!, place, scope);
  if (sticky) return (first ?? 1) - 1;
  if (target === undefined) return (last ?? 0) + 1;
  const at = Number(await fieldValue(inside, collection, target, field.name, requireGrant(inside, collection, 'get')));
  const down = from !== null && from < at;
  const after = method === undefined ? down : method === 'insertAfter';
  const room = (low: number, high: number, by: 1 | -1): Promise<void> =>
    low > high ? Promise.resolve() : shift(database, transaction!, place, scope, low, high, by);
  if (down) {
    await room(from + 1, after ? at : at - 1, -1);
    return after ? at : at - 1;
  }
  await room(after ? at + 1 : at, from === null ? Math.max(last ?? at, at) : from - 1, 1);
  return after ? at + 1 : at;
}

async function besideScope(
  inside: RecordContext,
  collection: Collection,
  { target, field }: Move,
  scopeKey: string | null,
): Promise<unknown> {
  const name = scopeKey ?? field.name;
  const [found] = await valuesOf(inside, collection, [target], name, requireGrant(inside, collection, 'get'));
  if (!found) throw new ApiError('REFERENCE_MISSING', 'targetId names a record that does not exist.');
  return scopeKey === null ? null : found.value;
}

function moveOf(parameters: Readonly<Record<string, unknown>>, collection: Collection): Move {
  const unknown = Object.keys(parameters).find((name) => !known.has(name));
  if (unknown !== undefined) throw parameterUnknown('move', unknown, known);
  const { sourceId, filterByTk, targetId, sortField = 'sort', method, sticky, targetScope } = parameters;
  const field = typeof sortField === 'string' ? collection.byName.get(sortField) : undefined;
  if (field?.type.name !== 'sort')
    throw new ApiError('PARAMETER_INVALID', `sortField names no sort field of ${collection.name}.`);
  const source = keyOf(sourceId ?? filterByTk, collection);
  if (source === undefined || Array.isArray(source))
    throw new ApiError('TARGET_MISSING', 'move needs one record: sourceId.');
  if (method !== undefined && method !== 'insertBefore' && method !== 'insertAfter')
    throw new ApiError('PARAMETER_INVALID', 'method is insertBefore or insertAfter.');
  const isSticky = sticky === true || sticky === 'true' || sticky === '';
  const target = targetId === undefined ? undefined : keyOf(targetId, collection);
  if (Array.isArray(target)) throw new ApiError('PARAMETER_INVALID', 'targetId names one record.');
  if (target === undefined && !isSticky && targetScope === undefined)
    throw new ApiError('TARGET_MISSING', 'move needs targetId, sticky=true or targetScope.');
  const to = targetScope === undefined ? undefined : scopeValue(targetScope, field, collection);
  return { field, source, target, method, sticky: isSticky, targetScope: to };
}

function scopeValue(input: unknown, field: Field, collection: Collection): unknown {
  const { scopeKey } = field.definition;
  if (scopeKey === undefined) throw new ApiError('PARAMETER_INVALID', `"${field.name}" has no scopes.`);
  if (input === null || input === '') return null;
  const value = fieldOf(collection, scopeKey).type.readOperand(input, true);
  if (value === misfit) throw new ApiError('PARAMETER_INVALID', `targetScope is no value of "${scopeKey}".`);
  return value;
}
