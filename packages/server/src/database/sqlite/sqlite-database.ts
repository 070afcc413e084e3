import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { FifoLock } from '../../base/fifo-lock.ts';
import { LruMap } from '../../base/lru-map.ts';
import { processCounters } from '../../base/metrics.ts';
import type { HealthReporter } from '../../base/server-health.ts';
import { limits } from '../../protocol/limits.ts';
import {
  type BoundStatement,
  type Database,
  DatabaseFault,
  type ImmediateOptions,
  type ImmediateTransaction,
  type Row,
  type TotalsOfState,
  type Transaction,
  type TransactionOptions,
} from '../database.ts';
import type { SharedStore } from '../shared-store.ts';
import type { StatementAccess } from '../statement-access.ts';
import { type CheckpointMode, Checkpoints } from './checkpoints.ts';
import { Durability, type SyncFile } from './durability.ts';
import { SharedCounters, sumTableCounters } from './shared-counters.ts';
import { createSharedTotals, SharedTotals } from './shared-totals.ts';
import { inspectSqliteStatement } from './sqlite-access.ts';
import { DeadlineExceeded, isUninterruptible, maxLoopStatement, SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { SqliteEventLog } from './sqlite-event-log.ts';
import { sqliteFullText } from './sqlite-full-text.ts';
import { type BaseTransaction, beginRead, commit, LoopTransaction, ThreadTransaction } from './sqlite-transactions.ts';
import { WorkerThreads } from './worker-thread.ts';
import { type FinishedWork, WriteGroup } from './write-group.ts';
import { WriteHealth } from './write-health.ts';

export interface SqliteOptions {
  readonly path: string;
  readonly readerThreads: number;
  /** Reports whether writes succeed, and whether checkpoints of the write-ahead log do. */
  readonly report: { readonly writes: HealthReporter; readonly log: HealthReporter };
  readonly syncFile?: SyncFile;
}

/** How long a read may block the event loop before it is aborted and retried in a thread. */
const loopMilliseconds = 3;
/** How long a statement that was too slow for the event loop runs in a thread. */
const longStatementMilliseconds = 10_000;
/** How long an unused read transaction stays open. */
const idleReadMilliseconds = 20;
/** How long a checkpoint that blocks writes waits for readers. If it is too short, the checkpoint is repeated later. */
const resetMilliseconds = 100;
/** How long closing waits for a running transaction. A longer one is rolled back; it was never acknowledged. */
const closeMilliseconds = 1000;

/** Characters of one value past which binding it takes longer than a short read. */
const maxLoopValue = 256 * 1024;

/** Whether a statement would block the event loop by the length of its text or values, before it visits a row. */
function isLong({ text, values }: BoundStatement): boolean {
  if (text.length > maxLoopStatement) return true;
  for (const value of values) if (typeof value === 'string' && value.length > maxLoopValue) return true;
  return false;
}

/**
 * An application's SQLite file: a reader and a writer on the event loop, and threads for long statements.
 *
 * All writes go through one queue. A commit is visible to readers at once, and acknowledged when {@link Durability} has synced it to
 * the disk. Short writes that arrive while the disk is busy share a commit, see {@link WriteGroup}. Checkpoints run in a thread: concurrently with writes while the log is small, and in the queue when it is large.
 */
export class SqliteDatabase implements Database {
  readonly dialect = sqliteDialect;
  readonly multiNode = false;
  readonly eventLog = new SqliteEventLog(this);
  readonly fullText = sqliteFullText;
  readonly #reader: SqliteConnection;
  readonly #writer: SqliteConnection;
  readonly #readers: WorkerThreads;
  readonly #heavyWriter: WorkerThreads;
  readonly #checkpointer: WorkerThreads;
  readonly #rebuilder: WorkerThreads;
  readonly #durability: Durability;
  readonly #queue = new FifoLock();
  readonly #group: WriteGroup;
  readonly #checkpoints: Checkpoints;
  readonly #health: WriteHealth;
  /** Statements that took too long on the event loop, and when. */
  readonly #long = new LruMap<number>({
    entries: 2000,
    bytes: 4 * 1024 * 1024,
    keyLength: maxLoopStatement,
    sizeOf: 0,
  });
  readonly #counters = new Map<string, number>();
  readonly #underWay = new Set<string>();
  #everyTable = 0;
  #heldTimer: NodeJS.Timeout | null = null;
  #closed = false;
  readonly #path: string;
  /** Null while no other thread reads the store. */
  #shared: { readonly counters: SharedCounters; readonly totals: SharedTotals; readonly store: SharedStore } | null =
    null;

  constructor(options: SqliteOptions) {
    this.#path = options.path;
    mkdirSync(dirname(options.path), { recursive: true, mode: 0o700 });
    const logPath = `${options.path}-wal`;
    this.#writer = new SqliteConnection(options.path);
    // Creates the log, and carries over what an earlier run left in it, so that everything visible is durable.
    // It hardly waits for long reads, such as those of a move: it would block the event loop, and later checkpoints carry over the rest.
    this.#writer.script(`BEGIN IMMEDIATE; PRAGMA user_version=1; COMMIT;
      PRAGMA busy_timeout=100; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout=5000;`);
    this.#reader = new SqliteConnection(options.path, { readOnly: true });
    this.#readers = new WorkerThreads(options.path, { readOnly: true, size: options.readerThreads });
    this.#heavyWriter = new WorkerThreads(options.path, { readOnly: false, size: 1 });
    this.#checkpointer = new WorkerThreads(options.path, { readOnly: false, size: 1 });
    // Foreign key enforcement cannot be changed in a transaction, so rebuilds have their own connection.
    this.#rebuilder = new WorkerThreads(options.path, { readOnly: false, size: 1, foreignKeys: false });
    this.#durability = new Durability(logPath, options.syncFile);
    this.#group = new WriteGroup({
      connection: this.#writer,
      queue: this.#queue,
      sync: () => this.#durability.sync(),
      committed: (touched) => {
        this.#releaseState();
        this.#count(touched);
      },
    });
    this.#health = new WriteHealth(options.report.writes);
    this.#checkpoints = new Checkpoints({ logPath, run: (mode) => this.#checkpoint(mode), report: options.report.log });
  }

  read(statements: readonly BoundStatement[]): Row[][] | Promise<Row[][]> {
    if (statements.some((each) => isLong(each) || this.#isKnownAsLong(each.text)))
      return this.#readInThread(statements);
    let running = '';
    try {
      this.#holdState();
      return statements.map((statement) => {
        running = statement.text;
        return this.#runShort(statement);
      });
    } catch (error) {
      this.#releaseState();
      if (!(error instanceof DeadlineExceeded)) throw error;
      this.#long.set(running, performance.now());
      processCounters.statementsMoved += 1;
      return this.#readInThread(statements);
    }
  }

  #isKnownAsLong(text: string): boolean {
    const since = this.#long.get(text);
    return since !== undefined && performance.now() - since < longStatementMilliseconds;
  }

  write<T>(work: (transaction: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    if (options.sharesCommit && !options.heavy) return this.#writeInGroup(work, options);
    return this.#queued(async () => {
      this.#group.commit();
      options.snapshot?.requireCurrent();
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
      await options.afterCommit?.();
      return { result, transaction };
    });
  }

  writeNow<T>(work: (transaction: ImmediateTransaction) => T, { snapshot, mayRefuse }: ImmediateOptions): Promise<T> {
    const finish = (): FinishedWork<T> => {
      this.#requireWritable();
      snapshot.requireCurrent();
      if (!this.#group.isOpen) this.#releaseState();
      return this.#group.runNow(work, mayRefuse);
    };
    return this.#acknowledge(() => (this.#queue.depth === 0 ? finish() : this.#queue.run(async () => finish())));
  }

  #writeInGroup<T>(work: (transaction: Transaction) => Promise<T>, { snapshot }: TransactionOptions): Promise<T> {
    return this.#queued(() => {
      snapshot?.requireCurrent();
      if (!this.#group.isOpen) this.#releaseState();
      return this.#group.run(work);
    });
  }

  #transaction(options: TransactionOptions): BaseTransaction {
    if (options.rebuild) return new ThreadTransaction(this.#rebuilder, Number.POSITIVE_INFINITY);
    if (!options.heavy) return new LoopTransaction(this.#writer);
    return new ThreadTransaction(
      this.#heavyWriter,
      options.longRunning ? Number.POSITIVE_INFINITY : limits.queryMilliseconds,
      options.totalMilliseconds,
    );
  }

  async writeOne(
    statement: BoundStatement,
    touched: readonly string[],
    options: TransactionOptions = {},
  ): Promise<Row[]> {
    return this.write(async (transaction) => {
      for (const table of touched) transaction.touch(table);
      return transaction.run(statement);
    }, options);
  }

  inspect(statement: BoundStatement): Promise<StatementAccess> {
    return inspectSqliteStatement(this, statement);
  }

  /** One process serves the file. */
  withStartupLock<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  async tryWithLock<T>(name: string, work: () => Promise<T>): Promise<T | null> {
    if (this.#underWay.has(name)) return null;
    this.#underWay.add(name);
    return work().finally(() => this.#underWay.delete(name));
  }

  /** Writes a value that the store already has, with the same steps as any write: transaction, commit, sync. */
  async probeWrite(): Promise<null> {
    await this.write((transaction) => transaction.run({ text: 'PRAGMA user_version=1', values: [] }));
    return null;
  }

  async readStoredBytes(): Promise<null> {
    return null;
  }

  changeCounter(tables: readonly string[]): number {
    let sum = this.#everyTable;
    for (const table of tables) sum += this.#counters.get(table) ?? 0;
    return sum;
  }

  sharedTotals(tables: readonly string[]): TotalsOfState | null {
    const shared = this.#shared;
    return shared ? shared.totals.ofState(sumTableCounters(shared.counters.copy(), tables)) : null;
  }

  /** Lets other threads read the store: they see every write that is acknowledged from now on. */
  share(): SharedStore {
    if (!this.#shared) {
      const counters = new SharedCounters();
      const totals = createSharedTotals();
      const store = { path: this.#path, counters: counters.buffer, totals };
      this.#shared = { counters, totals: new SharedTotals(totals), store };
    }
    return this.#shared.store;
  }

  /** From now on, other threads do not read the store. */
  withdraw(): void {
    this.#shared?.counters.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#checkpoints.close();
    if (this.#heldTimer) clearTimeout(this.#heldTimer);
    const patience = setTimeout(() => {
      for (const threads of [this.#heavyWriter, this.#rebuilder]) void threads.close();
    }, closeMilliseconds);
    await this.#queue.run(async () => this.#group.commit());
    clearTimeout(patience);
    await this.#readers.close();
    await this.#heavyWriter.close();
    await this.#checkpointer.close();
    await this.#rebuilder.close();
    if (!this.#durability.failure) await this.#durability.sync().catch(() => {});
    await this.#durability.close();
    this.#reader.close();
    this.#writer.close();
    this.#health.clear();
  }

  /** Holds the queue during the transaction only; the wait for the disk overlaps with the next transactions. */
  #queued<T>(work: () => Promise<FinishedWork<T>>): Promise<T> {
    return this.#acknowledge(() =>
      this.#queue.run(async () => {
        this.#requireWritable();
        return work();
      }),
    );
  }

  /** @throws DatabaseFault if writes cannot be acknowledged, or the log has no room. */
  #requireWritable(): void {
    const refusal = this.#durability.failure ?? this.#checkpoints.refusal;
    if (refusal) throw refusal;
  }

  /** Resolves when a write is durable. */
  async #acknowledge<T>(write: () => FinishedWork<T> | Promise<FinishedWork<T>>): Promise<T> {
    if (this.#closed) throw new DatabaseFault('other', 'the database is closed');
    processCounters.writesQueued += 1;
    try {
      const finished = write();
      const { result, transaction, durable } = finished instanceof Promise ? await finished : finished;
      await (durable ?? this.#durability.sync());
      for (const each of transaction.durableWork) each();
      this.#checkpoints.countWrites(transaction.statements);
      this.#health.noteSuccess();
      return result;
    } catch (error) {
      if (error instanceof DatabaseFault && error.kind === 'disk') {
        // Those of the checkpoints are reported by them.
        if (error !== this.#checkpoints.refusal) this.#health.noteFailure(error, error === this.#durability.failure);
        this.#checkpoints.makeRoom();
      }
      throw error;
    } finally {
      processCounters.writesQueued -= 1;
    }
  }

  #runShort(statement: BoundStatement): Row[] {
    const deadline = performance.now() + loopMilliseconds;
    const rows = this.#reader.run(statement, deadline);
    const now = performance.now();
    if (now > deadline && isUninterruptible(statement)) this.#long.set(statement.text, now);
    return rows;
  }

  /**
   * Opens a read transaction that later reads share, since locking the file costs more than a read by key. It ends before and after
   * every write, so that a read sees everything committed and the log can be reset, and shortly after the last read.
   */
  #holdState(): void {
    if (this.#reader.inTransaction) return;
    this.#reader.run(beginRead);
    this.#heldTimer ??= setTimeout(this.#idle, idleReadMilliseconds).unref();
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

  /** Called after each commit, and before any of its writes is acknowledged. */
  #count(touched: ReadonlySet<string>): void {
    this.#shared?.counters.countCommit(touched);
    for (const table of touched) {
      if (table === '*') this.#everyTable += 1;
      else this.#counters.set(table, (this.#counters.get(table) ?? 0) + 1);
    }
  }

  /** A checkpoint that resets the log waits for readers, and holds the queue while it runs. So it only waits briefly. */
  async #checkpoint(mode: CheckpointMode): Promise<Row | undefined> {
    const run = (text: string): Promise<Row[][]> =>
      this.#checkpointer.run({ kind: 'run', statement: { text, values: [] } });
    const checkpoint = `PRAGMA wal_checkpoint(${mode})`;
    if (mode === 'PASSIVE') return (await run(checkpoint))[0]?.[0];
    await run(`PRAGMA busy_timeout=${resetMilliseconds}`);
    const [rows] = await this.#queue.run(() => {
      this.#group.commit();
      return run(checkpoint);
    });
    return rows?.[0];
  }
}

async function checkForeignKeys(transaction: Transaction): Promise<void> {
  const broken = await transaction.run({ text: 'PRAGMA foreign_key_check', values: [] });
  if (broken.length > 0) throw new DatabaseFault('foreignKey', 'a rebuild would leave references to nothing');
}
