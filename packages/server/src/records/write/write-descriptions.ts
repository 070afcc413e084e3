/** Describes the five kinds of write to existing records for the steps of {@link runWrite}. */
import { isoTime } from '../../base/clock.ts';
import { readStamp } from '../record-context.ts';
import type { Body } from '../record-rules.ts';
import { hasCascades, prepareCascade } from './cascade.ts';
import { completeRecords } from './complete-records.ts';
import { type CheckedRecord, checkUpdate } from './record-input.ts';
import type { WriteDescription } from './run-write.ts';
import { cascadeSoftDelete } from './soft-delete.ts';
import { isLoneWrite, isPlainWrite, type WriteOperation } from './write-steps.ts';

/** Update: sets the fields that the body names. */
export function describeUpdate(operation: WriteOperation, body: unknown): WriteDescription {
  const { context, collection, grant, rules } = operation;
  return {
    action: 'update',
    verb: 'updated',
    body,
    check: (prepared) =>
      completeRecords([checkUpdate(prepared, collection, grant, readStamp(context))], collection, context),
    touches: 'collection',
    isHeavy: rules?.heavy === true,
    comparesStates: true,
    returnsRecords: true,
    isLoneWrite: (record) => record !== null && isLoneWrite(operation, record),
  };
}

/** Destroy: deletes the records for good. Foreign keys delete other records with them, or set links to null. */
export function describeDestroy(operation: WriteOperation): WriteDescription {
  const { context, collection, rules } = operation;
  return {
    action: 'destroy',
    verb: 'destroyed',
    check: () => [],
    touches: 'all',
    isHeavy: rules?.heavy === true,
    comparesStates: true,
    returnsRecords: false,
    isLoneWrite: () => isPlainWrite(operation) && !hasCascades(collection, context.registry),
    cascade: prepareCascade,
  };
}

/**
 * Deferred delete: the records are marked and immediately hidden. A background task of their owner deletes them with
 * all that depends on them, which may be too much for one transaction.
 */
export function describeDeferredDelete(mark: Body): WriteDescription {
  return {
    action: 'destroy',
    verb: 'destroyed',
    check: () => serverRecord(mark),
    touches: 'collection',
    isHeavy: false,
    comparesStates: false,
    returnsRecords: false,
  };
}

/** Soft delete: moves the records to the trash, with the children that a cascade would delete. */
export function describeSoftDelete({ context }: WriteOperation): WriteDescription {
  const deletedAt = isoTime(context.clock.now());
  return {
    action: 'destroy',
    verb: 'destroyed',
    check: () => serverRecord({ deletedAt, deletedWith: null }),
    touches: 'all',
    isHeavy: false,
    comparesStates: false,
    returnsRecords: false,
    cascade: async (write) => (keys) => cascadeSoftDelete(write, keys, deletedAt),
  };
}

/** Restore: takes the records out of the trash, with the children that a soft delete moved there with them. */
export function describeRestore(): WriteDescription {
  return {
    action: 'restore',
    verb: 'restored',
    check: () => serverRecord({ deletedAt: null, deletedWith: null }),
    touches: 'all',
    isHeavy: false,
    comparesStates: false,
    returnsRecords: true,
    cascade: async (write) => (keys) => cascadeSoftDelete(write, keys, null),
  };
}

/** Values that the server sets; the client has named none of them. */
function serverRecord(values: Body): readonly [CheckedRecord] {
  return [{ values, named: [] }];
}
