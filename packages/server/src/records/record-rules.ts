import type { Transaction } from '../database/database.ts';
import type { RecordContext } from './record-context.ts';

declare module '../schema/system-traits.ts' {
  interface SystemTraits {
    /** What the collection does beyond the generated actions. */
    readonly rules?: RecordRules;
  }
}

export type Body = Readonly<Record<string, unknown>>;

export type AfterWrite = () => Promise<void>;

/** A body after its rules: what is written to the record, and what happens beside it in the same transaction. */
export interface PreparedBody {
  readonly body: Body;
  /** Values that the server gives; the caller has named none of them. */
  readonly serverValues?: Body;
  /** Runs after the record is written, before the commit; throwing undoes all. */
  afterWrite?(transaction: Transaction, key: unknown): Promise<void>;
}

/** What a system collection does beyond the generated actions. Absent members mean: nothing special. */
export interface RecordRules {
  /** Before any database work: checks and completes a body. `key` is null on create. */
  prepare?(body: unknown, key: unknown, context: RecordContext): Promise<PreparedBody>;
  /**
   * Inside the transaction, before records with these keys are updated or destroyed.
   *
   * @returns what is to be done after the records are written, in the same transaction.
   */
  guard?(
    transaction: Transaction,
    action: 'update' | 'destroy',
    keys: readonly unknown[],
    body: Body | null,
    context: RecordContext,
  ): Promise<AfterWrite> | Promise<void>;
  /**
   * The keys that a relation links a record to now, of a relation whose join only these rules write.
   *
   * @param key of the record.
   */
  readLinks?(transaction: Transaction, key: unknown, context: RecordContext): Promise<readonly unknown[]>;
  /**
   * What a record is written when it is destroyed: it is out of everybody's sight at once, and the server takes it away with
   * all that hangs on it, piece by piece. Absent: it is gone with the statement.
   */
  readonly deferredDelete?: Body;
  /** A change of one record may change many others: it runs off the event loop. */
  readonly heavy?: boolean;
  /** Its changes are everyday work, no administrative acts: they do not enter the audit journal. */
  readonly isUnaudited?: boolean;
  /** A change alters who may do what: it moves the version on. */
  readonly changesAccess: boolean;
}
