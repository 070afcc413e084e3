import type { Database } from './database.ts';

/** A store as other threads of the process can open it. */
export interface SharedStore {
  readonly path: string;
  /** The counters of its commits. */
  readonly counters: SharedArrayBuffer;
  /** The totals of lists that its threads share. */
  readonly totals: SharedArrayBuffer;
}

/** Shares the stores of an engine with other threads. */
export interface StoreSharing {
  share(database: Database): SharedStore;
  /** From now on, other threads do not read the store. */
  withdraw(database: Database): void;
}

/** A store that another thread of this process writes, for short reads. */
export interface ReadOnlyStore extends Database {
  /** Whether it must not be read any more. */
  readonly isClosed: boolean;
  /** The version of definitions and permissions, as of every write that has been acknowledged. */
  readVersion(): number;
  /** From now on, reads of a state with another version are refused. @param version null: all states can be read. */
  requireVersion(version: number | null): void;
}
