import type { Caller } from './caller.ts';
import { hasAllVariables, matchesFilter, type View } from './filter.ts';
import {
  type CollectionModel,
  type Dataset,
  type Filter,
  findField,
  getCollection,
  isMany,
  type RelationModel,
  type Row,
  relatedRows,
} from './model.ts';

export type ReadAction = 'list' | 'get';

export interface Permission {
  readonly resource: string;
  readonly actions: readonly ReadAction[];
  readonly filter: Filter | null;
  readonly fields: readonly string[] | null;
  readonly exceptFields: readonly string[] | null;
}

/** The permission of a role for one action on one collection. */
export interface Grant {
  /** Whether the row filter matches; the trash is ignored here. */
  sees(row: Row): boolean;
  may(name: string): boolean;
}

/** The records and fields that one caller can see in a dataset. */
export class Visibility implements View {
  readonly dataset: Dataset;
  readonly caller: Caller;
  readonly #permissions: readonly Permission[] | null;
  readonly #grants = new Map<string, Grant | null>();

  /** @param permissions null for the role admin. */
  constructor(world: Dataset, caller: Caller, permissions: readonly Permission[] | null) {
    this.dataset = world;
    this.caller = caller;
    this.#permissions = permissions;
  }

  collection(name: string): CollectionModel {
    return getCollection(this.dataset, name);
  }

  grant(collection: CollectionModel, action: ReadAction): Grant | null {
    const key = `${collection.name}:${action}`;
    if (!this.#grants.has(key)) this.#grants.set(key, this.#makeGrant(collection, action));
    return this.#grants.get(key)!;
  }

  /** The permission on the target of a relation: list for to-many relations, get for to-one. */
  targetGrant({ target, ...relation }: RelationModel): Grant | null {
    return this.grant(this.collection(target), isMany({ ...relation, target }) ? 'list' : 'get');
  }

  /** The related records that are visible: needs get on the record itself, and the permission on the target. */
  related(collection: CollectionModel, row: Row, relation: RelationModel): Row[] {
    const parent = this.grant(collection, 'get');
    const target = this.targetGrant(relation);
    if (!parent?.sees(row) || !target) return [];
    return relatedRows(this.dataset, row, relation).filter((each) => target.sees(each));
  }

  #makeGrant(collection: CollectionModel, action: ReadAction): Grant | null {
    const named = this.#permissions?.filter((each) => each.actions.includes(action));
    const permission =
      named?.find((each) => each.resource === collection.name) ?? named?.find((each) => each.resource === '*');
    if (this.#permissions === null) return { sees: () => true, may: (name) => !isSecret(collection, name) };
    if (!permission) return null;
    const unlimited = unlimitedView(this.dataset, this.caller);
    const { filter } = permission;
    const possible = filter === null || hasAllVariables(filter, collection, unlimited);
    return {
      sees: (row) => filter === null || (possible && matchesFilter(filter, row, collection, unlimited)),
      may: (name) => !isSecret(collection, name) && isAllowed(name, collection, permission),
    };
  }
}

/** Resolves the row filter of a permission: it can use all records outside the trash, and its days are in UTC. */
function unlimitedView(world: Dataset, caller: Caller): View {
  return {
    caller: { ...caller, calendar: { ...caller.calendar, zone: 'UTC' } },
    collection: (name) => getCollection(world, name),
    related: (_, row, relation) => relatedRows(world, row, relation),
  };
}

function isSecret(collection: CollectionModel, name: string): boolean {
  return findField(collection, name)?.type === 'password';
}

function isAllowed(name: string, collection: CollectionModel, { fields, exceptFields }: Permission): boolean {
  if (name === collection.key) return true;
  const group = listLinkedNames(name, collection);
  const listed = fields === null || group.some((each) => fields.includes(each));
  return listed && !group.some((each) => exceptFields?.includes(each));
}

/** A foreign key and its relations, which are permitted or denied together. */
function listLinkedNames(name: string, { relations }: CollectionModel): string[] {
  const carried = relations.filter(({ kind }) => kind === 'belongsTo');
  const key = carried.find((each) => each.name === name)?.sourceField ?? name;
  return [key, name, ...carried.filter((each) => each.sourceField === key).map((each) => each.name)];
}

/** The foreign key in the target. The caller must be allowed to read it to use the relation. */
export function findTargetForeignKey({ kind, targetField }: RelationModel): string | null {
  return kind === 'hasMany' || kind === 'hasOne' ? targetField : null;
}
