import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import type { Collection } from '../schema/registry.ts';

/** @throws ApiError 409 for the name of a field, or a name that has another meaning in requests or replies. */
export function requireFreeName(collection: Collection, name: string): void {
  if (collection.byName.has(name) || collection.traits.reservedNames?.has(name))
    throw new ApiError('FIELD_EXISTS', `"${collection.name}" already has a field "${name}". Choose another name.`);
}

/** @throws ApiError 422 for a required field in a collection whose records are only imported. */
export function rejectRequiredField({ name, traits }: Collection, { required, allowNull }: FieldDefinition): void {
  if (!traits.importedOnly || (!required && allowNull !== false)) return;
  const problem = `Records of "${name}" are imported without this value, so the property cannot be set. Leave it out.`;
  throw invalidDefinition(required ? { required: problem } : { allowNull: problem });
}
