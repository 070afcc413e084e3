import type { Clock } from '../base/clock.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database, Transaction } from '../database/database.ts';
import type { EventManager } from '../extensions/event-manager.ts';
import type { Caller } from '../identity/caller.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Registry } from '../schema/registry.ts';

/** An event that a change of definitions causes. */
export interface DefinitionEvent {
  readonly name: string;
  readonly tk: string;
}

/** What a change would do. */
export interface DefinitionDryRun {
  /** Events that it would cause, in their order. */
  readonly changes: DefinitionEvent[];
  /** Records that the changed tables hold, by collection. */
  readonly records: Record<string, number>;
}

/** Ends the transaction of a trial. */
export class DryRunRollback extends Error {
  readonly dryRun: DefinitionDryRun;

  constructor(dryRun: DefinitionDryRun) {
    super('the trial ends here');
    this.dryRun = dryRun;
  }
}

/** A transaction under way that several changes share; each finds the definitions that the former ones left. */
export interface DefinitionTransaction {
  readonly transaction: Transaction;
  registry: Registry;
  version: number;
}

/** What a change of definitions works with. */
export interface DefinitionContext {
  readonly database: Database;
  readonly registry: Registry;
  readonly version: number;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  /** Who changes the definitions; null: the server. */
  readonly caller: Caller | null;
  readonly requestId: string | null;
  /** What extensions have to say to changes; null where none has a hook. */
  readonly hooks: EventManager | null;
  /** Whether errors may name records of a collection: whoever changes its definition need not be one who reads it. */
  readonly mayList: (collection: string) => boolean;
  readonly maxFields: number;
  readonly maxCollections: number;
  /** Where a change is only tried: what it would do is noted here, then all of it is taken back. */
  readonly dryRun: DefinitionDryRun | null;
  /** Where the events of a change are asked for: they are noted here too. */
  readonly collectedEvents: DefinitionEvent[] | null;
  /** Where a change is one step of several that come and go together. */
  readonly tx: DefinitionTransaction | null;
  /** The caller's way to records within the transaction of a change that has moved the version on. */
  readonly recordContext: (transaction: Transaction) => RecordContext;
  /** Takes up the committed change; afterwards the registry of the application is the new one. */
  refresh(): Promise<void>;
}
