import type { CollectionModel, Dataset, RelationModel } from '../oracle/model.ts';
import { findTargetForeignKey, type ReadAction, type Visibility } from '../oracle/visibility.ts';

const actions: readonly ReadAction[] = ['list', 'get'];

/** The schema with only what a caller may name, so that requests based on it are rarely refused. */
export function limitToVisible(world: Dataset, sight: Visibility): Dataset {
  const seen = [...world.collections.values()].map((collection): CollectionModel => {
    const fields = collection.fields.filter(({ name }) => mayAll(collection, name, sight));
    const relations = collection.relations.filter((relation) => mayFollow(collection, relation, sight));
    return { ...collection, fields, relations };
  });
  return { collections: new Map(seen.map((collection) => [collection.name, collection])), rows: world.rows };
}

function mayAll(collection: CollectionModel, name: string, sight: Visibility): boolean {
  return name === collection.key || actions.every((action) => sight.grant(collection, action)?.may(name));
}

function mayFollow(collection: CollectionModel, relation: RelationModel, sight: Visibility): boolean {
  const target = sight.collection(relation.target);
  const foreignKey = findTargetForeignKey(relation);
  return (
    mayAll(collection, relation.name, sight) &&
    actions.every((action) => sight.grant(target, action)) &&
    (foreignKey === null || mayAll(target, foreignKey, sight))
  );
}
