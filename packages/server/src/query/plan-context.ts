import type { Dialect } from '../database/dialect.ts';
import type { FullTextIndex } from '../database/full-text-index.ts';
import type { Registry } from '../schema/registry.ts';
import type { GrantLookup } from './grant.ts';

/** The context in which names are resolved: the definitions, and the caller's grants. */
export interface AccessContext {
  readonly registry: Registry;
  readonly findGrant: GrantLookup;
}

/** The context of every planner: definitions, grants, and the engine. */
export interface PlanContext extends AccessContext {
  readonly dialect: Dialect;
  readonly fullText: FullTextIndex;
}
