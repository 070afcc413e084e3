import type { Clock } from '../base/clock.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database, Transaction } from '../database/database.ts';
import type { EventManager } from '../extensions/event-manager.ts';
import type { Caller } from '../identity/caller.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';

/** An event that a change of definitions causes. */
export interface DefinitionEvent {
  readonly name: string;
  readonly tk: string;
}

/** The effects that a change would have. */
export interface DefinitionDryRun {
  /** Events that it would cause, in their order. */
  readonly changes: DefinitionEvent[];
  /** The number of records in the changed tables, by collection. */
  readonly records: Record<string, number>;
}

/** Rolls back the transaction of a dry run. */
export class DryRunRollback extends Error {
  readonly dryRun: DefinitionDryRun;

  constructor(dryRun: DefinitionDryRun) {
    super('the dry run ends here');
    this.dryRun = dryRun;
  }
}

/** A transaction that several changes share. Each change starts from the definitions that the previous ones left. */
export interface DefinitionTransaction {
  readonly transaction: Transaction;
  registry: Registry;
  version: number;
}

/** What is about to be destroyed: fields of a collection, or the collection itself. */
export interface DroppedDefinition {
  readonly collection: Collection;
  /** Null: the whole collection. */
  readonly fields: readonly Field[] | null;
}

/** The context of a change to definitions. */
export interface DefinitionContext {
  readonly database: Database;
  readonly registry: Registry;
  readonly version: number;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  /** The caller who changes the definitions; null for the server itself. */
  readonly caller: Caller | null;
  readonly requestId: string | null;
  /** The hooks of extensions; null without any. */
  readonly hooks: EventManager | null;
  /**
   * Whether error messages may name records of a collection: a caller who may change definitions need not be allowed to
   * read records.
   */
  readonly mayList: (collection: string) => boolean;
  readonly maxFields: number;
  readonly maxCollections: number;
  /** Set for a dry run: collects its effects before everything is rolled back. */
  readonly dryRun: DefinitionDryRun | null;
  /** Set if the caller wants the events of a change: collects them. */
  readonly collectedEvents: DefinitionEvent[] | null;
  /** Stores the data of definitions before a change destroys them; absent: no data is stored. */
  readonly keepDropped?: (transaction: Transaction, dropped: DroppedDefinition) => Promise<void>;
  /** Set if the change is one of several in a transaction. */
  readonly tx: DefinitionTransaction | null;
  /**
   * Creates a context for reading and writing records in the transaction of a change, after the version has been
   * bumped.
   */
  readonly recordContext: (transaction: Transaction) => RecordContext;
  /** Loads the committed change into the registry of the application. */
  refresh(): Promise<void>;
}
