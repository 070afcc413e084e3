import type { CollectionOptions, FieldDefinition } from './definition.ts';
import { typeOf } from './field-types.ts';
import { physicalName } from './names.ts';
import {
  type Collection,
  type Field,
  type Join,
  type JoinFields,
  makeCollection,
  Registry,
  type Relation,
} from './registry.ts';

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

/** The snapshot that stored definitions describe. */
export function loadRegistry(
  version: number,
  collections: readonly CollectionRow[],
  fields: readonly FieldRow[],
): Registry {
  const byCollection = Map.groupBy(fields, (field) => field.collectionId);
  const byName = new Map(collections.map((row) => [row.name, row]));
  const joinOf = (join: JoinFields): Join => {
    const row = byName.get(join.collection)!;
    const column = (name: string): string =>
      columnOf(byCollection.get(row.id)!.find((field) => field.name === name)!, row.system)!;
    return {
      ...join,
      table: row.table,
      sourceColumn: column(join.sourceField),
      targetColumn: column(join.targetField),
    };
  };
  const made = collections.map((row) => collectionOf(row, byCollection.get(row.id) ?? [], joinOf));
  return new Registry(version, new Map(made.map((collection) => [collection.name, collection])));
}

/** @param joinOf finds joins in storage; without it relations have none, which serves where only columns matter. */
export function collectionOf(
  row: CollectionRow,
  fields: readonly FieldRow[],
  joinOf: (join: JoinFields) => Join | null = () => null,
): Collection {
  return makeCollection({
    ...row,
    options: row.options as CollectionOptions,
    fields: fields.map((field) => fieldOfRow(field, row.system, joinOf)),
  });
}

function columnOf(row: FieldRow, system: boolean): string | null {
  return columnNameOf(row.facts as FieldFacts, row.id, system);
}

/** The column of a field: derived from its base and id; the system's own are named as they are. */
export function columnNameOf({ base, core }: FieldFacts, id: number, system: boolean): string | null {
  return base === null || (system && core) ? base : physicalName(base, id);
}

function fieldOfRow(row: FieldRow, system: boolean, joinOf: (join: JoinFields) => Join | null): Field {
  const definition = row.definition as FieldDefinition;
  const facts = row.facts as FieldFacts;
  return {
    id: row.id,
    name: row.name,
    column: columnOf(row, system),
    base: facts.base,
    type: typeOf(definition),
    definition,
    primaryKey: definition.primaryKey ?? false,
    autoIncrement: definition.autoIncrement ?? false,
    notNull: facts.notNull,
    kept: facts.kept,
    hidden: facts.hidden,
    core: facts.core,
    references: facts.references,
    relation: facts.relation && {
      ...facts.relation,
      through: facts.relation.through && joinOf(facts.relation.through),
    },
  };
}
