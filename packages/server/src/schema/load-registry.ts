import type { CollectionOptions, FieldDefinition } from '../protocol/definition.ts';
import { resolveFieldType } from './field-types.ts';
import { physicalName } from './names.ts';
import {
  type Collection,
  type Field,
  type ForeignKeyTarget,
  getColumnField,
  type JoinFields,
  makeCollection,
  type Registry,
  type Relation,
} from './registry.ts';
import { noTraits, type SystemTraits } from './system-traits.ts';

/** Properties of a stored field that are resolved once, when it is created, and are not part of its definition. */
export interface FieldFacts {
  /** The name from which the column name is derived; null for relations. */
  readonly base: string | null;
  readonly notNull: boolean;
  readonly kept: boolean;
  readonly hidden: boolean;
  readonly core: boolean;
  readonly references: ForeignKeyTarget | null;
  readonly relation: StoredRelation | null;
  /** A relation refers to records by this field, so its values are also unique among soft-deleted records. */
  readonly anchor?: boolean;
}

/** A stored relation; it refers to its join by the names in the definitions. */
export type StoredRelation = Omit<Relation, 'through'> & { readonly through: JoinFields | null };

/** A collection as the catalogue stores it. */
export interface StoredCollection {
  readonly id: number;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly options: unknown;
  readonly table: string;
  readonly system: boolean;
  readonly internal: boolean;
}

/** A field as the catalogue stores it. */
export interface StoredField {
  readonly id: number;
  readonly collectionId: number;
  readonly name: string;
  readonly definition: unknown;
  readonly facts: unknown;
  /** The name of the complete search index of the field; null if it has none. */
  readonly searchIndex?: string | null;
}

/** Changed definitions, with the ids of all existing collections. */
export interface StoredDefinitions {
  readonly ids: ReadonlySet<number>;
  readonly collections: readonly StoredCollection[];
  readonly fields: readonly StoredField[];
}

/** Builds the next registry from the previous one, the changed collections, and without the destroyed ones. */
export function buildNextRegistry(
  previous: Registry,
  version: number,
  { ids, collections, fields }: StoredDefinitions,
): Registry {
  const byCollection = Map.groupBy(fields, (field) => field.collectionId);
  const changed = new Map(
    collections.map((row) => {
      const traits = row.system ? previous.systemTraits.get(row.name) : undefined;
      return [row.name, toCollection(row, byCollection.get(row.id) ?? [], traits)];
    }),
  );
  const names = new Map(collections.map((row) => [row.id, row.name]));
  const removed = previous.all().filter((each) => !ids.has(each.id) || (names.get(each.id) ?? each.name) !== each.name);
  const next = previous.with(
    [...changed.values()],
    removed.map((each) => each.name), // destroyed, or renamed
    version,
  );
  return next.with(
    next.all().flatMap((each) => resolveJoins(each, next, changed) ?? []),
    [],
    version,
  );
}

/** Resolves the joins of a collection, if it or one of them has changed. */
function resolveJoins(
  collection: Collection,
  registry: Registry,
  changed: ReadonlyMap<string, Collection>,
): Collection | null {
  const isStale = ({ relation }: Field): boolean =>
    Boolean(relation?.through && (changed.has(collection.name) || changed.has(relation.through.collection)));
  if (!collection.fields.some(isStale)) return null;
  const fields = collection.fields.map((field) => (isStale(field) ? resolveJoin(field, registry) : field));
  return makeCollection({ ...collection, fields });
}

function resolveJoin(field: Field, registry: Registry): Field {
  const { relation } = field;
  if (!relation?.through) return field;
  const { collection, sourceField, targetField } = relation.through;
  const join = registry.get(collection);
  const column = (name: string): string => getColumnField(join, name).column;
  const through = {
    collection,
    sourceField,
    targetField,
    table: join.table,
    sourceColumn: column(sourceField),
    targetColumn: column(targetField),
    trashColumn: join.trash?.deletedAt.column ?? null,
  };
  return { ...field, relation: { ...relation, through } };
}

/** Makes a collection from its rows. Its joins are not resolved yet. */
export function toCollection(
  row: StoredCollection,
  fields: readonly StoredField[],
  traits: SystemTraits = noTraits,
): Collection {
  return makeCollection({
    ...row,
    traits,
    options: row.options as CollectionOptions,
    fields: fields.map((field) => toField(field, row.system)),
  });
}

function readColumnName(row: StoredField, system: boolean): string | null {
  return buildColumnName(row.facts as FieldFacts, row.id, system);
}

/** The column name of a field, derived from its base name and id. System fields use their own names. */
export function buildColumnName({ base, core }: FieldFacts, id: number, system: boolean): string | null {
  return base === null || (system && core) ? base : physicalName(base, id);
}

function toField(row: StoredField, system: boolean): Field {
  const definition = row.definition as FieldDefinition;
  const facts = row.facts as FieldFacts;
  return {
    id: row.id,
    name: row.name,
    column: readColumnName(row, system),
    base: facts.base,
    type: resolveFieldType(definition),
    definition,
    primaryKey: definition.primaryKey ?? false,
    autoIncrement: definition.autoIncrement ?? false,
    notNull: facts.notNull,
    serverManaged: facts.kept,
    hidden: facts.hidden,
    core: facts.core,
    references: facts.references,
    referencedKey: facts.anchor ?? false,
    searchIndex: row.searchIndex ?? null,
    relation: facts.relation && {
      ...facts.relation,
      through: facts.relation.through && {
        ...facts.relation.through,
        table: '',
        sourceColumn: '',
        targetColumn: '',
        trashColumn: null,
      },
    },
  };
}
