/** Lets short writes share a commit: a commit on SQLite writes every changed page to the log, and most writes change the same pages. */
import type { FifoLock } from '../../base/fifo-lock.ts';
import type { BoundStatement, ImmediateTransaction, Transaction } from '../database.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import {
  begin,
  commit,
  LoopTransaction,
  rollback,
  ShortTransaction,
  type TransactionRecord,
} from './sqlite-transactions.ts';

/** A write that is done, but perhaps not committed. */
export interface FinishedWork<T> {
  readonly result: T;
  readonly transaction: TransactionRecord;
  /** Settles when the write is durable, or has failed with its group. Absent: the write is committed, but not yet synced. */
  readonly durable?: Promise<void>;
}

export interface WriteGroupParts {
  readonly connection: SqliteConnection;
  /** The queue of all writes of the store. */
  readonly queue: FifoLock;
  /** Resolves when everything committed before the call is on the disk. */
  readonly sync: () => Promise<void>;
  /** Called after each commit, with the tables that have changed. */
  readonly committed: (touched: ReadonlySet<string>) => void;
}

/** A transaction that several writes share. */
interface OpenGroup {
  readonly touched: Set<string>;
  readonly durable: Promise<void>;
  readonly resolve: (synced: Promise<void>) => void;
  readonly reject: (error: unknown) => void;
}

const savepoint: BoundStatement = { text: 'SAVEPOINT one_write', values: [] };
const release: BoundStatement = { text: 'RELEASE SAVEPOINT one_write', values: [] };
const undo: BoundStatement = { text: 'ROLLBACK TO SAVEPOINT one_write', values: [] };

/**
 * Runs writes in a shared transaction. A write that finds the disk idle is committed at once. Those that arrive while the disk syncs
 * the previous commit are committed together afterwards. Each write after the first has a savepoint, so that its failure undoes
 * nothing else. A write that can only fail with its first statement needs none, because SQLite undoes a statement that fails. None of
 * them is acknowledged before the shared commit is on the disk.
 */
export class WriteGroup {
  readonly #parts: WriteGroupParts;
  #open: OpenGroup | null = null;
  #isCommitting = false;

  constructor(parts: WriteGroupParts) {
    this.#parts = parts;
  }

  /** Whether writes wait for their shared commit. */
  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** Runs one write. Call it in the queue. @throws what `work` throws, after its changes are undone. */
  async run<T>(work: (transaction: Transaction) => Promise<T>): Promise<FinishedWork<T>> {
    const { connection } = this.#parts;
    const joined = this.#open;
    connection.run(joined ? savepoint : begin);
    const transaction = new LoopTransaction(connection);
    let result: T;
    try {
      result = await work(transaction);
      if (joined) connection.run(release);
    } catch (error) {
      this.#undo(joined, error);
      throw error;
    }
    const group = joined ?? openGroup();
    for (const table of transaction.touched) group.touched.add(table);
    this.#keepOpen(group);
    return { result, transaction, durable: group.durable };
  }

  /**
   * Runs one write whose statements run at once. Call it while no other work of the queue runs.
   *
   * @param mayRefuse whether the work may refuse what its first statement has written.
   * @throws what `work` throws, after its changes are undone.
   */
  runNow<T>(work: (transaction: ImmediateTransaction) => T, mayRefuse: boolean): FinishedWork<T> {
    const { connection } = this.#parts;
    const joined = this.#open;
    const group = joined ?? openGroup();
    const transaction = new ShortTransaction(connection, group.touched);
    const hasSavepoint = joined !== null && mayRefuse;
    if (!joined) connection.run(begin);
    else if (hasSavepoint) connection.run(savepoint);
    let result: T;
    try {
      result = work(transaction);
      if (hasSavepoint) connection.run(release);
    } catch (error) {
      if (!joined || hasSavepoint) this.#undo(joined, error);
      else if (transaction.statements > 0 || !connection.inTransaction) this.#fail(joined, error);
      throw error;
    }
    this.#keepOpen(group);
    return { result, transaction, durable: group.durable };
  }

  /** More writes may join the transaction, until it is committed. */
  #keepOpen(group: OpenGroup): void {
    this.#open = group;
    if (!this.#isCommitting) void this.#commitGroups();
  }

  /** Commits the open transaction, if there is one. Call it in the queue. The promises of its writes settle with the result. */
  commit(): void {
    const group = this.#open;
    if (!group) return;
    this.#open = null;
    try {
      this.#parts.connection.run(commit);
    } catch (error) {
      this.#rollBack();
      group.reject(error);
      return;
    }
    this.#parts.committed(group.touched);
    group.resolve(this.#parts.sync());
  }

  /** Commits one group after another, each when the previous one is on the disk. */
  async #commitGroups(): Promise<void> {
    this.#isCommitting = true;
    while (this.#open) {
      const { durable } = this.#open;
      await this.#parts.queue.run(async () => this.commit());
      await durable.catch(() => {});
    }
    this.#isCommitting = false;
  }

  /** Undoes a write. After some errors, such as a full disk, SQLite has undone the whole transaction. */
  #undo(joined: OpenGroup | null, error: unknown): void {
    const { connection } = this.#parts;
    if (!joined) {
      this.#rollBack();
      return;
    }
    try {
      if (!connection.inTransaction) throw error;
      connection.run(undo);
      connection.run(release);
    } catch (fault) {
      this.#fail(joined, fault);
    }
  }

  /** Undoes all writes of the open transaction. */
  #fail(group: OpenGroup, error: unknown): void {
    this.#rollBack();
    this.#open = null;
    group.reject(error);
  }

  #rollBack(): void {
    const { connection } = this.#parts;
    if (connection.inTransaction) connection.run(rollback);
  }
}

function openGroup(): OpenGroup {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  promise.catch(() => {}); // each write awaits it too
  return { touched: new Set(), durable: promise, resolve, reject };
}
