import type { Transaction } from '../database/database.ts';
import { permissionsFor, updatePermissionNames } from '../database/identity-store.ts';
import type { Collection } from '../schema/registry.ts';
import type { DefinitionContext } from './definition-context.ts';

/** A destroyed field leaves the lists of what may be seen, so that a field made again under its name inherits nothing. */
export async function forgetField(
  { database }: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  name: string,
): Promise<void> {
  for (const permission of await permissionsFor(database, transaction, collection.name)) {
    if (!permission.fields?.includes(name)) continue;
    const fields = permission.fields.filter((each) => each !== name);
    await updatePermissionNames(database, transaction, { ...permission, fields });
  }
}

/**
 * A renamed field keeps its place in lists and in filters on its own collection. The old name stays denied where it was:
 * exceptions bind to names. A filter that reaches the field through a relation names nothing any more, and denies.
 */
export async function renameInPermissions(
  { database }: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  from: string,
  to: string,
): Promise<void> {
  for (const permission of await permissionsFor(database, transaction, collection.name)) {
    const { fields, exceptFields, filter } = permission;
    await updatePermissionNames(database, transaction, {
      id: permission.id,
      fields: fields?.map((each) => (each === from ? to : each)) ?? null,
      exceptFields: exceptFields?.includes(from) ? [...exceptFields, to] : exceptFields,
      filter: renamed(filter, from, to),
    });
  }
}

/** The first step of each path; what stands under a path belongs to it. */
function renamed(filter: unknown, from: string, to: string): unknown {
  if (Array.isArray(filter)) return filter.map((each) => renamed(each, from, to));
  if (filter === null || typeof filter !== 'object') return filter;
  const entries = Object.entries(filter).map(([key, value]) => {
    if (key === '$and' || key === '$or' || key === '$not') return [key, renamed(value, from, to)];
    const [first, ...rest] = key.split('.');
    return [first === from ? [to, ...rest].join('.') : key, value];
  });
  return Object.fromEntries(entries) as unknown;
}
