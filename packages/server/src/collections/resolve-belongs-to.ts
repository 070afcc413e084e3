import type { FieldDefinition } from '../protocol/definition.ts';
import type { StoredRelation } from '../schema/load-registry.ts';
import { type AskedRelation, defaultOnDelete, type ResolutionDraft } from './resolution-draft.ts';

/** The foreign key lies here: found, adopted, or made. */
export function resolveBelongsTo(draft: ResolutionDraft, asked: AskedRelation): StoredRelation | null {
  const { definition, at } = asked;
  const { collection, existing } = draft.input;
  const target = definition.target!;
  const key = draft.key(target, definition.targetKey, `${at}targetKey`);
  if (!key) return null;
  const name = definition.foreignKey ?? `${definition.name}Id`;
  const present = draft.find(collection, name);
  const made = present ?? draft.foreignKey(name, key, definition);
  const onDelete = definition.onDelete ?? defaultOnDelete(made.definition);
  const references = { collection: target, field: key.definition.name, onDelete } as const;
  if (present?.facts.references) {
    if (!draft.sameReference(present, references, asked)) return null;
  } else {
    if (!draft.fits(made, key, onDelete, at)) return null;
    if (present && existing.includes(present)) {
      if (!draft.adopt(collection, present, references, at)) return null;
    } else draft.add({ definition: indexed(made.definition), facts: { ...made.facts, references } });
  }
  if (definition.unique && !draft.makeUnique(collection, name, at)) return null;
  return {
    kind: 'belongsTo',
    many: false,
    target,
    sourceField: name,
    targetField: key.definition.name,
    through: null,
  };
}

/** Foreign keys are indexed, by their unique index where they have one. */
function indexed(definition: FieldDefinition): FieldDefinition {
  return definition.unique ? definition : { ...definition, index: true };
}
