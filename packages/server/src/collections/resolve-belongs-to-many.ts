import type { StoredRelation } from '../schema/load-registry.ts';
import { collectionNameProblem } from '../schema/names.ts';
import type { JoinFields } from '../schema/registry.ts';
import { joinName } from './join-collection.ts';
import { defaultFieldFacts, type NewField, type References } from './new-field.ts';
import type { ResolutionDraft, UnresolvedRelation } from './resolution-draft.ts';

/** A foreign key of a join, and the key that it refers to. */
interface JoinSide {
  readonly side: NewField;
  readonly references: References;
  readonly key: NewField;
}

/** Resolves a belongsToMany. Its join is an existing collection, or a new one with both foreign keys. */
export function resolveBelongsToMany(draft: ResolutionDraft, unresolved: UnresolvedRelation): StoredRelation | null {
  const { definition, errorPath } = unresolved;
  const { collection } = draft.input;
  const { target } = definition;
  const sourceKey = draft.findReferencedKey(collection, definition.sourceKey, `${errorPath}sourceKey`);
  const targetKey = draft.findReferencedKey(target, definition.targetKey, `${errorPath}targetKey`);
  if (!sourceKey || !targetKey) return null;
  const join = {
    collection: definition.through ?? joinName(collection, target),
    sourceField: definition.foreignKey ?? `${collection}Id`,
    targetField: definition.otherKey ?? `${target}Id`,
  };
  const problem = findJoinProblem(draft, join, unresolved);
  if (problem) return draft.reject(`${errorPath}${problem[0]}`, problem[1]);
  const sides = [
    { name: join.sourceField, collection, key: sourceKey },
    { name: join.targetField, collection: target, key: targetKey },
  ].map(({ name, collection: referenced, key }): JoinSide => {
    const references = { collection: referenced, field: key.definition.name, onDelete: 'cascade' } as const;
    const foreignKey = draft.makeForeignKey(name, key, definition);
    const side = {
      definition: { ...foreignKey.definition, required: true, index: true },
      facts: { ...defaultFieldFacts, base: name, references },
    };
    return { key, references, side };
  });
  if (!draft.findJoinFields(join.collection))
    draft.addJoin(
      join,
      sides.map(({ side }) => side),
    );
  else if (!sides.every((side) => resolveJoinKey(draft, side, join.collection, errorPath))) return null;
  return {
    kind: 'belongsToMany',
    many: true,
    target,
    sourceField: sourceKey.definition.name,
    targetField: targetKey.definition.name,
    through: join,
  };
}

function findJoinProblem(
  { input }: ResolutionDraft,
  join: JoinFields,
  { definition }: UnresolvedRelation,
): readonly [property: string, problem: string] | null {
  const { registry, collection } = input;
  if (join.sourceField === join.targetField)
    return [
      'otherKey',
      `Both foreign keys of the join would be named "${join.sourceField}". Give "foreignKey" or "otherKey" another name.`,
    ];
  if (registry.all().some((each) => each.name === join.collection && each.system))
    return ['through', `"${join.collection}" is a system collection and cannot be used as a join.`];
  if (join.collection === collection) return ['through', 'A collection cannot be its own join.'];
  const problem = registry.find(join.collection) ? null : collectionNameProblem(join.collection);
  if (problem) return ['through', definition.through ? problem : `${problem} Give the name of the join in "through".`];
  return null;
}

/**
 * Resolves a foreign key of an existing join: the field exists as such, is a plain field that becomes it, or is added.
 */
function resolveJoinKey(
  draft: ResolutionDraft,
  { side, key, references: wanted }: JoinSide,
  join: string,
  errorPath: string,
): boolean {
  const { name } = side.definition;
  const found = draft.find(join, name) ?? draft.findJoinFields(join)?.find((each) => each.definition.name === name);
  if (!found) {
    const { required: _, ...optional } = side.definition;
    draft.addForeignField(join, { ...side, definition: optional });
    return true;
  }
  const { references } = found.facts;
  if (!references)
    return (
      draft.canReference(found, key, wanted.onDelete, errorPath) &&
      draft.useAsForeignKey(join, found, wanted, errorPath)
    );
  if (references.collection === wanted.collection && references.field === wanted.field) return true;
  draft.reject(
    `${errorPath}through`,
    `"${name}" of "${join}" does not refer to records of "${wanted.collection}". Name another field.`,
  );
  return false;
}
