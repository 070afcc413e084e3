import { ApiError } from '../protocol/api-error.ts';
import type { Collection } from '../schema/registry.ts';
import { isTakenName } from '../schema/taken-names.ts';

/** @throws ApiError 409 for a name that a field has, or that stands for something else in what is sent or shown. */
export function requireFreeName(collection: Collection, name: string): void {
  if (collection.byName.has(name) || isTakenName(collection.name, name))
    throw new ApiError('FIELD_EXISTS', `${collection.name} has a field "${name}" already.`);
}
