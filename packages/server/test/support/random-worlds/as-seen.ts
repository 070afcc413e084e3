import type { CollectionModel, RelationModel, World } from '../oracle/model.ts';
import { foreignKeyThere, type ReadAction, type Sight } from '../oracle/sight.ts';

const actions: readonly ReadAction[] = ['list', 'get'];

/** The schema with what a caller may name alone: requests made from it are seldom refused. */
export function asSeen(world: World, sight: Sight): World {
  const seen = [...world.collections.values()].map((collection): CollectionModel => {
    const fields = collection.fields.filter(({ name }) => mayAll(collection, name, sight));
    const relations = collection.relations.filter((relation) => mayFollow(collection, relation, sight));
    return { ...collection, fields, relations };
  });
  return { collections: new Map(seen.map((collection) => [collection.name, collection])), rows: world.rows };
}

function mayAll(collection: CollectionModel, name: string, sight: Sight): boolean {
  return name === collection.key || actions.every((action) => sight.grant(collection, action)?.may(name));
}

function mayFollow(collection: CollectionModel, relation: RelationModel, sight: Sight): boolean {
  const target = sight.collection(relation.target);
  const foreignKey = foreignKeyThere(relation);
  return (
    mayAll(collection, relation.name, sight) &&
    actions.every((action) => sight.grant(target, action)) &&
    (foreignKey === null || mayAll(target, foreignKey, sight))
  );
}
