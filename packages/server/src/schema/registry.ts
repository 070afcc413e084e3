import type { CollectionOptions, FieldDefinition } from '../protocol/definition.ts';
import type { FieldType, Storage } from './field-type.ts';
import { noTraits, type SystemTraits } from './system-traits.ts';

/** A field of the current snapshot. */
export interface Field {
  /** Stays the same when the field is renamed, and is never used again. */
  readonly id: number;
  readonly name: string;
  /** Null for relations. */
  readonly column: string | null;
  /** The name from which the column name was derived. It stays the same when the field is renamed. */
  readonly base: string | null;
  readonly type: FieldType;
  readonly definition: FieldDefinition;
  readonly primaryKey: boolean;
  readonly autoIncrement: boolean;
  /** The column is NOT NULL, so sorting and comparing need no special case for null. */
  readonly notNull: boolean;
  /** Set by the server (timestamps). Values that clients send are ignored. */
  readonly serverManaged: boolean;
  /** A secret of a system collection: no request may name it, whatever the role. */
  readonly hidden: boolean;
  /** A core field of a system collection: it cannot be changed or destroyed. */
  readonly core: boolean;
  /** The target of the column's foreign key constraint; null without one. */
  readonly references: ForeignKeyTarget | null;
  readonly relation: Relation | null;
  /** A relation refers to records by this field, so its values are also unique among soft-deleted records. */
  readonly referencedKey: boolean;
  /** The name of the search index that covers the text of all records; null if none does, or not yet. */
  readonly searchIndex: string | null;
}

/** The field that a foreign key references, and what a delete of its record does. */
export interface ForeignKeyTarget {
  readonly collection: string;
  readonly field: string;
  readonly onDelete: 'setNull' | 'cascade' | 'restrict';
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
  /** The field of this collection that the join compares. */
  readonly sourceField: string;
  /** The field of the target that the join compares. */
  readonly targetField: string;
  readonly through: Join | null;
}

/** The join of a many-to-many relation: the foreign keys of both sides, and their columns. */
export interface Join extends JoinFields {
  readonly table: string;
  readonly sourceColumn: string;
  readonly targetColumn: string;
  /** The column that is set when the link is soft-deleted; null in joins without soft delete. */
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
  /** A join or another collection without endpoints of its own. */
  readonly internal: boolean;
  /** Special behaviour of a system collection; empty for user-defined collections. */
  readonly traits: SystemTraits;
  readonly fields: readonly Field[];
  readonly byName: ReadonlyMap<string, Field>;
  readonly primaryKey: ColumnField;
  /** The fields that mark soft-deleted records; null without soft delete. */
  readonly trash: Trash | null;
}

export interface Trash {
  /** The time of the soft delete; null for live records. */
  readonly deletedAt: ColumnField;
  /** The id of the foreign key through which the record was deleted with another one; null if it was deleted directly. */
  readonly deletedWith: ColumnField;
}

/** An immutable snapshot of every definition. A change creates a new registry, which shares the unchanged collections. */
export class Registry {
  readonly version: number;
  /** The traits of the system collections that an application has or will have, by their names. */
  readonly systemTraits: ReadonlyMap<string, SystemTraits>;
  readonly #collections: ReadonlyMap<string, Collection>;

  /** @param systemTraits has no default: a registry that forgets them would lose the visibility of system collections. */
  constructor(
    version: number,
    collections: ReadonlyMap<string, Collection>,
    systemTraits: ReadonlyMap<string, SystemTraits>,
  ) {
    this.version = version;
    this.systemTraits = systemTraits;
    this.#collections = collections;
  }

  /** The collection of a name that requests may use, or null. */
  find(name: string): Collection | null {
    const found = this.#collections.get(name);
    return found && !found.internal ? found : null;
  }

  /** A collection that is known to exist, including internal ones. */
  get(name: string): Collection {
    const found = this.#collections.get(name);
    if (!found) throw new Error(`no collection ${name} in the registry`);
    return found;
  }

  /** The traits of a collection, including internal ones; empty for an unknown name. */
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

/** Makes a collection from its parts and indexes its fields by name. */
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

/** A field that is known to exist. @throws Error otherwise: a fault of the server. */
export function getField(collection: Collection, name: string): Field {
  const field = collection.byName.get(name);
  if (!field) throw new Error(`no field ${name} in ${collection.name}`);
  return field;
}

const columnFields = new WeakMap<Collection, readonly ColumnField[]>();

/** The fields of a collection that have a column. Each write needs them several times, so they are collected once. */
export function listColumnFields(collection: Collection): readonly ColumnField[] {
  const known = columnFields.get(collection);
  if (known) return known;
  const found = collection.fields.filter(hasColumn);
  columnFields.set(collection, found);
  return found;
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
