import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import type { Collection } from '../schema/registry.ts';
import { isReservedName } from '../schema/reserved-names.ts';

/** @throws ApiError 409 for a name that a field has, or that stands for something else in what is sent or shown. */
export function requireFreeName(collection: Collection, name: string): void {
  if (collection.byName.has(name) || isReservedName(collection.name, name))
    throw new ApiError('FIELD_EXISTS', `"${collection.name}" already has a field "${name}". Choose another name.`);
}

/** Collections whose records come in from outside: nobody is there to give a field of one's own its value. */
const receivedCollections: ReadonlySet<string> = new Set(['emails', 'conversations', 'attachments']);

/** @throws ApiError 422 for a field that every record must have, where records come in that have none. */
export function rejectRequiredField({ name }: Collection, { required, allowNull }: FieldDefinition): void {
  if (!receivedCollections.has(name) || (!required && allowNull !== false)) return;
  const problem = `Records of "${name}" are imported without this value, so the property cannot be set. Leave it out.`;
  throw invalidDefinition(required ? { required: problem } : { allowNull: problem });
}
