import {
  hasInvalidSortPositions,
  readSortPositionBounds,
  renumberSortPositions,
  shiftSortPositions,
} from '../../database/sort-positions.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { requireKnownNames } from '../../protocol/known-names.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import { invalidOperand } from '../../schema/field-type.ts';
import { type Collection, type Field, getField } from '../../schema/registry.ts';
import { readFieldValue, readFieldValues } from '../read/field-values.ts';
import { requireGrant } from '../read/read-records.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../record-context.ts';
import { parseKey } from '../record-key.ts';
import { getRules } from '../system/system-rules.ts';
import { getSortColumn } from './sort-columns.ts';
import { findWriteLocks, updateRecords, type WriteResult } from './write-records.ts';

type Method = 'insertBefore' | 'insertAfter';

interface Move {
  readonly field: Field;
  readonly source: unknown;
  readonly target: unknown;
  /** Undefined: before the target when moving up, after it when moving down. */
  readonly method: Method | undefined;
  readonly sticky: boolean;
  /** The scope to move to, or undefined. */
  readonly targetScope: unknown;
}

const knownParameters = new Set(['sourceId', 'filterByTk', 'targetId', 'sortField', 'method', 'sticky', 'targetScope']);

/**
 * Moves a record to the sort position of another one, to the first position (`sticky`), or to the end of another scope. The
 * records in between are shifted by one; they have no events.
 *
 * @param parameters `{sourceId, targetId?, sortField?, method?, sticky?, targetScope?}`.
 * @throws ApiError 400 for parameters that do not fit, 404 for a source that does not exist.
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
  const locks = await findWriteLocks(context, getRules(collection), { filterByTk: move.source });
  const lockKey = [`sort positions ${collection.id}`, ...locks];
  return inTransaction(context, (tx) => moveInTransaction(tx, collection, move), { lockKey, heavy: true });
}

/** A move to another scope, or next to another record, reveals the scope. @throws ApiError 403 if the role may not read it. */
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

async function moveInTransaction(tx: TransactionContext, collection: Collection, move: Move): Promise<WriteResult> {
  const { database, tx: transaction } = tx;
  const { field, source, targetScope } = move;
  const sortColumn = getSortColumn(collection, field);
  const grant = requireGrant(tx, collection, 'update');
  const { scopeKey } = field.definition;
  const sourceScope =
    scopeKey === undefined ? null : await readFieldValue(tx, { collection, name: scopeKey, grant }, source);
  const adjacentScope = move.target === undefined ? undefined : await readAdjacentScope(tx, collection, move);
  const scope = targetScope !== undefined ? targetScope : adjacentScope === undefined ? sourceScope : adjacentScope;
  if (adjacentScope !== undefined && adjacentScope !== scope)
    throw new ApiError('PARAMETER_INVALID', 'The record of "targetId" is not in the scope of "targetScope".');
  transaction.touch(collection.table);
  if (await hasInvalidSortPositions(database, transaction, sortColumn, scope))
    await renumberSortPositions(database, transaction, sortColumn);
  const isSameScope = scope === sourceScope;
  const from = isSameScope ? Number(await readFieldValue(tx, { collection, name: field.name, grant }, source)) : null;
  const to = await allocatePosition(tx, collection, move, { scope, from });
  const body = { [field.name]: to, ...(!isSameScope && scopeKey !== undefined && { [scopeKey]: scope }) };
  return updateRecords(tx, collection, requestByKeys('update', source), { body, rules: getRules(collection) });
}

/** Shifts the records in between by one. @returns the sort position that this frees. */
async function allocatePosition(
  tx: TransactionContext,
  collection: Collection,
  { field, target, method, sticky }: Move,
  { scope, from }: { readonly scope: unknown; readonly from: number | null },
): Promise<number> {
  const { database, tx: transaction } = tx;
  const sortColumn = getSortColumn(collection, field);
  const [first, last] = await readSortPositionBounds(database, transaction, sortColumn, scope);
  if (sticky) return (first ?? 1) - 1;
  if (target === undefined) return (last ?? 0) + 1;
  const query = { collection, name: field.name, grant: requireGrant(tx, collection, 'get') };
  const targetPosition = Number(await readFieldValue(tx, query, target));
  const isMovingDown = from !== null && from < targetPosition;
  const isAfter = method === undefined ? isMovingDown : method === 'insertAfter';
  const shiftRange = (low: number, high: number, offset: 1 | -1): Promise<void> =>
    low > high
      ? Promise.resolve()
      : shiftSortPositions(database, transaction, sortColumn, { inScope: scope, from: low, to: high, delta: offset });
  if (isMovingDown) {
    const to = isAfter ? targetPosition : targetPosition - 1;
    await shiftRange(from + 1, to, -1);
    return to;
  }
  const to = isAfter ? targetPosition + 1 : targetPosition;
  await shiftRange(to, from === null ? Math.max(last ?? targetPosition, targetPosition) : from - 1, 1);
  return to;
}

/** The scope of the record to move next to; null in a sort field without scopes. */
async function readAdjacentScope(
  tx: TransactionContext,
  collection: Collection,
  { target, field }: Move,
): Promise<unknown> {
  const { scopeKey } = field.definition;
  const query = { collection, name: scopeKey ?? field.name, grant: requireGrant(tx, collection, 'get') };
  const [found] = await readFieldValues(tx, query, [target]);
  if (!found) throw new ApiError('REFERENCE_MISSING', '"targetId" names a record that does not exist.');
  return scopeKey === undefined ? null : found.value;
}

function parseMove(parameters: Readonly<Record<string, unknown>>, collection: Collection): Move {
  requireKnownNames('move', parameters, knownParameters);
  const { sourceId, filterByTk, targetId, sortField = 'sort', method, sticky, targetScope } = parameters;
  const field = typeof sortField === 'string' ? collection.byName.get(sortField) : undefined;
  if (field?.type.name !== 'sort')
    throw new ApiError('PARAMETER_INVALID', `"sortField" must name a sort field of ${collection.name}.`);
  const source = parseKey(sourceId ?? filterByTk, collection);
  if (source === undefined || Array.isArray(source))
    throw new ApiError('TARGET_MISSING', 'move needs "sourceId" with one key.');
  if (method !== undefined && method !== 'insertBefore' && method !== 'insertAfter')
    throw new ApiError('PARAMETER_INVALID', '"method" must be "insertBefore" or "insertAfter".');
  const isSticky = sticky === true || sticky === 'true' || sticky === '';
  const target = targetId === undefined ? undefined : parseKey(targetId, collection);
  if (Array.isArray(target)) throw new ApiError('PARAMETER_INVALID', '"targetId" takes one key, not a list.');
  if (target === undefined && !isSticky && targetScope === undefined)
    throw new ApiError('TARGET_MISSING', 'move needs "targetId", "sticky=true" or "targetScope".');
  const to = targetScope === undefined ? undefined : parseScope(targetScope, field, collection);
  return { field, source, target, method, sticky: isSticky, targetScope: to };
}

function parseScope(input: unknown, field: Field, collection: Collection): unknown {
  const { scopeKey } = field.definition;
  if (scopeKey === undefined)
    throw new ApiError('PARAMETER_INVALID', `"${field.name}" has no scopes, so "targetScope" cannot be used.`);
  if (input === null || input === '') return null;
  const value = getField(collection, scopeKey).type.readOperand(input, true);
  if (value === invalidOperand)
    throw new ApiError('PARAMETER_INVALID', `"targetScope" is not a value of "${scopeKey}".`);
  return value;
}
