import type { CollectionOptions, FieldDefinition } from './definition.ts';
import { typeOf } from './field-types.ts';
import { physicalName } from './names.ts';
import { type Collection, type Field, makeCollection, Registry, type Relation } from './registry.ts';

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
  readonly relation: Relation | null;
}

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
  const made = collections.map((row) => collectionOf(row, byCollection.get(row.id) ?? []));
  return new Registry(version, new Map(made.map((collection) => [collection.name, collection])));
}

export function collectionOf(row: CollectionRow, fields: readonly FieldRow[]): Collection {
  return makeCollection({
    ...row,
    options: row.options as CollectionOptions,
    fields: fields.map((field) => fieldOfRow(field, row.system)),
  });
}

function fieldOfRow(row: FieldRow, system: boolean): Field {
  const definition = row.definition as FieldDefinition;
  const facts = row.facts as FieldFacts;
  return {
    id: row.id,
    name: row.name,
    column: facts.base === null ? null : system && facts.core ? facts.base : physicalName(facts.base, row.id),
    type: typeOf(definition),
    definition,
    primaryKey: definition.primaryKey ?? false,
    autoIncrement: definition.autoIncrement ?? false,
    notNull: facts.notNull,
    kept: facts.kept,
    hidden: facts.hidden,
    core: facts.core,
    references: facts.references,
    relation: facts.relation,
  };
}
