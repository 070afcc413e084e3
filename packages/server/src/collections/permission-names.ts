import { parsePatternResource } from '../changes/event-pattern.ts';
import type { Transaction } from '../database/database.ts';
import { readPermissionsInTx, type StoredPermission, updatePermissionNames } from '../database/permission-rows.ts';
import { readFilteredWebhooks } from '../database/webhook-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { parseVariable, userVariable } from '../query/variables.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import type { DefinitionContext } from './definition-context.ts';

/**
 * A destroyed field is removed from the field lists of permissions. Filters that name it never match from then on, also
 * when a new field gets the same name: in the filters, its name is replaced by one that no field can have.
 */
export async function removeFieldFromPermissions(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  name: string,
): Promise<void> {
  await rewritePermissions(context, transaction, (permission) => {
    const fields = permission.fields?.filter((each) => each !== name) ?? null;
    const isSameCollection = permission.resource === collection.name;
    const renamed = { collection: collection.name, from: name, to: `${name} (destroyed)` };
    const filter = new FieldNameReplacer(context.registry, renamed);
    return {
      ...permission,
      ...(isSameCollection && { fields }),
      filter: filter.replaceIn(permission.filter, permission.resource),
    };
  });
}

/** The names of a field before and after a change. */
export interface FieldNames {
  readonly from: string;
  readonly to: string;
}

/** A field that is renamed, by the name of its collection. */
export interface RenamedField extends FieldNames {
  readonly collection: string;
}

/**
 * Renames a field in the lists and filters of permissions, also in filters that reach it through relations. In
 * `exceptFields` the old name stays as well, because exceptions apply to names.
 */
export async function renameFieldInPermissions(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  { from, to }: FieldNames,
): Promise<void> {
  const names = new FieldNameReplacer(context.registry, { collection: collection.name, from, to });
  await rewritePermissions(context, transaction, (permission) => {
    const { resource, fields, exceptFields } = permission;
    const filter = names.replaceIn(permission.filter, resource);
    if (resource !== collection.name) return { ...permission, filter };
    return {
      ...permission,
      filter,
      fields: fields?.map((each) => (each === from ? to : each)) ?? null,
      exceptFields: exceptFields?.includes(from) ? [...exceptFields, to] : exceptFields,
    };
  });
}

/**
 * Refuses to remove fields that permissions or webhooks name, because their lists and filters would then have another
 * effect. A field in `exceptFields` can be removed; its name stays denied.
 *
 * @throws ApiError 409 naming the permissions and webhooks.
 */
export async function rejectNamedFields(
  { database, registry }: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  removed: readonly Field[],
): Promise<void> {
  if (removed.length === 0) return;
  const isNamed = (filter: unknown, resource: string): boolean =>
    removed.some(({ name }) => {
      const renamed = { collection: collection.name, from: name, to: `${name} (removed)` };
      const replaced = new FieldNameReplacer(registry, renamed).replaceIn(filter, resource);
      return JSON.stringify(replaced) !== JSON.stringify(filter);
    });
  const permissions = (await readPermissionsInTx(database, transaction)).filter(
    ({ resource, fields, filter }) =>
      (resource === collection.name && removed.some(({ name }) => fields?.includes(name))) || isNamed(filter, resource),
  );
  const webhooks = (await readFilteredWebhooks(database, transaction)).filter(({ filter, events }) =>
    isNamed(filter, parsePatternResource(events[0] ?? '') ?? ''),
  );
  const users = [
    ...permissions.map(({ id, role, resource }) => `permission ${id} (${role}, ${resource})`),
    ...webhooks.map(({ id }) => `webhook ${id}`),
  ];
  if (users.length > 0)
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `${removed.map(({ name }) => name).join(', ')} of ${collection.name} cannot be removed, because these use it: ${users.join(', ')}. Change them first.`,
    );
}

async function rewritePermissions(
  { database }: DefinitionContext,
  transaction: Transaction,
  change: (permission: StoredPermission) => StoredPermission,
): Promise<void> {
  for (const permission of await readPermissionsInTx(database, transaction)) {
    const changed = change(permission);
    if (JSON.stringify(changed) !== JSON.stringify(permission))
      await updatePermissionNames(database, transaction, changed);
  }
}

/**
 * Replaces the name of a field in all paths of a filter that reach it, and in variables that name a field of the user.
 */
class FieldNameReplacer {
  readonly #registry: Registry;
  readonly #field: RenamedField;

  constructor(registry: Registry, field: RenamedField) {
    this.#registry = registry;
    this.#field = field;
  }

  /**
   * @param resource the collection in which the paths begin; if it is not a collection, it has no filters to change.
   */
  replaceIn(filter: unknown, resource: string): unknown {
    const start = this.#registry.find(resource);
    return start ? this.#renamed(filter, start) : filter;
  }

  #renamed(filter: unknown, collection: Collection): unknown {
    if (Array.isArray(filter)) return filter.map((each) => this.#renamed(each, collection));
    if (!isObject(filter)) return this.#operand(filter);
    const entries = Object.entries(filter).map(([key, value]) => {
      if (key === '$and' || key === '$or' || key === '$not') return [key, this.#renamed(value, collection)];
      return key.startsWith('$') ? [key, this.#operand(value)] : this.#path(key, value, collection);
    });
    return Object.fromEntries(entries) as unknown;
  }

  /** The steps of a path, and the condition at its end. */
  #path(key: string, value: unknown, from: Collection): [string, unknown] {
    let current: Collection | null = from;
    const steps: string[] = [];
    for (const step of key.split('.')) {
      if (step.startsWith('$')) {
        steps.push(step); // an operator at the end of the path: {"author.name.$eq": "x"}
        continue;
      }
      const isRenamed = current?.name === this.#field.collection && step === this.#field.from;
      steps.push(isRenamed ? this.#field.to : step);
      const relation: string | undefined = current?.byName.get(step)?.relation?.target;
      current = relation === undefined ? null : this.#registry.find(relation);
    }
    return [steps.join('.'), current ? this.#renamed(value, current) : this.#operands(value)];
  }

  #operands(value: unknown): unknown {
    if (!isObject(value)) return this.#operand(value);
    return Object.fromEntries(Object.entries(value).map(([operator, each]) => [operator, this.#operand(each)]));
  }

  /** The variable of a field of the user, such as `{{$user.department}}`. */
  #operand(value: unknown): unknown {
    const { collection, from, to } = this.#field;
    const isRenamedVariable = collection === 'users' && parseVariable(value) === userVariable(from);
    return isRenamedVariable ? `{{${userVariable(to)}}}` : value;
  }
}
