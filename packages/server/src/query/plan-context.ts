import type { Dialect } from '../database/dialect.ts';
import type { FullTextIndex } from '../database/full-text-index.ts';
import type { Registry } from '../schema/registry.ts';
import type { GrantLookup } from './grant.ts';

/** What every planner takes: the definitions, the caller's grants, and the engine. */
export interface PlanContext {
  readonly registry: Registry;
  readonly findGrant: GrantLookup;
  readonly dialect: Dialect;
  readonly fullText: FullTextIndex;
}
