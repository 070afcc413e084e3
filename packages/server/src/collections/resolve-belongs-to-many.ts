import type { StoredRelation } from '../schema/load-registry.ts';
import { collectionNameProblem } from '../schema/names.ts';
import type { JoinFields } from '../schema/registry.ts';
import { joinName } from './join-collection.ts';
import { type NewField, plainFacts } from './new-field.ts';
import type { AskedRelation, ResolutionDraft } from './resolution-draft.ts';

/** A foreign key of a join, and the key that it names. */
interface Side {
  readonly side: NewField;
  readonly key: NewField;
}

/** The join is found, or made with both foreign keys. */
export function resolveBelongsToMany(draft: ResolutionDraft, asked: AskedRelation): StoredRelation | null {
  const { definition, at } = asked;
  const { collection } = draft.input;
  const target = definition.target!;
  const source = draft.key(collection, definition.sourceKey, `${at}sourceKey`);
  const other = draft.key(target, definition.targetKey, `${at}targetKey`);
  if (!source || !other) return null;
  const join = {
    collection: definition.through ?? joinName(collection, target),
    sourceField: definition.foreignKey ?? `${collection}Id`,
    targetField: definition.otherKey ?? `${target}Id`,
  };
  const problem = joinProblem(draft, join, asked);
  if (problem) return draft.refuse(`${at}${problem[0]}`, problem[1]);
  const sides = [
    { name: join.sourceField, references: collection, key: source },
    { name: join.targetField, references: target, key: other },
  ].map(
    ({ name, references, key }): Side => ({
      key,
      side: {
        definition: { ...draft.foreignKey(name, key, definition).definition, required: true, index: true },
        facts: {
          ...plainFacts,
          base: name,
          references: { collection: references, field: key.definition.name, onDelete: 'cascade' },
        },
      },
    }),
  );
  if (!draft.joinFields(join.collection))
    draft.addJoin(
      join,
      sides.map(({ side }) => side),
    );
  else if (!sides.every((side) => joinKey(draft, side, join.collection, at))) return null;
  return {
    kind: 'belongsToMany',
    many: true,
    target,
    sourceField: source.definition.name,
    targetField: other.definition.name,
    through: join,
  };
}

function joinProblem(
  { input }: ResolutionDraft,
  join: JoinFields,
  { definition }: AskedRelation,
): readonly [property: string, problem: string] | null {
  const { registry, collection } = input;
  if (join.sourceField === join.targetField)
    return ['otherKey', `Both keys of the join would be "${join.sourceField}"; name one of them otherwise.`];
  if (registry.all().some((each) => each.name === join.collection && each.system))
    return ['through', `"${join.collection}" is a system collection and cannot be a join.`];
  if (join.collection === collection) return ['through', 'A collection cannot be its own join.'];
  const problem = registry.find(join.collection) ? null : collectionNameProblem(join.collection);
  if (problem) return ['through', definition.through ? problem : `${problem} Name the join by "through".`];
  return null;
}

/** A foreign key of a join that is there already: the right one, a plain field that becomes it, or added. */
function joinKey(draft: ResolutionDraft, { side, key }: Side, join: string, at: string): boolean {
  const { name } = side.definition;
  const found = draft.find(join, name) ?? draft.joinFields(join)!.find((each) => each.definition.name === name);
  const wanted = side.facts.references!;
  if (!found) {
    const { required: _, ...optional } = side.definition;
    draft.addAbroad(join, { ...side, definition: optional });
    return true;
  }
  const { references } = found.facts;
  if (!references) return draft.fits(found, key, wanted.onDelete, at) && draft.adopt(join, found, wanted, at);
  if (references.collection === wanted.collection && references.field === wanted.field) return true;
  draft.refuse(`${at}through`, `"${name}" of ${join} does not name records of ${wanted.collection}.`);
  return false;
}
