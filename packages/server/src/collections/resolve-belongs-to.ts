import type { StoredRelation } from '../schema/load-registry.ts';
import type { AskedRelation, ResolutionDraft } from './resolution-draft.ts';

/** The foreign key lies here: found, adopted, or made. */
export function resolveBelongsTo(draft: ResolutionDraft, asked: AskedRelation): StoredRelation | null {
  const { definition, at } = asked;
  const { collection, existing } = draft.input;
  const target = definition.target!;
  const key = draft.key(target, definition.targetKey, `${at}targetKey`);
  if (!key) return null;
  const name = definition.foreignKey ?? `${definition.name}Id`;
  const references = {
    collection: target,
    field: key.definition.name,
    onDelete: definition.onDelete ?? 'setNull',
  } as const;
  const present = draft.find(collection, name);
  if (present?.facts.references) {
    if (!draft.sameReference(present, references, asked)) return null;
  } else {
    const made = present ?? draft.foreignKey(name, key, definition);
    if (!draft.fits(made, key, references.onDelete, at)) return null;
    if (present && existing.includes(present)) {
      if (!draft.adopt(collection, present, references, at)) return null;
    } else draft.add({ definition: { ...made.definition, index: true }, facts: { ...made.facts, references } });
  }
  return {
    kind: 'belongsTo',
    many: false,
    target,
    sourceField: name,
    targetField: key.definition.name,
    through: null,
  };
}
