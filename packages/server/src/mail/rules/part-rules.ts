/** Rules of records that the server creates: callers can only write some of their fields. */
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import type { Collection } from '../../schema/registry.ts';

/** Which fields of a collection a body can write, and what its refusals advise. */
export interface WritableFields {
  readonly resource: string;
  /** Core fields that can be changed. Added fields always can. */
  readonly writable: readonly string[];
  readonly createCure: string;
  readonly updateCure: string;
}

/** The rules of records that the server creates and deletes with e-mails. */
export function createPartRules({
  destroyCure,
  ...fields
}: WritableFields & {
  /** Null: callers can destroy the records. */
  readonly destroyCure: string | null;
}): RecordRules {
  return {
    changesAccess: false,
    isUnaudited: true,
    prepare: (body, key, context) => restrictToFields(body, key, context, fields),
    async guard({ action }): Promise<void> {
      if (action === 'destroy' && destroyCure !== null) throw new ApiError('SYSTEM_PROTECTED', destroyCure);
    },
  };
}

/** @throws ApiError `SYSTEM_PROTECTED` for a create, and for a core field that cannot be changed. */
export async function restrictToFields(
  body: unknown,
  key: unknown,
  { registry }: RecordContext,
  { resource, writable, createCure, updateCure }: WritableFields,
): Promise<PreparedBody> {
  if (key === null) throw new ApiError('SYSTEM_PROTECTED', createCure);
  if (!isObject(body)) return { body: body as Body };
  const collection: Collection = registry.get(resource);
  for (const name of Object.keys(body)) {
    const field = collection.byName.get(name);
    if (field?.core && !field.hidden && !writable.includes(name))
      throw new ApiError('SYSTEM_PROTECTED', `"${name}" of ${resource} cannot be changed by an update. ${updateCure}`);
  }
  return { body };
}
