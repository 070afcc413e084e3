/**
 * Writes that one thread plans and another one executes. The planning thread checks permissions and values, and compiles and binds the
 * statement. The executing thread (`write/execute-sent-write.ts`) runs it with its event in one transaction.
 */
import type { BoundStatement, Row } from '../database/database.ts';

/** The verb of a write in its event and in the history. */
export type WriteVerb = 'created' | 'updated' | 'destroyed' | 'restored';

/** The values of a write's event, without its time and the key of the record. */
export interface WriteEvent {
  readonly actor: string | null;
  readonly requestId: string | null;
  /** The fields that the client has named, without secrets. */
  readonly changed: readonly string[];
}

/** A write of one record, ready to be executed. It consists of values that can be sent to another thread. */
export interface SentWrite {
  /** The name of the collection, and its table. */
  readonly resource: string;
  readonly table: string;
  readonly verb: WriteVerb;
  /** Its rows are those of a write plan. */
  readonly statement: BoundStatement;
  /** The indexes of the values of the statement that are the time of the write. */
  readonly stamps: readonly number[];
  readonly event: WriteEvent;
}

/**
 * Executes a write in another thread, under the snapshot of the context that it belongs to.
 *
 * @returns the rows of its statement, when the write is durable. None: the statement has reached no record.
 * @throws Error if nothing was written, for any reason: the planning thread must leave the request to the executing one.
 */
export type SendWrite = (write: SentWrite) => Promise<Row[]>;
