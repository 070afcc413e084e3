import type { FieldDefinition } from '../protocol/definition.ts';
import type { FieldFacts } from '../schema/load-registry.ts';

/** A field about to be stored. */
export interface NewField {
  readonly definition: FieldDefinition;
  readonly facts: FieldFacts;
}

/** What a foreign key names. */
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
