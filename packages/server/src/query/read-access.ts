import { ApiError } from '../protocol/api-error.ts';
import type { Collection, Field } from '../schema/registry.ts';
import type { Grant } from './grant.ts';

/**
 * A field that a request names, when it exists and the grant allows it.
 *
 * @param grant null inside a permission's own filter.
 * @throws ApiError `FIELD_UNKNOWN`, or `FIELD_DENIED` for denied fields and secrets (for admin too).
 */
export function namedField(collection: Collection, name: string, grant: Grant | null): Field {
  const field = collection.byName.get(name);
  if (!field) throw new ApiError('FIELD_UNKNOWN', `${collection.name} has no field "${name.slice(0, 60)}".`);
  if (field.type.secret || (grant && !grant.may(field))) {
    throw new ApiError('FIELD_DENIED', `The role may not use "${field.name}" of ${collection.name}.`);
  }
  return field;
}

export function denied(resource: string, action: string): ApiError {
  return new ApiError('NO_PERMISSION', `The role does not allow ${action} on ${resource}.`);
}
