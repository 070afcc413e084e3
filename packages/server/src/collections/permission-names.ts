import type { Transaction } from '../database/database.ts';
import { permissionsIn, type StoredPermission, updatePermissionNames } from '../database/identity-store.ts';
import { isObject } from '../protocol/json-text.ts';
import type { Collection, Registry } from '../schema/registry.ts';
import type { DefinitionContext } from './definition-context.ts';

/**
 * A destroyed field leaves the lists of what may be seen. Filters that name it deny from then on, also when a field of that
 * name is made again: their name for it becomes one that no field has.
 */
export async function forgetField(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  name: string,
): Promise<void> {
  await changePermissions(context, transaction, (permission) => {
    const fields = permission.fields?.filter((each) => each !== name) ?? null;
    const own = permission.resource === collection.name;
    const filter = new FieldNames(context.registry, collection.name, name, `${name} (destroyed)`);
    return { ...permission, ...(own && { fields }), filter: filter.in(permission.filter, permission.resource) };
  });
}

/**
 * A renamed field keeps its place in lists and filters, also in those that reach it through relations. The old name stays
 * denied where it was: exceptions bind to names.
 */
export async function renameInPermissions(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  from: string,
  to: string,
): Promise<void> {
  const names = new FieldNames(context.registry, collection.name, from, to);
  await changePermissions(context, transaction, (permission) => {
    const { resource, fields, exceptFields } = permission;
    const filter = names.in(permission.filter, resource);
    if (resource !== collection.name) return { ...permission, filter };
    return {
      ...permission,
      filter,
      fields: fields?.map((each) => (each === from ? to : each)) ?? null,
      exceptFields: exceptFields?.includes(from) ? [...exceptFields, to] : exceptFields,
    };
  });
}

async function changePermissions(
  { database }: DefinitionContext,
  transaction: Transaction,
  change: (permission: StoredPermission) => StoredPermission,
): Promise<void> {
  for (const permission of await permissionsIn(database, transaction)) {
    const changed = change(permission);
    if (JSON.stringify(changed) !== JSON.stringify(permission))
      await updatePermissionNames(database, transaction, changed);
  }
}

/** Another name for a field, wherever the paths of a filter meet it. */
class FieldNames {
  readonly #registry: Registry;
  readonly #collection: string;
  readonly #from: string;
  readonly #to: string;

  constructor(registry: Registry, collection: string, from: string, to: string) {
    this.#registry = registry;
    this.#collection = collection;
    this.#from = from;
    this.#to = to;
  }

  /** @param resource where the paths begin; one that is no collection has no filter to follow. */
  in(filter: unknown, resource: string): unknown {
    const start = this.#registry.find(resource);
    return start ? this.#renamed(filter, start) : filter;
  }

  #renamed(filter: unknown, at: Collection): unknown {
    if (Array.isArray(filter)) return filter.map((each) => this.#renamed(each, at));
    if (!isObject(filter)) return filter;
    const entries = Object.entries(filter).map(([key, value]) => {
      if (key === '$and' || key === '$or' || key === '$not') return [key, this.#renamed(value, at)];
      return key.startsWith('$') ? [key, value] : this.#path(key, value, at);
    });
    return Object.fromEntries(entries) as unknown;
  }

  /** The steps of a path, and what stands under its end. */
  #path(key: string, value: unknown, from: Collection): [string, unknown] {
    let at: Collection | null = from;
    const steps: string[] = [];
    for (const step of key.split('.')) {
      steps.push(at?.name === this.#collection && step === this.#from ? this.#to : step);
      const relation: string | undefined = at?.byName.get(step)?.relation?.target;
      at = relation === undefined ? null : this.#registry.find(relation);
    }
    return [steps.join('.'), at ? this.#renamed(value, at) : value];
  }
}
