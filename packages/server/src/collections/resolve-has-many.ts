import type { StoredRelation } from '../schema/load-registry.ts';
import type { NewField } from './new-field.ts';
import { type AskedRelation, defaultOnDelete, type ResolutionDraft } from './resolution-draft.ts';

/** The foreign key lies in the target: found, adopted, or made. Also hasOne, whose foreign key is unique. */
export function resolveHasMany(draft: ResolutionDraft, asked: AskedRelation): StoredRelation | null {
  const { definition, at } = asked;
  const { collection } = draft.input;
  const target = definition.target!;
  const key = draft.key(collection, definition.sourceKey, `${at}sourceKey`);
  if (!key) return null;
  const name = definition.foreignKey ?? `${collection}Id`;
  const present = draft.find(target, name);
  const made = present ?? draft.foreignKey(name, key, definition);
  const onDelete = definition.onDelete ?? defaultOnDelete(made.definition);
  const references = { collection, field: key.definition.name, onDelete } as const;
  const single = definition.type === 'hasOne';
  if (present?.facts.references) {
    if (!draft.sameReference(present, references, asked)) return null;
  } else if (present) {
    if (!draft.fits(present, key, onDelete, at) || !draft.adopt(target, present, references, at)) return null;
  } else {
    const field: NewField = { definition: { ...made.definition, index: true }, facts: { ...made.facts, references } };
    if (target === collection) draft.add(field);
    else draft.addAbroad(target, field);
  }
  if (single && !draft.makeUnique(target, name, at)) return null;
  return {
    kind: single ? 'hasOne' : 'hasMany',
    many: !single,
    target,
    sourceField: key.definition.name,
    targetField: name,
    through: null,
  };
}
