import { processCounters } from '../base/metrics.ts';
import { storableJson, storableText } from '../base/well-formed.ts';
import type { Dialect } from './dialect.ts';
import type { EventLogStore } from './event-log-store.ts';
import type { FullTextIndex } from './full-text-index.ts';
import type { BindEnvironment, BindParts, Param, Sql } from './sql.ts';
import type { StatementAccess } from './statement-access.ts';

/**
 * The interface between the server and an engine. Statements go in compiled, rows come out as arrays of column values,
 * errors as {@link DatabaseFault}. Nothing outside sqlite/ and postgres/ knows which engine runs.
 */

/** The columns of a row, in the order of the statement. */
export type Row = readonly unknown[];

/** SQL text with placeholders, and the readers of its parameters: compiled once, run many times. */
export interface Statement {
  readonly text: string;
  readonly params: readonly Param[];
}

/** A statement with the values of one run. */
export interface BoundStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The rows of counts that threads share, for one state of the counted tables. */
export interface TotalsOfState {
  /** @param key of the count: its statement and values. */
  find(key: string): Row | null;
  note(key: string, row: Row): void;
}

export interface Database {
  readonly dialect: Dialect;
  /** Whether other servers may use the same store, so that its data and definitions may change without this process. */
  readonly multiNode: boolean;
  readonly eventLog: EventLogStore;
  /** The full-text index of mail. */
  readonly fullText: FullTextIndex;
  /**
   * Runs read statements against one consistent state.
   *
   * A short read may return its rows without a promise. A long one moves off the event loop, and is ended after
   * `limits.queryMilliseconds` with the fault `timeout`.
   */
  read(statements: readonly BoundStatement[]): Row[][] | Promise<Row[][]>;
  /**
   * Runs `work` in one transaction. Resolves when its changes are durable; rejects when none of them was committed.
   *
   * `heavy` work (many rows) runs off the event loop, statement by statement. Each statement is ended after
   * `limits.queryMilliseconds` with the fault `timeout`, unless the work is `longRunning` (index builds, conversions).
   * `rebuild` work is both, and may replace tables that other tables refer to; references are checked before the commit.
   */
  write<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Like {@link Database.write}, for a few short statements that need no promises between them. Only on engines that run statements on
   * the event loop. The write may share a commit with other ones.
   */
  writeNow?<T>(work: (transaction: ImmediateTransaction) => T, options: ImmediateOptions): Promise<T>;
  /** Like {@link Database.write}, for one statement whose result need not be checked before the commit. */
  writeOne(statement: BoundStatement, touched: readonly string[], options?: TransactionOptions): Promise<Row[]>;
  /** How the planner would read the tables of a read statement. The statement is not run. */
  inspect(statement: BoundStatement): Promise<StatementAccess>;
  /** A number that changes with every committed change of one of the tables; null if the engine cannot tell cheaply. */
  changeCounter(tables: readonly string[]): number | null;
  /** What other threads on the store have counted, or null if there are none. Only on engines that count in several threads. */
  sharedTotals?(tables: readonly string[]): TotalsOfState | null;
  /** Runs `work` while no other server on this store runs such work: for bootstrap and migrations. */
  withStartupLock<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs `work`, unless work of that name is running, here or on another server; null then. The lock is released when the process
   * exits. It holds no transaction open.
   */
  tryWithLock<T>(name: string, work: () => Promise<T>): Promise<T | null>;
  /**
   * Runs one statement on its own, without a transaction and without a time limit, on engines that have such statements.
   *
   * @param signal ends the statement, which then fails with the fault `timeout`.
   */
  runOutsideTransaction?(text: string, signal?: AbortSignal): Promise<Row[]>;
  /**
   * Finds out whether the store can be written. Changes nothing.
   *
   * @returns why it cannot be written, or null.
   * @throws DatabaseFault as a write would.
   */
  probeWrite(): Promise<string | null>;
  /** The bytes of the database with all its stores; null if each store is a file of its own. */
  readStoredBytes(): Promise<number | null>;
  close(): Promise<void>;
}

export interface TransactionOptions {
  readonly heavy?: boolean;
  /**
   * The write may share a commit with other ones: it is short and only waits for its own statements. If it is undone, the others are
   * not.
   */
  readonly sharesCommit?: boolean;
  readonly longRunning?: boolean;
  readonly rebuild?: boolean;
  /** Milliseconds for all statements of heavy work together, if writes wait for each other; past them: the fault `timeout`. */
  readonly totalMilliseconds?: number;
  /** The snapshot that the write was planned with. If it is not current, the write fails with {@link StaleVersion}. */
  readonly snapshot?: WriteSnapshot;
  /** Named locks, taken before the first statement: writes with the same key are serialised on all nodes. */
  readonly lockKey?: string | readonly string[];
  /** Runs after the commit and before the next write of this process. */
  readonly afterCommit?: () => Promise<void>;
}

/**
 * The snapshot that a write was planned with. It is checked before the first statement of the write, so that no statement has to
 * distinguish a stale version from an empty result. An engine with one process calls `requireCurrent` when the write has the write
 * lock. A multi-node engine compares `version` in the statement that opens the transaction and so fixes the transaction's snapshot.
 */
export interface WriteSnapshot {
  readonly version: number;
  /** @throws StaleVersion when the definitions have changed. */
  readonly requireCurrent: () => void;
}

/** The methods by which work describes itself to its transaction. */
interface TransactionNotes {
  /** Declares that a table changes, for {@link Database.changeCounter}; `*`: any table. */
  touch(table: string): void;
  /** Runs after the commit is durable, before `write` resolves. */
  afterDurable(work: () => void): void;
}

export interface Transaction extends TransactionNotes {
  run(statement: BoundStatement): Promise<Row[]>;
}

/** A transaction whose statements run at once. */
export interface ImmediateTransaction extends TransactionNotes {
  runNow(statement: BoundStatement): Row[];
  /** Runs an INSERT of one row. @returns the number that the engine gives the row. */
  insertNow(statement: BoundStatement): number;
}

/** How {@link Database.writeNow} runs. */
export interface ImmediateOptions {
  readonly snapshot: WriteSnapshot;
  /**
   * Whether the work may refuse what its first statement has written. If it fails then although it may not, all writes that share its
   * commit fail too.
   */
  readonly mayRefuse: boolean;
}

export type FaultKind =
  | 'unique'
  | 'foreignKey'
  | 'notNull'
  | 'timeout'
  | 'overflow'
  | 'range'
  | 'keysExhausted'
  | 'stale'
  | 'collision'
  | 'disk'
  | 'unavailable'
  | 'unknownOutcome'
  | 'other';

/**
 * An engine's error, classified as far as callers need it. `table` and `columns` are set if the engine names them.
 *
 * - `disk`: the disk failed. Whether anything was written is unknown.
 * - `unavailable`: the database cannot be used now. Nothing was written.
 * - `unknownOutcome`: the reply to a commit was lost.
 */
export class DatabaseFault extends Error {
  readonly kind: FaultKind;
  readonly table: string | null;
  readonly columns: readonly string[];

  constructor(kind: FaultKind, cause: unknown, table: string | null = null, columns: readonly string[] = []) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'DatabaseFault';
    if (kind === 'timeout') processCounters.statementsTimedOut += 1;
    this.kind = kind;
    this.table = table;
    this.columns = columns;
  }
}

/** The snapshot that a statement was compiled for is no longer current: reload, plan again, retry. */
export class StaleVersion extends Error {}

/** Numbers the parameters of a fragment. Compile once and {@link bind} for each run. */
export function compile(dialect: Dialect, fragment: Sql): Statement {
  const params: Param[] = [];
  let text = '';
  for (const part of fragment.parts)
    text += typeof part === 'string' ? part : dialect.placeholder(params.push(part), part);
  return { text, params };
}

/** The values of a statement's parameters for one run, as the engine takes them. */
export function bind(dialect: Dialect, statement: Statement, environment: BindEnvironment): BoundStatement {
  const { params } = statement;
  const values = params.map((param) => toStorable(param, dialect.toEngine(param, param.read(environment))));
  return { text: statement.text, values };
}

/**
 * Makes text storable on every engine. Input of callers is checked earlier: 422 for values, 400 for filters and searches.
 * Text that was not checked must neither fail in an engine nor mean something else on another one.
 */
function toStorable({ storage, list }: Pick<Param, 'storage' | 'list'>, value: unknown): unknown {
  if (typeof value === 'string')
    return storage === 'json' || list ? storableJson(storableText(value)) : storableText(value);
  if (!Array.isArray(value)) return value;
  const one = { storage };
  return value.some((each) => typeof each === 'string' && toStorable(one, each) !== each)
    ? value.map((each) => toStorable(one, each))
    : value;
}

const noVariables = (): Readonly<Record<string, unknown>> => ({});
const emptyList: readonly unknown[] = [];
const noCounters: readonly number[] = [];
const noEvent: BindEnvironment['event'] = { at: null, actor: null, requestId: null, changed: null };
const noEnvironment = createBindEnvironment({});

/** An environment with the given parts; all else is empty. Spelled out, so that all environments have one hidden class. */
export function createBindEnvironment(parts: BindParts): BindEnvironment {
  return {
    values: parts.values ?? emptyList,
    valuesAreText: parts.valuesAreText ?? false,
    key: parts.key ?? null,
    parent: parts.parent ?? null,
    cursor: parts.cursor ?? emptyList,
    offset: parts.offset ?? 0,
    variables: parts.variables ?? noVariables,
    now: parts.now ?? 0,
    zone: parts.zone ?? 'UTC',
    version: parts.version ?? null,
    record: parts.record ?? {},
    counters: parts.counters ?? noCounters,
    event: parts.event ?? noEvent,
  };
}

/** Binds a statement whose parameters are all fixed values. */
export function bindFixed(dialect: Dialect, fragment: Sql): BoundStatement {
  return bind(dialect, compile(dialect, fragment), noEnvironment);
}
