import { storableJson, storableText } from '../base/well-formed.ts';
import type { Dialect } from './dialect.ts';
import type { EventLogStore } from './event-log-store.ts';
import type { FullTextIndex } from './full-text-index.ts';
import type { BindEnvironment, BindParts, Param, Sql } from './sql.ts';

/**
 * The seam between the rooms above and an engine. Statements go in compiled, rows come out as arrays of column values;
 * errors come out as {@link DatabaseFault}. Nothing outside sqlite/ and postgres/ knows which engine runs.
 */
export type Row = readonly unknown[];

/** Numbered SQL text and the readers of its parameters; made once, run many times. */
export interface Statement {
  readonly text: string;
  readonly params: readonly Param[];
}

export interface BoundStatement {
  readonly text: string;
  readonly values: readonly unknown[];
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
   * A short read may be answered at once; one that turns out long moves off the event loop, and is ended after
   * `limits.queryMilliseconds` with the fault `timeout`.
   */
  read(statements: readonly BoundStatement[]): Row[][] | Promise<Row[][]>;
  /**
   * Runs `work` in one transaction; resolves when its changes are durable, rejects when nothing of it was kept.
   *
   * `heavy` work (many rows) runs off the event loop, its statements one by one; each is ended after
   * `limits.queryMilliseconds` with the fault `timeout`, unless the work is `patient` (index builds, conversions).
   * `rebuild` work is both, and may replace tables that others refer to; references are checked before the commit.
   */
  write<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Like {@link Database.write} for one statement that needs no look at its result before it is committed. */
  writeOne(statement: BoundStatement, touched: readonly string[], options?: TransactionOptions): Promise<Row[]>;
  /** A number that differs after any committed change to one of the tables, or null where the engine cannot tell cheaply. */
  changeCounter(tables: readonly string[]): number | null;
  /** Runs `work` while no other server on this store runs such work: for what is made once, at a start. */
  withStartupLock<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs `work` unless other work of that name is under way, here or on another server; null then. Whoever dies lets go. No transaction
   * is held by it.
   */
  tryWithLock<T>(name: string, work: () => Promise<T>): Promise<T | null>;
  /**
   * Finds out whether the store can be written. Changes nothing.
   *
   * @returns why it cannot be written, or null.
   * @throws DatabaseFault as a write would.
   */
  probeWrite(): Promise<string | null>;
  close(): Promise<void>;
}

export interface TransactionOptions {
  readonly heavy?: boolean;
  readonly longRunning?: boolean;
  readonly rebuild?: boolean;
  /** Milliseconds that the statements of heavy work may take together, where writes wait for each other; past them: the fault `timeout`. */
  readonly totalMilliseconds?: number;
  /** What the write was planned with; a write that was planned with something older fails with {@link StaleVersion}. */
  readonly snapshot?: WriteSnapshot;
  /** Writes with the same turn follow each other before they look at anything, on every node. */
  readonly lockKey?: string | readonly string[];
  /** Runs after the commit and before the next write of this process. */
  readonly afterCommit?: () => Promise<void>;
}

/**
 * The snapshot that a write was planned with. It is checked before the first statement of the write runs, so that no statement has to
 * tell a stale version from an empty result: engines with one process call `requireCurrent` when the write has the write lock; shared
 * engines compare `version` in the statement that opens the transaction, and with it settle what the transaction sees.
 */
export interface WriteSnapshot {
  readonly version: number;
  /** @throws StaleVersion when the definitions have changed. */
  readonly requireCurrent: () => void;
}

export interface Transaction {
  run(statement: BoundStatement): Promise<Row[]>;
  /** Declares which table changes, for {@link Database.changeCounter}; `*` stands for all. */
  touch(table: string): void;
  /** Runs after the commit is durable, before `write` resolves. */
  afterDurable(work: () => void): void;
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
 * An engine's error, told apart as far as the rooms above need it. `columns` where the engine names them.
 *
 * - `disk`: the disk failed. What the write left is unknown.
 * - `unavailable`: the database cannot be used now. Nothing was written.
 * - `unknownOutcome`: the answer to a commit was lost.
 */
export class DatabaseFault extends Error {
  readonly kind: FaultKind;
  readonly table: string | null;
  readonly columns: readonly string[];

  constructor(kind: FaultKind, cause: unknown, table: string | null = null, columns: readonly string[] = []) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'DatabaseFault';
    this.kind = kind;
    this.table = table;
    this.columns = columns;
  }
}

/** The snapshot that a statement was compiled for is no longer the current one: reload, plan again, retry. */
export class StaleVersion extends Error {}

export function compile(dialect: Dialect, fragment: Sql): Statement {
  const params: Param[] = [];
  let text = '';
  for (const part of fragment.parts) {
    text += typeof part === 'string' ? part : dialect.placeholder(params.push(part), part);
  }
  return { text, params };
}

export function bind(dialect: Dialect, statement: Statement, environment: BindEnvironment): BoundStatement {
  const { params } = statement;
  const values = new Array<unknown>(params.length);
  for (let index = 0; index < params.length; index += 1) {
    const param = params[index]!;
    values[index] = toStorable(param, dialect.toEngine(param, param.read(environment)));
  }
  return { text: statement.text, values };
}

/**
 * The last place at which text can be made one that every engine takes. What callers send is checked before: in values 422,
 * in filters and searches 400. What nobody checked must neither fail inside nor mean something else on another engine.
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

/** An environment that holds only what is given. Spelled out: every statement reads one, and all have one shape. */
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

/** A statement whose parameters are all fixed values. */
export function bindFixed(dialect: Dialect, fragment: Sql): BoundStatement {
  return bind(dialect, compile(dialect, fragment), noEnvironment);
}
