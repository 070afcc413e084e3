import type { FieldDefinition } from '../protocol/definition.ts';
import type { FieldFacts } from '../schema/load-registry.ts';

/** A field that will be stored. */
export interface NewField {
  readonly definition: FieldDefinition;
  readonly facts: FieldFacts;
}

/** The key that a foreign key refers to. */
export type References = NonNullable<FieldFacts['references']>;

export const defaultFieldFacts: FieldFacts = {
  base: null,
  notNull: false,
  kept: false,
  hidden: false,
  core: false,
  references: null,
  relation: null,
};
