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

/** What a role may do with one action on one collection. */
export interface Grant {
  /** Whether the row filter holds; the trash is not its business. */
  sees(row: Row): boolean;
  may(name: string): boolean;
}

/** The eyes of one caller on one world. */
export class Visibility implements View {
  readonly dataset: Dataset;
  readonly caller: Caller;
  readonly #permissions: readonly Permission[] | null;
  readonly #grants = new Map<string, Grant | null>();

  /** @param permissions null for admin. */
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

  /** The grant on a relation's target: list for many, get for one. */
  targetGrant({ target, ...relation }: RelationModel): Grant | null {
    return this.grant(this.collection(target), isMany({ ...relation, target }) ? 'list' : 'get');
  }

  /** Needs get on the record itself, and the grant of the target. */
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

/** A permission's own filter looks at anything that is not in the trash; its days are those of UTC. */
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

/** A foreign key and the relations that it carries are allowed or denied together. */
function listLinkedNames(name: string, { relations }: CollectionModel): string[] {
  const carried = relations.filter(({ kind }) => kind === 'belongsTo');
  const key = carried.find((each) => each.name === name)?.sourceField ?? name;
  return [key, name, ...carried.filter((each) => each.sourceField === key).map((each) => each.name)];
}

/** The foreign key in the target, which a relation by it must be able to show. */
export function findTargetForeignKey({ kind, targetField }: RelationModel): string | null {
  return kind === 'hasMany' || kind === 'hasOne' ? targetField : null;
}
