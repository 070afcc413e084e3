import type { FieldDefinition } from '../protocol/definition.ts';
import type { StoredRelation } from '../schema/load-registry.ts';
import { defaultOnDelete, type ResolutionDraft, type UnresolvedRelation } from './resolution-draft.ts';

/** Resolves a belongsTo. Its foreign key is a field of the same collection: an existing one, or a new one. */
export function resolveBelongsTo(draft: ResolutionDraft, unresolved: UnresolvedRelation): StoredRelation | null {
  const { definition, errorPath } = unresolved;
  const { collection, existing } = draft.input;
  const { target } = definition;
  const key = draft.findReferencedKey(target, definition.targetKey, `${errorPath}targetKey`);
  if (!key) return null;
  const name = definition.foreignKey ?? `${definition.name}Id`;
  const present = draft.find(collection, name);
  const foreignKey = present ?? draft.makeForeignKey(name, key, definition);
  const onDelete = definition.onDelete ?? defaultOnDelete(foreignKey.definition);
  const references = { collection: target, field: key.definition.name, onDelete } as const;
  if (present?.facts.references) {
    const foreign = { name, references: present.facts.references };
    if (!draft.hasSameReference(foreign, references, unresolved)) return null;
  } else {
    if (!draft.canReference(foreignKey, key, onDelete, errorPath)) return null;
    if (present && existing.includes(present)) {
      if (!draft.useAsForeignKey(collection, present, references, errorPath)) return null;
    } else draft.add({ definition: withIndex(foreignKey.definition), facts: { ...foreignKey.facts, references } });
  }
  if (definition.unique && !draft.makeUnique(collection, name, errorPath)) return null;
  return {
    kind: 'belongsTo',
    many: false,
    target,
    sourceField: name,
    targetField: key.definition.name,
    through: null,
  };
}

/** Every foreign key has an index; a unique one has its unique index. */
function withIndex(definition: FieldDefinition): FieldDefinition {
  return definition.unique ? definition : { ...definition, index: true };
}
