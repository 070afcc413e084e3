import { ApiError } from '../protocol/api-error.ts';
import { formatNames } from '../protocol/known-names.ts';
import type { Collection, Field } from '../schema/registry.ts';
import type { Grant } from './grant.ts';

/**
 * The field that a request names, if it exists and the grant allows it.
 *
 * @param grant null inside a permission's own filter.
 * @throws ApiError `FIELD_UNKNOWN`, or `FIELD_DENIED` for denied fields and secrets (for admin too).
 */
export function requireReadableField(collection: Collection, name: string, grant: Grant | null): Field {
  const field = collection.byName.get(name);
  if (!field) throw fieldUnknown(collection, name, grant);
  if (field.type.secret || (grant && !grant.may(field)))
    throw new ApiError('FIELD_DENIED', `The role may not use "${field.name}" of ${collection.name}.`);
  return field;
}

/** The error for a name that is no field. @param grant whose fields the message lists; null: all that are no secrets. */
export function fieldUnknown(collection: Collection, name: string, grant: Grant | null): ApiError {
  const usable = collection.fields.filter(
    (field) => !field.hidden && !field.type.secret && (grant === null || grant.may(field)),
  );
  const cure = usable.length === 0 ? '' : ` Its fields are: ${formatNames(usable.map((field) => field.name))}.`;
  return new ApiError('FIELD_UNKNOWN', `${collection.name} has no field "${name.slice(0, 60)}".${cure}`);
}

/** The error for an action that the caller's role does not allow. */
export function permissionDenied(resource: string, action: string): ApiError {
  return new ApiError('NO_PERMISSION', `The role does not allow ${action} on ${resource}.`);
}
