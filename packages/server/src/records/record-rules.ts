import type { Transaction } from '../database/database.ts';
import type { RecordContext } from './record-context.ts';

declare module '../schema/system-traits.ts' {
  interface SystemTraits {
    /** What the collection does beyond the generated actions. */
    readonly rules?: RecordRules;
  }
}

/** A body of a write. */
export type Body = Readonly<Record<string, unknown>>;

/** What rules do after the records are written, in the same transaction. */
export type AfterWrite = () => Promise<void>;

/** A body as the rules of its collection leave it. */
export interface PreparedBody {
  readonly body: Body;
  /** Values that the server sets; the client has named none of them. */
  readonly serverValues?: Body;
  /**
   * Runs after the record is written, before the commit. An error rolls the write back.
   *
   * @returns the fields of the record that it has written itself, without hidden ones: they are in `changed` of the event,
   *   and the reply shows the record as it is now. Nothing: none.
   */
  afterWrite?(transaction: Transaction, key: unknown): Promise<readonly string[]> | Promise<void>;
}

/** An update or destroy of existing records, for {@link RecordRules.guard}. */
export interface GuardedWrite {
  readonly transaction: Transaction;
  readonly action: 'update' | 'destroy';
  /** Primary keys of the records that the write reaches. */
  readonly keys: readonly unknown[];
  /** The prepared body of an update; null for a destroy. */
  readonly body: Body | null;
  readonly context: RecordContext;
}

/** What a system collection does besides the generated actions. */
export interface RecordRules {
  /** Checks and completes a body, before any database work. `key` is null on create. */
  prepare?(body: unknown, key: unknown, context: RecordContext): Promise<PreparedBody>;
  /**
   * Named locks that an update or destroy takes before its transaction begins.
   *
   * @param keys as the request names them: nothing about them is checked yet. Null: any records that the caller can see.
   */
  findLockKeys?(context: RecordContext, keys: readonly unknown[] | null): Promise<readonly string[]>;
  /**
   * Runs in the transaction, before records are updated or destroyed. An error refuses the write.
   *
   * @returns what to do after the records are written.
   */
  guard?(write: GuardedWrite): Promise<AfterWrite> | Promise<void>;
  /**
   * The keys that a relation links a record to now, of a relation whose join only these rules write.
   *
   * @param key of the record.
   */
  readLinks?(transaction: Transaction, key: unknown, context: RecordContext): Promise<readonly unknown[]>;
  /**
   * The values that a destroy writes instead of deleting: the record is hidden at once, and a background task deletes it
   * with all that depends on it. Absent: the statement deletes the record.
   */
  readonly deferredDelete?: Body;
  /** A change of one record may change many others: it runs off the event loop. */
  readonly heavy?: boolean;
  /**
   * Foreign keys whose records {@link guard} checks itself, so that naming them needs no permission on their collection. They exist and
   * are checked before the statement.
   */
  readonly checkedReferences?: readonly string[];
  /** Changes are everyday work, not administration: they do not enter the audit journal. */
  readonly isUnaudited?: boolean;
  /** A change may alter permissions, so it increments the snapshot version. */
  readonly changesAccess: boolean;
}
