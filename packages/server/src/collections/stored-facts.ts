import type { FieldFacts } from '../schema/load-registry.ts';
import type { Field } from '../schema/registry.ts';

/** A field's facts as they are stored. */
export function storedFacts({ base, notNull, kept, hidden, core, references, relation, anchor }: Field): FieldFacts {
  const through = relation?.through;
  const join = through && {
    collection: through.collection,
    sourceField: through.sourceField,
    targetField: through.targetField,
  };
  return {
    base,
    notNull,
    kept,
    hidden,
    core,
    references,
    ...(anchor && { anchor }),
    relation: relation && { ...relation, through: join ?? null },
  };
}
