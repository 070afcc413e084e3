import { LruMap } from '../../base/lru-map.ts';
import { type BoundStatement, DatabaseFault, type Row, type TotalsOfState } from '../database.ts';
import type { EventLogStore } from '../event-log-store.ts';
import { requireRow } from '../run-statement.ts';
import type { ReadOnlyStore, SharedStore } from '../shared-store.ts';
import type { StatementAccess } from '../statement-access.ts';
import { readCommits, SharedCounters, sumTableCounters } from './shared-counters.ts';
import { SharedTotals } from './shared-totals.ts';
import { inspectSqliteStatement } from './sqlite-access.ts';
import { DeadlineExceeded, isUninterruptible, maxLoopStatement, SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { sqliteFullText } from './sqlite-full-text.ts';

/** How long a read may take. */
const readMilliseconds = 3;
/** How long a read may take now and then, so that counts that take longer than others are found and then cached. */
const patientMilliseconds = 12;
/** The next such read waits for this many times the duration of the last one: they take 2% of the time. */
const patiencePause = 50;
/** How long a statement that took longer is refused without another attempt. */
const longStatementMilliseconds = 10_000;
/** On an overloaded machine, a short statement may take long once. */
const maxFailures = 2;
/** How long a read transaction stays open, so that the write-ahead log can be reset. */
const maxStateMilliseconds = 20;
const maxValue = 256 * 1024;

/**
 * A SQLite store that another thread of this process writes, for short reads.
 *
 * Reads share a read transaction until a write has been committed, or 20 ms have passed. All reads therefore see every
 * write that was acknowledged before them. Reads that take longer than 3 ms (12 ms now and then), or that are not
 * possible here, are refused with a {@link DatabaseFault}: the thread that writes must answer the request.
 */
export class ReaderDatabase implements ReadOnlyStore {
  readonly dialect = sqliteDialect;
  readonly multiNode = false;
  readonly fullText = sqliteFullText;
  readonly #connection: SqliteConnection;
  readonly #counters: SharedCounters;
  readonly #totals: SharedTotals;
  /** The version that statements were compiled for; null: they may read any state, and take any time. */
  #requiredVersion: number | null = null;
  /** The counters before the read transaction began. */
  #copy: Int32Array;
  #version = 0;
  #timer: NodeJS.Timeout | null = null;
  /** When a read may take {@link patientMilliseconds} again. */
  #patientAt = 0;
  /** Statements that took too long. */
  readonly #long = new LruMap<{ readonly since: number; readonly failures: number }>({
    entries: 500,
    bytes: 1024 * 1024,
    keyLength: maxLoopStatement,
    sizeOf: 0,
  });

  /** @throws DatabaseFault if the store does not exist. */
  constructor({ path, counters, totals }: SharedStore) {
    this.#connection = new SqliteConnection(path, { readOnly: true });
    this.#counters = new SharedCounters(counters);
    this.#totals = new SharedTotals(totals);
    this.#copy = this.#counters.copy();
  }

  get eventLog(): EventLogStore {
    throw unsupported();
  }

  get isClosed(): boolean {
    return this.#counters.isClosed;
  }

  readVersion(): number {
    this.#holdState();
    return this.#version;
  }

  requireVersion(version: number | null): void {
    this.#requiredVersion = version;
  }

  read(statements: readonly BoundStatement[]): Row[][] {
    if (this.isClosed) throw new DatabaseFault('unavailable', 'the store is being closed');
    this.#holdState();
    if (this.#requiredVersion === null) return statements.map((statement) => this.#connection.run(statement));
    if (this.#requiredVersion !== this.#version) throw new DatabaseFault('stale', 'the definitions have changed');
    const started = performance.now();
    const isPatient = started >= this.#patientAt;
    if (statements.some((each) => isLong(each) || this.#isKnownAsLong(each.text, isPatient))) throw tooLong();
    const deadline = started + (isPatient ? patientMilliseconds : readMilliseconds);
    let running = '';
    try {
      const rows = statements.map((statement) => {
        running = statement.text;
        const read = this.#connection.run(statement, deadline);
        if (performance.now() > deadline && isUninterruptible(statement)) this.#noteLong(running, isPatient);
        return read;
      });
      if (isPatient) this.#noteDuration(started);
      return rows;
    } catch (error) {
      this.#releaseState();
      if (!(error instanceof DeadlineExceeded)) throw error;
      if (isPatient) this.#noteDuration(started);
      this.#noteLong(running, isPatient);
      throw tooLong();
    }
  }

  #noteDuration(started: number): void {
    const took = performance.now() - started;
    if (took > readMilliseconds) this.#patientAt = performance.now() + took * patiencePause;
  }

  #noteLong(text: string, isPatient: boolean): void {
    const failures = isPatient ? Number.POSITIVE_INFINITY : this.#countFailures(text) + 1;
    this.#long.set(text, { since: performance.now(), failures });
  }

  #isKnownAsLong(text: string, isPatient: boolean): boolean {
    return this.#countFailures(text) >= (isPatient ? Number.POSITIVE_INFINITY : maxFailures);
  }

  /** How often a statement took too long; infinity: even for a read that may take {@link patientMilliseconds}. */
  #countFailures(text: string): number {
    const long = this.#long.get(text);
    return long && performance.now() - long.since < longStatementMilliseconds ? long.failures : 0;
  }

  inspect(statement: BoundStatement): Promise<StatementAccess> {
    return inspectSqliteStatement(this, statement);
  }

  changeCounter(tables: readonly string[]): number {
    this.#holdState();
    return sumTableCounters(this.#copy, tables);
  }

  sharedTotals(tables: readonly string[]): TotalsOfState {
    return this.#totals.ofState(this.changeCounter(tables));
  }

  write(): Promise<never> {
    return Promise.reject(unsupported());
  }

  writeOne(): Promise<never> {
    return Promise.reject(unsupported());
  }

  withStartupLock(): Promise<never> {
    return Promise.reject(unsupported());
  }

  tryWithLock(): Promise<never> {
    return Promise.reject(unsupported());
  }

  readStoredBytes(): Promise<never> {
    return Promise.reject(unsupported());
  }

  probeWrite(): Promise<never> {
    return Promise.reject(unsupported());
  }

  async close(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#releaseState();
    this.#connection.close();
  }

  /** Begins a read transaction if there is none, or if a transaction was committed since it began. */
  #holdState(): void {
    if (this.#connection.inTransaction) {
      if (readCommits(this.#copy) === this.#counters.commits) return;
      this.#releaseState();
    }
    this.#copy = this.#counters.copy(); // before the first statement, which fixes what the transaction sees
    this.#connection.run(begin);
    this.#version = Number(requireRow(this.#connection.run(selectVersion))[0]);
    this.#timer ??= setTimeout(this.#expire, maxStateMilliseconds).unref();
  }

  #releaseState(): void {
    if (this.#connection.inTransaction) this.#connection.run(commit);
  }

  readonly #expire = (): void => {
    this.#timer = null;
    this.#releaseState();
  };
}

const begin: BoundStatement = { text: 'BEGIN', values: [] };
const commit: BoundStatement = { text: 'COMMIT', values: [] };
const selectVersion: BoundStatement = { text: 'SELECT version FROM _meta', values: [] };

/** Whether a statement takes longer than a short read by the length of its text or values. */
function isLong({ text, values }: BoundStatement): boolean {
  return text.length > maxLoopStatement || values.some((value) => typeof value === 'string' && value.length > maxValue);
}

function tooLong(): DatabaseFault {
  return new DatabaseFault('timeout', 'the statement takes too long for this thread');
}

function unsupported(): DatabaseFault {
  return new DatabaseFault('other', 'this thread only reads records');
}
