import type { StoredRelation } from '../schema/load-registry.ts';
import type { NewField } from './new-field.ts';
import type { AskedRelation, ResolutionDraft } from './resolution-draft.ts';

/** The foreign key lies in the target: found, adopted, or made. Also hasOne, whose foreign key is unique. */
export function resolveHasMany(draft: ResolutionDraft, asked: AskedRelation): StoredRelation | null {
  const { definition, at } = asked;
  const { collection } = draft.input;
  const target = definition.target!;
  const key = draft.key(collection, definition.sourceKey, `${at}sourceKey`);
  if (!key) return null;
  const name = definition.foreignKey ?? `${collection}Id`;
  const references = { collection, field: key.definition.name, onDelete: definition.onDelete ?? 'setNull' } as const;
  const single = definition.type === 'hasOne';
  const present = draft.find(target, name);
  if (present?.facts.references) {
    if (!draft.sameReference(present, references, asked)) return null;
    if (single && !present.definition.unique)
      return draft.refuse(`${at}foreignKey`, `"${name}" of ${target} is not unique, as the key of a hasOne must be.`);
  } else if (present) {
    if (!draft.fits(present, key, references.onDelete, at) || !draft.adopt(target, present, references, at))
      return null;
    if (single && !present.definition.unique)
      return draft.refuse(`${at}foreignKey`, `Make "${name}" of ${target} unique first, as the key of a hasOne.`);
  } else {
    const made = draft.foreignKey(name, key, definition);
    const kept = single ? { unique: true } : { index: true };
    const field: NewField = { definition: { ...made.definition, ...kept }, facts: { ...made.facts, references } };
    if (target === collection) draft.add(field);
    else draft.addAbroad(target, field);
  }
  return {
    kind: single ? 'hasOne' : 'hasMany',
    many: !single,
    target,
    sourceField: key.definition.name,
    targetField: name,
    through: null,
  };
}
