import type { Dataset } from '../oracle/model.ts';
import type { Permission } from '../oracle/visibility.ts';
import type { Draw } from './draw.ts';
import { makeRandomPermissions } from './role.ts';
import { makeRandomRows } from './rows.ts';
import { makeRandomSchema, type RandomSchema } from './schema.ts';

export interface RandomDataset {
  readonly schema: RandomSchema;
  readonly dataset: Dataset;
  readonly role: string;
  readonly permissions: readonly Permission[];
}

/** @param name a part of the names of its collections and of its role. */
export function makeRandomDataset(draw: Draw, name: string): RandomDataset {
  const schema = makeRandomSchema(draw, name);
  const world = makeRandomRows(draw, schema);
  return { schema, dataset: world, role: `role${name}`, permissions: makeRandomPermissions(draw, world) };
}
