import type { Clock } from '../base/clock.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database } from '../database/database.ts';
import type { Registry } from '../schema/registry.ts';

/** What a change of definitions works with. */
export interface DefinitionContext {
  readonly database: Database;
  readonly registry: Registry;
  readonly version: number;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly actor: string | null;
  readonly requestId: string | null;
  readonly maximumFields: number;
  readonly maximumCollections: number;
  /** Takes up the committed change; afterwards the registry of the application is the new one. */
  refresh(): Promise<void>;
}
