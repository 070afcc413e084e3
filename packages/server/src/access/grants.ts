import { LruMap } from '../base/lru-map.ts';
import { isReadAction } from '../protocol/actions.ts';
import type { Grant, GrantLookup } from '../query/grant.ts';
import { buildRowFilter } from '../query/row-filter.ts';
import { buildVisibilityFilter, combineRowFilters, nestRowFilter } from '../query/visibility.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import type { SystemTraits } from '../schema/system-traits.ts';
import { type AccessTable, adminRole, type Permission, publicRole, type Role } from './access-table.ts';

/**
 * Limits of the decision cache of one role. Requests can name arbitrary resources and actions, so keys that are longer
 * than the key of any collection (names have at most 60 characters) are not cached.
 */
const decisions = { entries: 50_000, bytes: 8 * 1024 * 1024, keyLength: 130, sizeOf: 100 };

/**
 * Returns the grants of a role. Every statement about records takes one of them.
 *
 * One permission row decides for (role, resource, action): the named resource before `*`, then the named action before
 * `*`. If no row of the role decides, the row of `public` decides.
 */
export function buildGrants(roleName: string, table: AccessTable, registry: Registry): GrantLookup {
  const cache = new LruMap<Grant | null>(decisions);
  return (resource, action) => {
    const key = `${resource}:${action}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const grant = makeGrant(roleName, resource, action, { table, registry });
    cache.set(key, grant);
    return grant;
  };
}

/** The roles with their permissions, and the registry of their collections. */
export interface AccessRules {
  readonly table: AccessTable;
  readonly registry: Registry;
}

/**
 * What decides about an action: a privilege of the role itself, a permission of the role or of `public`, or nothing.
 */
export type Decision =
  | { readonly by: 'admin' | 'configure' | 'nothing'; readonly row: null }
  | { readonly by: 'role' | 'public'; readonly row: Permission };

/** Decides on an action of a role. {@link buildGrants} creates grants from the same decision. */
export function decide(roleName: string, resource: string, action: string, { table, registry }: AccessRules): Decision {
  const collection = registry.find(resource);
  const role = table.roles.get(roleName);
  if (!role) return noDecision;
  if (role.name === adminRole) return { by: 'admin', row: null };
  if (role.allowConfigure && (!collection || collection.system)) return { by: 'configure', row: null };
  const userDefined = collection !== null && !collection.system;
  const roleRow = findDecidingPermission(role, resource, action, userDefined);
  if (roleRow) return { by: 'role', row: roleRow };
  const publicRow = findDecidingPermission(table.roles.get(publicRole), resource, action, userDefined);
  return publicRow ? { by: 'public', row: publicRow } : noDecision;
}

/**
 * Whether the role's permission has its own row filter, in addition to the visibility filter that every grant on the
 * collection has. For operations to which no row filter can be applied.
 */
export function hasOwnRowFilter(roleName: string, resource: string, action: string, rules: AccessRules): boolean {
  return Boolean(decide(roleName, resource, action, rules).row?.filter);
}

const noDecision: Decision = { by: 'nothing', row: null };

/** The permission that decides, or null. */
function findDecidingPermission(
  role: Role | undefined,
  resource: string,
  action: string,
  userDefined: boolean,
): Permission | null {
  if (!role) return null;
  const findFor = (name: string): Permission | null =>
    findByAction(role, name, action) ??
    role.permissions.find((row) => row.resource === name && row.actions.includes('*')) ??
    null;
  return findFor(resource) ?? (userDefined ? findFor('*') : null);
}

function findByAction(role: Role, resource: string, action: string): Permission | null {
  return role.permissions.find((row) => row.resource === resource && row.actions.includes(action)) ?? null;
}

function makeGrant(roleName: string, resource: string, action: string, rules: AccessRules): Grant | null {
  const traits = rules.registry.getTraits(resource);
  if (traits.readableWith !== undefined)
    return action === 'get' ? makeDependentGrant(roleName, traits.readableWith, traits.deniedWith ?? {}, rules) : null;
  const grant = makeOwnGrant(roleName, resource, action, rules);
  return grant && traits.visibleWith ? limitToVisible(grant, traits.visibleWith, roleName, rules) : grant;
}

/** Restricts the grant to records whose related record the caller may get, see {@link SystemTraits.visibleWith}. */
function limitToVisible(
  grant: Grant,
  { relation, collection }: NonNullable<SystemTraits['visibleWith']>,
  roleName: string,
  rules: AccessRules,
): Grant | null {
  const other = makeGrant(roleName, collection, 'get', rules);
  if (other === null) return null;
  const rows = other.rows && nestRowFilter(relation, other.rows);
  return { ...grant, identity: `${grant.identity} with ${other.identity}`, rows: combineRowFilters(grant.rows, rows) };
}

/** The grant from the permissions on the collection itself. */
function makeOwnGrant(roleName: string, resource: string, action: string, rules: AccessRules): Grant | null {
  const traits = rules.registry.getTraits(resource);
  const { by, row } = decide(roleName, resource, action, rules);
  if (by === 'nothing') return null;
  if (row === null) return { identity: by, rows: buildVisibilityFilter(traits, true), may: (field) => !field.hidden };
  const collection = rules.registry.find(resource);
  return collection
    ? makeRowGrant(row, collection, action)
    : { identity: `row ${row.id}`, rows: null, may: () => true };
}

/**
 * The grant to get records of an internal collection that are only reached through those of another one. Callers who may get the
 * other record and follow its relation may read them, except for what repeats a denied field of the other record.
 */
function makeDependentGrant(
  roleName: string,
  other: string,
  deniedWith: NonNullable<SystemTraits['deniedWith']>,
  rules: AccessRules,
): Grant | null {
  const { by, row } = decide(roleName, other, 'get', rules);
  if (by === 'nothing') return null;
  const collection = rules.registry.find(other);
  const grant = row && collection && makeRowGrant(row, collection, 'get');
  const denied = new Set(
    Object.keys(deniedWith).filter((name) =>
      deniedWith[name]?.some((each) => {
        const field = collection?.byName.get(each);
        return grant && field && !grant.may(field);
      }),
    ),
  );
  return {
    identity: denied.size === 0 ? 'content' : `content without ${[...denied].join()}`,
    rows: null,
    may: (field) => !field.hidden && !denied.has(field.name),
  };
}

function makeRowGrant(row: Permission, collection: Collection, action: string): Grant {
  const allowedIds = findAllowedFieldIds(row, collection, action);
  return {
    identity: `row ${row.id}`,
    rows: combineRowFilters(buildRowFilter(row.filter), buildVisibilityFilter(collection.traits, false)),
    may: (field) => !field.hidden && (allowedIds === null || allowedIds.has(field.id)),
  };
}

/** The ids of allowed fields; null for all. A relation and its foreign key are allowed or denied together; reads always allow the primary key. */
function findAllowedFieldIds(row: Permission, collection: Collection, action: string): ReadonlySet<number> | null {
  const { fields, exceptFields } = row;
  if (fields === null && exceptFields === null) return null;
  const allowed = new Set<number>();
  for (const field of collection.fields) {
    const names = findLinkedFields(field, collection).map((each) => each.name);
    const listed = fields === null || names.some((name) => fields.has(name));
    const excepted = exceptFields !== null && names.some((name) => exceptFields.has(name));
    if ((listed && !excepted) || (field.primaryKey && isReadAction(action))) allowed.add(field.id);
  }
  return allowed;
}

/** A field with those that reveal the same value: a foreign key and all belongsTo relations that use it. */
function findLinkedFields(field: Field, collection: Collection): Field[] {
  const { relation } = field;
  const foreignKey = relation?.kind === 'belongsTo' ? relation.sourceField : field.name;
  const carried = collection.fields.filter(
    (each) => each.relation?.kind === 'belongsTo' && each.relation.sourceField === foreignKey,
  );
  if (carried.length === 0) return [field];
  return [...carried, ...collection.fields.filter((each) => each.name === foreignKey)];
}
