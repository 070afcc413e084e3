import { DatabaseFault } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { maxGivenKey } from '../../schema/number-ranges.ts';
import type { Collection } from '../../schema/registry.ts';

/** What a constraint's refusal means to the caller. `written` is false where records were destroyed. */
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
      return new ApiError('QUERY_TIMEOUT', 'The write took longer than 5 seconds and was ended; nothing was written.', {
        retryAfter: 1,
      });
    case 'collision':
      return new ApiError('BUSY', 'The write waited too long for others; try again.', { retryAfter: 1 });
    case 'keysExhausted':
      return keysExhausted(collection);
    case 'overflow':
      return new ApiError('LIMIT_EXCEEDED', `A record has too many related records under "${error.message}" to show.`);
    default:
      return error;
  }
}

export function keysExhausted({ name, primaryKey }: Collection): ApiError {
  const max = maxGivenKey(primaryKey.type.storage);
  return new ApiError(
    'KEYS_EXHAUSTED',
    `${name} has no generated key left: its last one is at the end of the range of "${primaryKey.name}". Give new records a free "${primaryKey.name}" of at most ${max}.`,
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
