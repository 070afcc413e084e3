/** The transactions of a SQLite store: on the event loop, and in a thread. */
import { TimeSlices } from '../../base/time-slices.ts';
import {
  type BoundStatement,
  DatabaseFault,
  type ImmediateTransaction,
  type Row,
  type Transaction,
} from '../database.ts';
import { isUndoneStatement, type SqliteConnection } from './sqlite-connection.ts';
import type { WorkerThreads } from './worker-thread.ts';

/** What every transaction remembers until it is durable. */
export abstract class TransactionRecord {
  readonly durableWork: (() => void)[] = [];
  statements = 0;

  afterDurable(work: () => void): void {
    this.durableWork.push(work);
  }
}

/** A transaction of any length. */
export abstract class BaseTransaction extends TransactionRecord implements Transaction {
  readonly touched = new Set<string>();

  abstract run(statement: BoundStatement): Promise<Row[]>;
  abstract begin(): void | Promise<void>;
  abstract commit(): void | Promise<void>;
  abstract rollback(): void | Promise<void>;

  touch(table: string): void {
    this.touched.add(table);
  }
}

export const beginRead: BoundStatement = { text: 'BEGIN', values: [] };
export const begin: BoundStatement = { text: 'BEGIN IMMEDIATE', values: [] };
export const commit: BoundStatement = { text: 'COMMIT', values: [] };
export const rollback: BoundStatement = { text: 'ROLLBACK', values: [] };

/**
 * Runs short statements on the event loop. A transaction of many statements is divided into slices: other requests read meanwhile, and
 * other writes wait in the queue.
 */
export class LoopTransaction extends BaseTransaction {
  readonly #connection: SqliteConnection;
  readonly #slices = new TimeSlices();

  constructor(connection: SqliteConnection) {
    super();
    this.#connection = connection;
  }

  async run(statement: BoundStatement): Promise<Row[]> {
    this.statements += 1;
    if (this.#slices.isOver) await this.#slices.next();
    return this.#connection.run(statement);
  }

  begin(): void {
    this.#connection.run(begin);
  }

  commit(): void {
    this.#connection.run(commit);
  }

  rollback(): void {
    if (this.#connection.inTransaction) this.#connection.run(rollback);
  }
}

/** Runs a few short statements at once, and counts those that may have changed something. */
export class ShortTransaction extends TransactionRecord implements ImmediateTransaction {
  readonly #connection: SqliteConnection;
  readonly #touched: Set<string>;

  /** @param touched receives the tables that change. */
  constructor(connection: SqliteConnection, touched: Set<string>) {
    super();
    this.#connection = connection;
    this.#touched = touched;
  }

  runNow(statement: BoundStatement): Row[] {
    return this.#count(() => this.#connection.run(statement));
  }

  insertNow(statement: BoundStatement): number {
    return this.#count(() => this.#connection.insert(statement));
  }

  #count<Result>(run: () => Result): Result {
    this.statements += 1;
    try {
      return run();
    } catch (error) {
      if (isUndoneStatement(error)) this.statements -= 1;
      throw error;
    }
  }

  touch(table: string): void {
    this.#touched.add(table);
  }
}

/** Runs statements in a thread. */
export class ThreadTransaction extends BaseTransaction {
  readonly #thread: WorkerThreads;
  readonly #milliseconds: number;
  readonly #within: number;
  #ends = Number.POSITIVE_INFINITY;
  #open = false;

  /**
   * @param milliseconds after which a statement is ended.
   * @param totalMilliseconds after which the transaction is.
   */
  constructor(thread: WorkerThreads, milliseconds: number, totalMilliseconds = Number.POSITIVE_INFINITY) {
    super();
    this.#thread = thread;
    this.#milliseconds = milliseconds;
    this.#within = totalMilliseconds;
  }

  async run(statement: BoundStatement): Promise<Row[]> {
    const remaining = this.#ends - performance.now();
    if (remaining <= 0) throw new DatabaseFault('timeout', 'the transaction took too long');
    return this.#send(statement, Math.min(this.#milliseconds, remaining));
  }

  async #send(statement: BoundStatement, milliseconds: number): Promise<Row[]> {
    this.statements += 100;
    const [rows] = await this.#thread.run({ kind: 'run', statement, milliseconds }, milliseconds);
    return rows!;
  }

  async begin(): Promise<void> {
    await this.#send(begin, this.#milliseconds);
    this.#ends = performance.now() + this.#within;
    this.#open = true;
  }

  async commit(): Promise<void> {
    await this.#send(commit, this.#milliseconds);
    this.#open = false;
  }

  async rollback(): Promise<void> {
    if (this.#open) await this.#send(rollback, this.#milliseconds).catch(() => {});
    this.#open = false;
  }
}
