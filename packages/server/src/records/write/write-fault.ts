/** Translates what the database refuses into errors that name the fields and records of the request. */
import { bindFixed, DatabaseFault, type Row } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { requireColumn } from '../../schema/field-parts.ts';
import { maxGivenKey } from '../../schema/number-ranges.ts';
import type { Collection } from '../../schema/registry.ts';
import type { CheckedRecord } from './record-input.ts';
import { explainReferenceFault } from './reference-check.ts';
import { explainRestrictFault } from './restrict-fault.ts';
import type { WriteOperation } from './write-steps.ts';

/**
 * Runs the transaction of a write.
 *
 * @param records that an insert or update writes; none: the write destroys or restores.
 * @throws ApiError for a fault of the database; any other error as it is.
 */
export async function translateFaults(
  operation: WriteOperation,
  records: readonly CheckedRecord[],
  work: () => Promise<Row[]>,
): Promise<Row[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DatabaseFault && error.kind === 'foreignKey') {
      if (records.length > 0) await explainReferenceFault(operation, records, error);
      else await explainRestrictFault(operation, error);
    }
    if (await isOutOfKeys(operation, records, error)) throw keysExhausted(operation.collection);
    // A shared transaction runs again as a whole, so its collision goes to the code that opened it.
    if (operation.context.tx && error instanceof DatabaseFault && error.kind === 'collision') throw error;
    throw toWriteError(error, operation.collection, records.length > 0);
  }
}

/** Whether a fault that looks like a full disk means that the table has no generated key left. */
async function isOutOfKeys(
  { context, collection }: WriteOperation,
  records: readonly CheckedRecord[],
  error: unknown,
): Promise<boolean> {
  const { database } = context;
  const { primaryKey, table } = collection;
  const isDisk = error instanceof DatabaseFault && error.kind === 'disk';
  if (!isDisk || records.length === 0 || !primaryKey.autoIncrement) return false;
  const statement = database.dialect.keysExhausted(table, requireColumn(primaryKey));
  const [rows] = statement === null ? [] : await database.read([bindFixed(database.dialect, statement)]);
  return Boolean(rows?.[0]?.[0]);
}

/**
 * The error for a fault of the database; any other error as it is.
 *
 * @param written whether records were inserted or updated; false: they were destroyed.
 */
export function toWriteError(error: unknown, collection: Collection, written: boolean): unknown {
  if (!(error instanceof DatabaseFault)) return error;
  switch (error.kind) {
    case 'unique':
      return uniqueConflict(error, collection);
    case 'foreignKey':
      return written
        ? new ApiError('REFERENCE_MISSING', 'A foreign key names a record that does not exist.')
        : new ApiError(
            'DEPENDANTS_EXIST',
            `Other records depend on this record of ${collection.name}; remove or change them first.`,
          );
    case 'timeout':
      return new ApiError(
        'QUERY_TIMEOUT',
        'The write took longer than 5 seconds and was stopped. Nothing was written.',
        {
          retryAfter: 1,
        },
      );
    case 'collision':
      return new ApiError('BUSY', 'The write waited too long for concurrent writes. Try again.', { retryAfter: 1 });
    case 'keysExhausted':
      return keysExhausted(collection);
    case 'overflow':
      return new ApiError(
        'LIMIT_EXCEEDED',
        `A record has too many related records under "${error.message}" for the reply.`,
      );
    default:
      return error;
  }
}

/** The table has no generated key left. */
export function keysExhausted({ name, primaryKey }: Collection): ApiError {
  const max = maxGivenKey(primaryKey.type.storage);
  return new ApiError(
    'KEYS_EXHAUSTED',
    `${name} has no generated key left: the last key is the end of the range of "${primaryKey.name}". Give new records an unused "${primaryKey.name}" of at most ${max}.`,
  );
}

function uniqueConflict(error: DatabaseFault, collection: Collection): ApiError {
  const names = error.columns
    .map((column) => collection.fields.find((field) => field.column === column)?.name)
    .filter((name) => name !== undefined);
  const details = Object.fromEntries(names.map((name) => [name, 'This value is already taken.']));
  const what = names.length > 0 ? names.map((name) => `"${name}"`).join(' and ') : 'a unique field';
  return new ApiError('UNIQUE_CONFLICT', `Another record of ${collection.name} has the same value of ${what}.`, {
    details,
  });
}
