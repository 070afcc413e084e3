import type { FieldDefinition } from '../protocol/definition.ts';
import { toCollection } from './load-registry.ts';
import type { Collection } from './registry.ts';

/** The name of a fixed collection, and where its rows are read. */
export interface FixedCollection {
  readonly name: string;
  readonly title: string;
  readonly table: string;
}

/**
 * A system resource in the form of a collection that is not in any registry, so that its lists are compiled, refused
 * and paged like all others.
 */
export function createFixedCollection(
  { name, title, table }: FixedCollection,
  fields: readonly FieldDefinition[],
): Collection {
  const options = { timestamps: false, paranoid: false, logging: false, authors: false };
  return toCollection(
    { id: 0, name, title, description: null, options, table, system: true, internal: false },
    fields.map((definition, index) => ({
      id: index + 1,
      collectionId: 0,
      name: definition.name,
      definition,
      facts: {
        base: definition.name,
        notNull: definition.required ?? false,
        kept: false,
        hidden: false,
        core: true,
        references: null,
        relation: null,
      },
    })),
  );
}
