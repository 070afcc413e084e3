import type { World } from '../oracle/model.ts';
import type { Permission } from '../oracle/sight.ts';
import type { Draw } from './draw.ts';
import { randomPermissions } from './role.ts';
import { randomRows } from './rows.ts';
import { type RandomSchema, randomSchema } from './schema.ts';

export interface RandomWorld {
  readonly schema: RandomSchema;
  readonly world: World;
  readonly role: string;
  readonly permissions: readonly Permission[];
}

/** @param name part of the names of its collections and of its role. */
export function randomWorld(draw: Draw, name: string): RandomWorld {
  const schema = randomSchema(draw, name);
  const world = randomRows(draw, schema);
  return { schema, world, role: `role${name}`, permissions: randomPermissions(draw, world) };
}
