import type { StoredRelation } from '../schema/load-registry.ts';
import type { NewField } from './new-field.ts';
import { defaultOnDelete, type ResolutionDraft, type UnresolvedRelation } from './resolution-draft.ts';

/**
 * Resolves a hasMany or hasOne. The foreign key is a field of the target: an existing one, or a new one. That of a
 * hasOne is unique.
 */
export function resolveHasMany(draft: ResolutionDraft, unresolved: UnresolvedRelation): StoredRelation | null {
  const { definition, errorPath } = unresolved;
  const { collection } = draft.input;
  const { target } = definition;
  const key = draft.findReferencedKey(collection, definition.sourceKey, `${errorPath}sourceKey`);
  if (!key) return null;
  const name = definition.foreignKey ?? `${collection}Id`;
  const present = draft.find(target, name);
  const foreignKey = present ?? draft.makeForeignKey(name, key, definition);
  const onDelete = definition.onDelete ?? defaultOnDelete(foreignKey.definition);
  const references = { collection, field: key.definition.name, onDelete } as const;
  const isSingle = definition.type === 'hasOne';
  if (present?.facts.references) {
    const existing = { name, references: present.facts.references };
    if (!draft.hasSameReference(existing, references, unresolved)) return null;
  } else if (present) {
    if (
      !draft.canReference(present, key, onDelete, errorPath) ||
      !draft.useAsForeignKey(target, present, references, errorPath)
    )
      return null;
  } else {
    const field: NewField = {
      definition: { ...foreignKey.definition, index: true },
      facts: { ...foreignKey.facts, references },
    };
    if (target === collection) draft.add(field);
    else draft.addForeignField(target, field);
  }
  if (isSingle && !draft.makeUnique(target, name, errorPath)) return null;
  return {
    kind: isSingle ? 'hasOne' : 'hasMany',
    many: !isSingle,
    target,
    sourceField: key.definition.name,
    targetField: name,
    through: null,
  };
}
