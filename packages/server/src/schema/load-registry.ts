import type { CollectionOptions, FieldDefinition } from '../protocol/definition.ts';
import { resolveFieldType } from './field-types.ts';
import { physicalName } from './names.ts';
import {
  type Collection,
  type Field,
  getColumnField,
  type JoinFields,
  makeCollection,
  type Registry,
  type Relation,
} from './registry.ts';
import { noTraits, type SystemTraits } from './system-traits.ts';

/** What a stored field says beside its definition: resolved once, when it was made. */
export interface FieldFacts {
  /** The name from which the column's is derived; null for relations. */
  readonly base: string | null;
  readonly notNull: boolean;
  readonly kept: boolean;
  readonly hidden: boolean;
  readonly core: boolean;
  readonly references: {
    readonly collection: string;
    readonly field: string;
    readonly onDelete: 'setNull' | 'cascade' | 'restrict';
  } | null;
  readonly relation: StoredRelation | null;
  /** A relation names records by it: its values are unique in the trash too. */
  readonly anchor?: boolean;
}

/** A relation as it is stored: its join by the names of definitions. */
export type StoredRelation = Omit<Relation, 'through'> & { readonly through: JoinFields | null };

export interface CollectionRow {
  readonly id: number;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly options: unknown;
  readonly table: string;
  readonly system: boolean;
  readonly internal: boolean;
}

export interface FieldRow {
  readonly id: number;
  readonly collectionId: number;
  readonly name: string;
  readonly definition: unknown;
  readonly facts: unknown;
}

/** The next snapshot: the former one with the collections that changed, without those that are gone. */
export function buildNextRegistry(
  previous: Registry,
  version: number,
  {
    ids,
    collections,
    fields,
  }: { ids: ReadonlySet<number>; collections: readonly CollectionRow[]; fields: readonly FieldRow[] },
): Registry {
  const byCollection = Map.groupBy(fields, (field) => field.collectionId);
  const changed = new Map(
    collections.map((row) => {
      const traits = row.system ? previous.systemTraits.get(row.name) : undefined;
      return [row.name, toCollection(row, byCollection.get(row.id) ?? [], traits)];
    }),
  );
  const removed = previous.all().filter((each) => !ids.has(each.id));
  const next = previous.with(
    [...changed.values()],
    removed.map((each) => each.name),
    version,
  );
  return next.with(
    next.all().flatMap((each) => resolveJoins(each, next, changed) ?? []),
    [],
    version,
  );
}

/** A collection with its joins found in storage, where it or one of them has changed. */
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

/** A collection from its rows; where its joins lie is not found yet. */
export function toCollection(
  row: CollectionRow,
  fields: readonly FieldRow[],
  traits: SystemTraits = noTraits,
): Collection {
  return makeCollection({
    ...row,
    traits,
    options: row.options as CollectionOptions,
    fields: fields.map((field) => toField(field, row.system)),
  });
}

function readColumnName(row: FieldRow, system: boolean): string | null {
  return buildColumnName(row.facts as FieldFacts, row.id, system);
}

/** The column of a field: derived from its base and id; the system's own are named as they are. */
export function buildColumnName({ base, core }: FieldFacts, id: number, system: boolean): string | null {
  return base === null || (system && core) ? base : physicalName(base, id);
}

function toField(row: FieldRow, system: boolean): Field {
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
