import {
  hasInvalidSortPositions,
  readSortPositionBounds,
  renumberSortPositions,
  shiftSortPositions,
} from '../database/sort-positions.ts';
import { ApiError } from '../protocol/api-error.ts';
import { parameterUnknown } from '../protocol/known-names.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import { invalidOperand } from '../schema/field-type.ts';
import { type Collection, type Field, getField } from '../schema/registry.ts';
import { requireGrant } from './read-records.ts';
import { inTransaction, type RecordContext } from './record-context.ts';
import { parseKey } from './record-key.ts';
import { readFieldValue, readFieldValues } from './related-parent.ts';
import { getSortColumn } from './sort-columns.ts';
import { getRules } from './system/system-rules.ts';
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

const knownParameters = new Set(['sourceId', 'filterByTk', 'targetId', 'sortField', 'method', 'sticky', 'targetScope']);

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
  const move = parseMove(parameters, collection);
  const grant = requireGrant(context, collection, 'update');
  if (!grant.may(move.field))
    throw new ApiError('FIELD_DENIED', `The role may not write "${move.field.name}" of ${collection.name}.`);
  requireScopeAccess(context, collection, move);
  const lockKey = `places ${collection.id}`;
  return inTransaction(context, (tx) => moveInTransaction(tx, collection, move), { lockKey, heavy: true });
}

/**
 * Who names a scope, or a record beside which another one is to lie, asks which scope it lies in: the answer is for those who
 * may read it.
 */
function requireScopeAccess(
  { findGrant }: RecordContext,
  collection: Collection,
  { field, target, targetScope }: Move,
): void {
  const { scopeKey } = field.definition;
  if (scopeKey === undefined || (target === undefined && targetScope === undefined)) return;
  const scope = getField(collection, scopeKey);
  const canRead = findGrant(collection.name, 'get')?.may(scope) ?? false;
  const canWrite = targetScope === undefined || (findGrant(collection.name, 'update')?.may(scope) ?? false);
  if (!canRead || !canWrite)
    throw new ApiError(
      'FIELD_DENIED',
      `The role may not ${canRead ? 'write' : 'read'} "${scopeKey}" of ${collection.name}.`,
    );
}

async function moveInTransaction(tx: RecordContext, collection: Collection, move: Move): Promise<WriteResult> {
  const { database, tx: transaction } = tx;
  const sortColumn = getSortColumn(collection, move.field);
  const grant = requireGrant(tx, collection, 'update');
  const scopeKey = move.field.definition.scopeKey ?? null;
  const readScope = (key: unknown): Promise<unknown> =>
    scopeKey === null ? Promise.resolve(null) : readFieldValue(tx, collection, key, scopeKey, grant);
  const sourceScope = await readScope(move.source);
  const adjacentScope = move.target === undefined ? undefined : await readAdjacentScope(tx, collection, move, scopeKey);
  const scope =
    move.targetScope !== undefined ? move.targetScope : adjacentScope === undefined ? sourceScope : adjacentScope;
  if (adjacentScope !== undefined && adjacentScope !== scope)
    throw new ApiError('PARAMETER_INVALID', 'targetId lies in another scope than targetScope names.');
  transaction!.touch(collection.table);
  if (await hasInvalidSortPositions(database, transaction!, sortColumn, scope))
    await renumberSortPositions(database, transaction!, sortColumn);
  const from =
    scope === sourceScope ? Number(await readFieldValue(tx, collection, move.source, move.field.name, grant)) : null;
  const to = await allocatePosition(tx, collection, move, scope, from);
  const values = { [move.field.name]: to, ...(scope !== sourceScope && { [scopeKey!]: scope }) };
  return updateRecords(tx, collection, requestByKeys('update', move.source), values, null, getRules(collection));
}

/** Makes room and returns the number of the place. */
async function allocatePosition(
  tx: RecordContext,
  collection: Collection,
  { field, target, method, sticky }: Move,
  scope: unknown,
  from: number | null,
): Promise<number> {
  const { database, tx: transaction } = tx;
  const sortColumn = getSortColumn(collection, field);
  const [first, last] = await readSortPositionBounds(database, transaction!, sortColumn, scope);
  if (sticky) return (first ?? 1) - 1;
  if (target === undefined) return (last ?? 0) + 1;
  const targetPosition = Number(
    await readFieldValue(tx, collection, target, field.name, requireGrant(tx, collection, 'get')),
  );
  const isMovingDown = from !== null && from < targetPosition;
  const isAfter = method === undefined ? isMovingDown : method === 'insertAfter';
  const shiftRange = (low: number, high: number, offset: 1 | -1): Promise<void> =>
    low > high
      ? Promise.resolve()
      : shiftSortPositions(database, transaction!, sortColumn, { inScope: scope, from: low, to: high, delta: offset });
  if (isMovingDown) {
    await shiftRange(from + 1, isAfter ? targetPosition : targetPosition - 1, -1);
    return isAfter ? targetPosition : targetPosition - 1;
  }
  await shiftRange(
    isAfter ? targetPosition + 1 : targetPosition,
    from === null ? Math.max(last ?? targetPosition, targetPosition) : from - 1,
    1,
  );
  return isAfter ? targetPosition + 1 : targetPosition;
}

async function readAdjacentScope(
  tx: RecordContext,
  collection: Collection,
  { target, field }: Move,
  scopeKey: string | null,
): Promise<unknown> {
  const name = scopeKey ?? field.name;
  const [found] = await readFieldValues(tx, collection, [target], name, requireGrant(tx, collection, 'get'));
  if (!found) throw new ApiError('REFERENCE_MISSING', 'targetId names a record that does not exist.');
  return scopeKey === null ? null : found.value;
}

function parseMove(parameters: Readonly<Record<string, unknown>>, collection: Collection): Move {
  const unknown = Object.keys(parameters).find((name) => !knownParameters.has(name));
  if (unknown !== undefined) throw parameterUnknown('move', unknown, knownParameters);
  const { sourceId, filterByTk, targetId, sortField = 'sort', method, sticky, targetScope } = parameters;
  const field = typeof sortField === 'string' ? collection.byName.get(sortField) : undefined;
  if (field?.type.name !== 'sort')
    throw new ApiError('PARAMETER_INVALID', `sortField names no sort field of ${collection.name}.`);
  const source = parseKey(sourceId ?? filterByTk, collection);
  if (source === undefined || Array.isArray(source))
    throw new ApiError('TARGET_MISSING', 'move needs one record: sourceId.');
  if (method !== undefined && method !== 'insertBefore' && method !== 'insertAfter')
    throw new ApiError('PARAMETER_INVALID', 'method is insertBefore or insertAfter.');
  const isSticky = sticky === true || sticky === 'true' || sticky === '';
  const target = targetId === undefined ? undefined : parseKey(targetId, collection);
  if (Array.isArray(target)) throw new ApiError('PARAMETER_INVALID', 'targetId names one record.');
  if (target === undefined && !isSticky && targetScope === undefined)
    throw new ApiError('TARGET_MISSING', 'move needs targetId, sticky=true or targetScope.');
  const to = targetScope === undefined ? undefined : parseScope(targetScope, field, collection);
  return { field, source, target, method, sticky: isSticky, targetScope: to };
}

function parseScope(input: unknown, field: Field, collection: Collection): unknown {
  const { scopeKey } = field.definition;
  if (scopeKey === undefined) throw new ApiError('PARAMETER_INVALID', `"${field.name}" has no scopes.`);
  if (input === null || input === '') return null;
  const value = getField(collection, scopeKey).type.readOperand(input, true);
  if (value === invalidOperand) throw new ApiError('PARAMETER_INVALID', `targetScope is no value of "${scopeKey}".`);
  return value;
}
