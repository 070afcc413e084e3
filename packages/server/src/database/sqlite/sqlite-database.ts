import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { FifoLock } from '../../base/fifo-lock.ts';
import { limits } from '../../protocol/limits.ts';
import {
  type BoundStatement,
  type Database,
  DatabaseFault,
  type Row,
  type Transaction,
  type WriteOptions,
} from '../database.ts';
import { Durability, type SyncFile } from './durability.ts';
import { SqliteConnection, TimeUp } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { WorkerThreads } from './worker-thread.ts';

export interface SqliteOptions {
  readonly path: string;
  readonly readerThreads: number;
  /** False where a file that is not there must not come up empty. */
  readonly mayMake?: boolean;
  readonly syncFile?: SyncFile;
}

/** How long a read may hold the event loop before it starts again in a thread. */
const loopMilliseconds = 3;
/** How long a statement that was too long goes straight to a thread. */
const rememberMilliseconds = 10_000;
/** How long an unused read transaction stays open. */
const heldMilliseconds = 20;
/** About 20 MB of log: a small commit writes four or five pages. */
const checkpointStatements = 1000;
const blockingCheckpointBytes = 256 * 1024 * 1024;

/**
 * An application's SQLite file: a reader and a writer on the event loop, threads for what is long.
 *
 * Writes pass one queue. A commit is visible to readers at once and acknowledged when {@link Durability} has it on
 * the disk. Checkpoints run in the writer thread: beside writes while the log is small, in the queue when it is not.
 */
export class SqliteDatabase implements Database {
  readonly dialect = sqliteDialect;
  readonly #reader: SqliteConnection;
  readonly #writer: SqliteConnection;
  readonly #readers: WorkerThreads;
  readonly #heavyWriter: WorkerThreads;
  readonly #checkpointer: WorkerThreads;
  readonly #rebuilder: WorkerThreads;
  readonly #durability: Durability;
  readonly #queue = new FifoLock();
  readonly #logPath: string;
  readonly #long = new Map<string, number>();
  readonly #counters = new Map<string, number>();
  readonly #underWay = new Set<string>();
  #everyTable = 0;
  #statementsSinceCheckpoint = 0;
  #checkpointing = false;
  #heldTimer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: SqliteOptions) {
    if (options.mayMake === false && !existsSync(options.path)) throw new Error('the store is missing');
    mkdirSync(dirname(options.path), { recursive: true, mode: 0o700 });
    this.#logPath = `${options.path}-wal`;
    this.#writer = new SqliteConnection(options.path);
    // Puts the log in place and what an earlier run left in it on the disk, so that all that is visible is durable.
    this.#writer.script('BEGIN IMMEDIATE; PRAGMA user_version=1; COMMIT; PRAGMA wal_checkpoint(TRUNCATE);');
    this.#reader = new SqliteConnection(options.path, { readOnly: true });
    this.#readers = new WorkerThreads(options.path, { readOnly: true, size: options.readerThreads });
    this.#heavyWriter = new WorkerThreads(options.path, { readOnly: false, size: 1 });
    this.#checkpointer = new WorkerThreads(options.path, { readOnly: false, size: 1 });
    // Whether foreign keys act cannot be changed inside a transaction, so rebuilds have a connection of their own.
    this.#rebuilder = new WorkerThreads(options.path, { readOnly: false, size: 1, foreignKeys: false });
    this.#durability = new Durability(this.#logPath, options.syncFile);
  }

  read(statements: readonly BoundStatement[]): Row[][] | Promise<Row[][]> {
    const heaviest = statements[0]!.text;
    const since = this.#long.get(heaviest);
    if (since !== undefined && performance.now() - since < rememberMilliseconds) return this.#readInThread(statements);
    try {
      this.#holdState();
      return statements.map((statement) => this.#runShort(statement));
    } catch (error) {
      this.#releaseState();
      if (!(error instanceof TimeUp)) throw error;
      if (this.#long.size > 1000) this.#long.clear();
      this.#long.set(heaviest, performance.now());
      return this.#readInThread(statements);
    }
  }

  write<T>(work: (transaction: Transaction) => Promise<T>, options: WriteOptions = {}): Promise<T> {
    return this.#queued(async () => {
      options.precondition?.();
      const transaction = this.#transaction(options);
      this.#releaseState();
      await transaction.begin();
      let result: T;
      try {
        result = await work(transaction);
        if (options.rebuild) await checkForeignKeys(transaction);
        await transaction.commit();
      } catch (error) {
        await transaction.rollback();
        throw error;
      }
      this.#releaseState();
      this.#count(transaction.touched);
      await options.committed?.();
      return { result, transaction };
    });
  }

  #transaction(options: WriteOptions): BaseTransaction {
    if (options.rebuild) return new ThreadTransaction(this.#rebuilder, Number.POSITIVE_INFINITY);
    if (!options.heavy) return new LoopTransaction(this.#writer);
    return new ThreadTransaction(
      this.#heavyWriter,
      options.patient ? Number.POSITIVE_INFINITY : limits.queryMilliseconds,
      options.within,
    );
  }

  async writeOne(statement: BoundStatement, touched: readonly string[], options: WriteOptions = {}): Promise<Row[]> {
    return this.write(async (transaction) => {
      for (const table of touched) transaction.touch(table);
      return transaction.run(statement);
    }, options);
  }

  /** One process serves the file. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  async unlessUnderWay<T>(name: string, work: () => Promise<T>): Promise<T | null> {
    if (this.#underWay.has(name)) return null;
    this.#underWay.add(name);
    return work().finally(() => this.#underWay.delete(name));
  }

  changeCounter(tables: readonly string[]): number {
    let sum = this.#everyTable;
    for (const table of tables) sum += this.#counters.get(table) ?? 0;
    return sum;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#heldTimer) clearTimeout(this.#heldTimer);
    await this.#queue.run(async () => {});
    await this.#readers.close();
    await this.#heavyWriter.close();
    await this.#checkpointer.close();
    await this.#rebuilder.close();
    if (!this.#durability.failure) await this.#durability.sync().catch(() => {});
    await this.#durability.close();
    this.#reader.close();
    this.#writer.close();
  }

  /** Holds the queue for the transaction alone; the wait for the disk overlaps with the next transactions. */
  async #queued<T>(work: () => Promise<{ result: T; transaction: BaseTransaction }>): Promise<T> {
    if (this.#closed) throw new DatabaseFault('other', 'the database is closed');
    const { result, transaction } = await this.#queue.run(async () => {
      if (this.#durability.failure) throw this.#durability.failure;
      return work();
    });
    await this.#durability.sync();
    for (const each of transaction.durableWork) each();
    this.#statementsSinceCheckpoint += transaction.statements;
    if (this.#statementsSinceCheckpoint > checkpointStatements) this.#considerCheckpoint();
    return result;
  }

  #runShort(statement: BoundStatement): Row[] {
    return this.#reader.run(statement, performance.now() + loopMilliseconds);
  }

  /**
   * Opens a read transaction that later reads share: taking and leaving the file's locks costs more than a keyed read.
   * It ends before and after every write, so that a read sees all that was committed and the log can start over, and
   * shortly after the last read.
   */
  #holdState(): void {
    if (this.#reader.inTransaction) return;
    this.#reader.run(beginRead);
    this.#heldTimer ??= setTimeout(this.#idle, heldMilliseconds).unref();
  }

  #releaseState(): void {
    if (this.#reader.inTransaction) this.#reader.run(commit);
  }

  readonly #idle = (): void => {
    this.#heldTimer = null;
    if (!this.#closed) this.#releaseState();
  };

  #readInThread(statements: readonly BoundStatement[]): Promise<Row[][]> {
    return this.#readers.run(
      { kind: 'read', statements, milliseconds: limits.queryMilliseconds },
      limits.queryMilliseconds,
    );
  }

  #count(touched: ReadonlySet<string>): void {
    for (const table of touched) {
      if (table === '*') this.#everyTable += 1;
      else this.#counters.set(table, (this.#counters.get(table) ?? 0) + 1);
    }
  }

  #considerCheckpoint(): void {
    if (this.#checkpointing || this.#closed) return;
    this.#checkpointing = true;
    this.#statementsSinceCheckpoint = 0;
    const done = (): void => {
      this.#checkpointing = false;
    };
    const checkpoint = (mode: string): Promise<unknown> =>
      this.#checkpointer.run({ kind: 'run', statement: { text: `PRAGMA wal_checkpoint(${mode})`, values: [] } });
    const size = statSync(this.#logPath, { throwIfNoEntry: false })?.size ?? 0;
    // A blocking checkpoint waits for readers, so that the log can start over; it holds the queue while it runs.
    const blocking = size > blockingCheckpointBytes;
    void (blocking ? this.#queue.run(() => checkpoint('RESTART')) : checkpoint('PASSIVE')).then(done, done);
  }
}

async function checkForeignKeys(transaction: Transaction): Promise<void> {
  const broken = await transaction.run({ text: 'PRAGMA foreign_key_check', values: [] });
  if (broken.length > 0) throw new DatabaseFault('foreignKey', 'a rebuild would leave references to nothing');
}

abstract class BaseTransaction implements Transaction {
  readonly touched = new Set<string>();
  readonly durableWork: (() => void)[] = [];
  statements = 0;

  abstract run(statement: BoundStatement): Promise<Row[]>;
  abstract begin(): void | Promise<void>;
  abstract commit(): void | Promise<void>;
  abstract rollback(): void | Promise<void>;

  touch(table: string): void {
    this.touched.add(table);
  }

  afterDurable(work: () => void): void {
    this.durableWork.push(work);
  }
}

const beginRead: BoundStatement = { text: 'BEGIN', values: [] };
const begin: BoundStatement = { text: 'BEGIN IMMEDIATE', values: [] };
const commit: BoundStatement = { text: 'COMMIT', values: [] };
const rollback: BoundStatement = { text: 'ROLLBACK', values: [] };

class LoopTransaction extends BaseTransaction {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    super();
    this.#connection = connection;
  }

  async run(statement: BoundStatement): Promise<Row[]> {
    this.statements += 1;
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

class ThreadTransaction extends BaseTransaction {
  readonly #thread: WorkerThreads;
  readonly #milliseconds: number;
  readonly #within: number;
  #ends = Number.POSITIVE_INFINITY;
  #open = false;

  /**
   * @param milliseconds after which a statement is ended.
   * @param within after which the transaction is.
   */
  constructor(thread: WorkerThreads, milliseconds: number, within = Number.POSITIVE_INFINITY) {
    super();
    this.#thread = thread;
    this.#milliseconds = milliseconds;
    this.#within = within;
  }

  async run(statement: BoundStatement): Promise<Row[]> {
    const left = this.#ends - performance.now();
    if (left <= 0) throw new DatabaseFault('timeout', 'the transaction took too long');
    return this.#send(statement, Math.min(this.#milliseconds, left));
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

/** Removes a closed database's files. */
export function removeSqlite(path: string): void {
  for (const each of [path, `${path}-wal`, `${path}-shm`]) rmSync(each, { force: true });
}
