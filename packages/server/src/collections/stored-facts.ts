import type { FieldFacts } from '../schema/load-registry.ts';
import type { Field } from '../schema/registry.ts';

/** The stored properties of a field. */
export function toStoredFacts({
  base,
  notNull,
  serverManaged,
  hidden,
  core,
  references,
  relation,
  referencedKey,
}: Field): FieldFacts {
  const through = relation?.through;
  const join = through && {
    collection: through.collection,
    sourceField: through.sourceField,
    targetField: through.targetField,
  };
  return {
    base,
    notNull,
    kept: serverManaged,
    hidden,
    core,
    references,
    ...(referencedKey && { anchor: referencedKey }),
    relation: relation && { ...relation, through: join ?? null },
  };
}
