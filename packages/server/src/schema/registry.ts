import type { CollectionOptions, FieldDefinition } from '../protocol/definition.ts';
import type { FieldType, Storage } from './field-type.ts';
import { noTraits, type SystemTraits } from './system-traits.ts';

/** A field of the current snapshot. */
export interface Field {
  /** Stable: survives renames, never reused. */
  readonly id: number;
  readonly name: string;
  /** Null for relations. */
  readonly column: string | null;
  /** The name from which the column's was derived; it stays when the field is renamed. */
  readonly base: string | null;
  readonly type: FieldType;
  readonly definition: FieldDefinition;
  readonly primaryKey: boolean;
  readonly autoIncrement: boolean;
  /** The column itself refuses null, so order and comparison need no null case. */
  readonly notNull: boolean;
  /** Made by the server (timestamps); what clients send for it is passed over. */
  readonly serverManaged: boolean;
  /** A secret of a system collection: no request may name it, whatever the role. */
  readonly hidden: boolean;
  /** Part of a system collection's core: cannot be changed or destroyed. */
  readonly core: boolean;
  /** Set on the columns that a real foreign-key constraint guards. */
  readonly references: {
    readonly collection: string;
    readonly field: string;
    readonly onDelete: 'setNull' | 'cascade' | 'restrict';
  } | null;
  readonly relation: Relation | null;
  /** A relation names records by it: its values are unique in the trash too. */
  readonly referencedKey: boolean;
}

/** A field with a column, and therefore with a storage. */
export interface ColumnField extends Field {
  readonly column: string;
  readonly type: FieldType & { readonly storage: Storage };
}

export interface Relation {
  readonly kind: 'belongsTo' | 'hasOne' | 'hasMany' | 'belongsToMany';
  readonly many: boolean;
  readonly target: string;
  /** Field of this collection that the join compares. */
  readonly sourceField: string;
  /** Field of the target that the join compares. */
  readonly targetField: string;
  readonly through: Join | null;
}

/** The join of a many-to-many relation: the fields that name both sides, and how they lie in storage. */
export interface Join extends JoinFields {
  readonly table: string;
  readonly sourceColumn: string;
  readonly targetColumn: string;
  /** Where it holds something the link is destroyed; null in joins without a trash. */
  readonly trashColumn: string | null;
}

export interface JoinFields {
  readonly collection: string;
  readonly sourceField: string;
  readonly targetField: string;
}

export interface Collection {
  readonly id: number;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly options: CollectionOptions;
  readonly table: string;
  readonly system: boolean;
  /** Joins and other storage that has no endpoints. */
  readonly internal: boolean;
  /** What its definition says is special about it; nothing for a user-defined collection. */
  readonly traits: SystemTraits;
  readonly fields: readonly Field[];
  readonly byName: ReadonlyMap<string, Field>;
  readonly primaryKey: ColumnField;
  /** Where destroyed records are kept, marked; null where they are removed. */
  readonly trash: Trash | null;
}

export interface Trash {
  /** When the record was destroyed; null: it was not. */
  readonly deletedAt: ColumnField;
  /** Id of the foreign key by which it went along with another record; null: on its own. */
  readonly deletedWith: ColumnField;
}

/** An immutable snapshot of every definition. A change makes a new one that shares what did not change. */
export class Registry {
  readonly version: number;
  /** The traits of the system collections that an application has or will have, by their names. */
  readonly systemTraits: ReadonlyMap<string, SystemTraits>;
  readonly #collections: ReadonlyMap<string, Collection>;

  constructor(
    version: number,
    collections: ReadonlyMap<string, Collection>,
    systemTraits: ReadonlyMap<string, SystemTraits> = new Map(),
  ) {
    this.version = version;
    this.systemTraits = systemTraits;
    this.#collections = collections;
  }

  /** A collection that requests may name, or null. */
  find(name: string): Collection | null {
    const found = this.#collections.get(name);
    return found && !found.internal ? found : null;
  }

  /** A collection that is known to exist, internal ones included. */
  get(name: string): Collection {
    const found = this.#collections.get(name);
    if (!found) throw new Error(`no collection ${name} in the registry`);
    return found;
  }

  /** The traits of a collection, internal ones included; none for an unknown name. */
  getTraits(name: string): SystemTraits {
    return this.#collections.get(name)?.traits ?? noTraits;
  }

  all(): Collection[] {
    return [...this.#collections.values()];
  }

  with(changed: readonly Collection[], removed: readonly string[], version: number): Registry {
    const collections = new Map(this.#collections);
    for (const name of removed) collections.delete(name);
    for (const collection of changed) collections.set(collection.name, collection);
    return new Registry(version, collections, this.systemTraits);
  }
}

/** A collection from its parts, with its fields indexed by name. */
export function makeCollection(parts: Omit<Collection, 'byName' | 'primaryKey' | 'trash'>): Collection {
  const primaryKey = parts.fields.find((field) => field.primaryKey);
  if (!primaryKey) throw new Error(`collection ${parts.name} has no primary key`);
  const byName = new Map(parts.fields.map((field) => [field.name, field]));
  const [deletedAt, deletedWith] = [byName.get('deletedAt'), byName.get('deletedWith')];
  const hasTrash = parts.options.paranoid && deletedAt && deletedWith;
  const trash = hasTrash
    ? { deletedAt: requireColumnField(deletedAt), deletedWith: requireColumnField(deletedWith) }
    : null;
  return { ...parts, byName, primaryKey: requireColumnField(primaryKey), trash };
}

/** The field where a relation's target is compared, and the like: known to exist. */
export function getField(collection: Collection, name: string): Field {
  const field = collection.byName.get(name);
  if (!field) throw new Error(`no field ${name} in ${collection.name}`);
  return field;
}

/** The fields of a collection that have a column. */
export function listColumnFields(collection: Collection): ColumnField[] {
  return collection.fields.filter(hasColumn);
}

/** Whether a field has a column. All fields except relations have one. */
export function hasColumn(field: Field): field is ColumnField {
  return field.column !== null && field.type.storage !== null;
}

/** A field that is known to have a column. */
export function requireColumnField(field: Field): ColumnField {
  if (!hasColumn(field)) throw new Error(`the field ${field.name} has no column`);
  return field;
}

/** The field of a name that is known to exist and to have a column. */
export function getColumnField(collection: Collection, name: string): ColumnField {
  return requireColumnField(getField(collection, name));
}
