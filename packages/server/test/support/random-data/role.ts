import type { CollectionModel, Dataset } from '../oracle/model.ts';
import type { Permission } from '../oracle/visibility.ts';
import type { Draw } from './draw.ts';
import { makeRandomRowFilter } from './filters.ts';

/** The permissions of a random role: on most collections it may read something, on some nothing. */
export function makeRandomPermissions(draw: Draw, world: Dataset): Permission[] {
  const granted = [...world.collections.values()].flatMap((collection): Permission[] => {
    if (draw.chance(8)) return [];
    if (draw.chance(75)) return [permission(draw, collection, world, ['list', 'get'])];
    return [permission(draw, collection, world, ['list']), permission(draw, collection, world, ['get'])];
  });
  const rest: Permission = { resource: '*', actions: ['list', 'get'], filter: null, fields: null, exceptFields: null };
  return draw.chance(15) ? [...granted, rest] : granted;
}

function permission(
  draw: Draw,
  collection: CollectionModel,
  world: Dataset,
  actions: Permission['actions'],
): Permission {
  const names = [...collection.fields.filter(({ type }) => type !== 'password'), ...collection.relations].map(
    ({ name }) => name,
  );
  const lists = draw.below(3);
  return {
    resource: collection.name,
    actions,
    filter: draw.chance(45) ? makeRandomRowFilter(draw, collection, world) : null,
    fields: lists === 1 ? draw.some(names, 75) : null,
    exceptFields: lists === 2 ? draw.some(names, 20) : null,
  };
}
