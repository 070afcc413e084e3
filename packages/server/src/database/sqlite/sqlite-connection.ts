import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { LruMap } from '../../base/lru-map.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import type { DateFormat } from '../../protocol/query-request.ts';
import { type BoundStatement, DatabaseFault, type FaultKind, type Row } from '../database.ts';
import { formatDateText } from '../date-text.ts';
import { foldText } from '../text-fold.ts';
import { noteVisitedRows } from '../visited-rows.ts';
import { readCheckedRows } from './sqlite-access.ts';

type SqlInput = null | number | bigint | string;

/**
 * A longer statement is neither prepared on the event loop nor cached: time and memory for both grow with its length.
 */
export const maxLoopStatement = 64 * 1024;

/**
 * Pages that a connection keeps. The operating system keeps the file, so a page that is missing costs a microsecond: with 16 MB instead
 * of 4, a get among 100,000 records took 5.2 instead of 5.9 µs (2026-11-29), and the connections of a busy server took up to 100 MB.
 */
const cacheKilobytes = 4000;
/** A transaction that has changed more pages writes them to the log before it commits. */
const maxUnwrittenPages = 4000;

/** The elements that a list is searched for, as JSON texts. */
interface WantedElements {
  readonly json: string;
  readonly elements: readonly string[];
  /** Whether all of them are texts, which have one spelling except for escaped characters; numbers have several. */
  readonly areTexts: boolean;
}

function parseWanted(json: string): WantedElements {
  const elements = JSON.parse(json) as readonly string[];
  return { json, elements, areTexts: elements.every((each) => each.startsWith('"')) };
}

/** Ends a statement whose deadline has passed. */
export class DeadlineExceeded extends Error {}

/**
 * Whether a statement can pass its deadline without noticing it: FTS5 intersects the lists of frequent trigrams or words before it
 * returns a row, and only returned rows check the deadline.
 */
export function isUninterruptible({ text }: BoundStatement): boolean {
  return text.includes(' MATCH ');
}

/**
 * One synchronous connection with the project's functions and settings.
 *
 * The function `_tick` is called once in about 1,024 visited rows and raises {@link DeadlineExceeded} past the deadline: Node does not
 * expose SQLite's interrupt, and a thread cannot be terminated while a statement runs.
 */
export class SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new LruMap<StatementSync>({
    entries: 400,
    bytes: 3 * 1024 * 1024,
    keyLength: maxLoopStatement,
    sizeOf: 500,
    onEvict: finalize,
  });
  #deadline = Number.POSITIVE_INFINITY;
  #timeUp = false;
  /** How often the deadline was checked by `_tick` in the current statement. */
  #ticks = 0;

  constructor(path: string, options: { readOnly?: boolean; foreignKeys?: boolean } = {}) {
    this.#database = new DatabaseSync(path, { readOnly: options.readOnly ?? false, timeout: 5000 });
    const define = (name: string, work: (...values: never[]) => SqlInput): void =>
      this.#database.function(name, { deterministic: true }, work as (...values: unknown[]) => SqlInput);
    // Texts may be long, so each call checks the deadline too.
    const fold = (text: string): string => {
      this.#tick();
      return foldText(text);
    };
    define('_fold', (text: string | null) => (text === null ? null : fold(text)));
    define('_starts', (text: string | null, needle: string | null) =>
      text === null || needle === null ? 0 : Number(fold(text).startsWith(needle)),
    );
    define('_ends', (text: string | null, needle: string | null) =>
      text === null || needle === null ? 0 : Number(fold(text).endsWith(needle)),
    );
    define('_date_text', (value: string | null, format: DateFormat, zone: string | null) => {
      this.#tick();
      return value === null ? null : formatDateText(value, format, zone);
    });
    // Elements are compared by their JSON text, as in PostgreSQL.
    const elements = (json: string | null): string[] => {
      this.#tick();
      const list: unknown = json === null ? null : parseExactJson(json);
      return Array.isArray(list) ? list.map((each) => JSON.stringify(each)) : [];
    };
    // One statement calls it with the same wanted elements for each row.
    let parsed = parseWanted('[]');
    define('_any_element', (json: string | null, wanted: string) => {
      this.#tick();
      if (json === null) return 0;
      if (parsed.json !== wanted) parsed = parseWanted(wanted);
      // Parsing a list takes longer than finding that it cannot contain a text. A text with another spelling has a backslash.
      const isAbsent = (each: string): boolean => !json.includes(each);
      if (parsed.areTexts && !json.includes('\\') && parsed.elements.every(isAbsent)) return 0;
      const list = new Set(elements(json));
      return Number(parsed.elements.some((each) => list.has(each)));
    });
    define('_same_elements', (json: string | null, wanted: string) => {
      if (json === null || !json.startsWith('[')) return 0;
      const [list, wantedSet] = [new Set(elements(json)), new Set(JSON.parse(wanted) as string[])];
      return Number(list.size === wantedSet.size && [...list].every((each) => wantedSet.has(each)));
    });
    define('_keys_exhausted', () => {
      throw new DatabaseFault('keysExhausted', 'The next key exceeds the range of its type.');
    });
    define('_overflow', (path: string) => {
      throw new DatabaseFault('overflow', path);
    });
    // Fails only if the total exceeds 64 bits; sum() fails if an intermediate sum does.
    this.#database.aggregate('_exact_sum', {
      start: () => null,
      step: (sum: bigint | null, value: unknown) => (value === null ? sum : (sum ?? 0n) + (value as bigint)),
      result: (sum: bigint | null) => {
        if (sum !== null && sum !== BigInt.asIntN(64, sum)) throw new DatabaseFault('range', 'integer overflow');
        return sum;
      },
      useBigIntArguments: true,
    });
    this.#database.function('_tick', {}, () => {
      this.#ticks += 1;
      return this.#tick();
    });
    const foreignKeys = options.foreignKeys === false ? 'OFF' : 'ON';
    this.#database.exec(`PRAGMA busy_timeout=5000; PRAGMA foreign_keys=${foreignKeys};
      PRAGMA temp_store=MEMORY; PRAGMA cache_size=-${cacheKilobytes}; PRAGMA cache_spill=${maxUnwrittenPages}; PRAGMA wal_autocheckpoint=0;`);
    if (!options.readOnly) this.#database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;');
  }

  readonly #tick = (): number => {
    if (performance.now() < this.#deadline) return 1;
    this.#timeUp = true;
    throw new DeadlineExceeded();
  };

  /** @throws DatabaseFault, or DeadlineExceeded when the deadline (in performance.now() terms) passes while it runs. */
  run(statement: BoundStatement, deadline = Number.POSITIVE_INFINITY): Row[] {
    const rows = this.#execute(statement, readRows, deadline);
    if (this.#ticks > 0) noteVisitedRows(rows, this.#ticks * readCheckedRows(statement.text));
    return rows;
  }

  /** Runs an INSERT of one row without RETURNING, which would take longer. @returns the rowid. @throws DatabaseFault. */
  insert(statement: BoundStatement): number {
    return this.#execute(statement, insertRow, Number.POSITIVE_INFINITY);
  }

  #execute<Result>(
    statement: BoundStatement,
    execute: (prepared: StatementSync, values: SqlInput[]) => Result,
    deadline: number,
  ): Result {
    this.#deadline = deadline;
    this.#timeUp = false;
    this.#ticks = 0;
    const cached = this.#statements.get(statement.text);
    try {
      const prepared = cached ?? this.#prepare(statement.text);
      try {
        return execute(prepared, statement.values as SqlInput[]);
      } finally {
        // Only after the run: a statement that the cache does not take is finalized.
        if (!cached) this.#keep(statement.text, prepared);
      }
    } catch (error) {
      throw this.#timeUp ? new DeadlineExceeded() : toSqliteFault(error);
    }
  }

  script(text: string): void {
    try {
      this.#database.exec(text);
    } catch (error) {
      throw toSqliteFault(error);
    }
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  /** A prepared EXPLAIN never notices that the schema has changed, so it is not used again. */
  #keep(text: string, prepared: StatementSync): void {
    if (text.startsWith('EXPLAIN ')) finalize(prepared);
    else this.#statements.set(text, prepared);
  }

  #prepare(text: string): StatementSync {
    const statement = this.#database.prepare(text);
    statement.setReturnArrays(true);
    return statement;
  }
}

function readRows(prepared: StatementSync, values: SqlInput[]): Row[] {
  return prepared.all(...values) as unknown as Row[];
}

function insertRow(prepared: StatementSync, values: SqlInput[]): number {
  return Number(prepared.run(...values).lastInsertRowid);
}

/**
 * Frees a prepared statement, which takes many times the memory of its text. The garbage collector does not know its size and would
 * free it much later. In Node versions whose statements cannot be closed, it is left to the collector.
 */
function finalize(statement: StatementSync): void {
  (statement as Partial<Disposable>)[Symbol.dispose]?.();
}

const faultKinds: Readonly<Record<number, FaultKind>> = {
  1555: 'unique', // SQLITE_CONSTRAINT_PRIMARYKEY
  2067: 'unique', // SQLITE_CONSTRAINT_UNIQUE
  2579: 'unique', // SQLITE_CONSTRAINT_ROWID
  787: 'foreignKey',
  1811: 'foreignKey', // SQLITE_CONSTRAINT_TRIGGER: ON DELETE RESTRICT
  1299: 'notNull',
  5: 'collision', // SQLITE_BUSY
};
/** Primary codes of a store that cannot be used: READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB. */
const diskCodes = new Set([8, 10, 11, 13, 14, 26]);

/** Whether SQLite has refused a statement, and so has undone it. Node can also fail to convert the rows of one that has succeeded. */
export function isUndoneStatement(error: unknown): boolean {
  if (!(error instanceof DatabaseFault)) return false;
  return error.kind !== 'other' || (error.cause as { errcode?: number } | undefined)?.errcode !== undefined;
}

/** SQLite names the columns of a unique or null violation as `table.column` after the last colon. */
export function toSqliteFault(error: unknown): DatabaseFault {
  if (error instanceof DatabaseFault) return error;
  const { errcode, message } = error as { errcode?: number; message?: string };
  // The errors of a statement that was compiled for an older schema.
  if (errcode === 1 && /^(no such (column|table): |table .* has no column named )/.test(message ?? ''))
    return new DatabaseFault('stale', error);
  if (errcode === 1 && message === 'integer overflow') return new DatabaseFault('range', error);
  const kind = faultKinds[errcode ?? 0] ?? (diskCodes.has((errcode ?? 0) % 256) ? 'disk' : 'other');
  const named = kind === 'unique' || kind === 'notNull' ? (/: ([^:]+)$/.exec(message ?? '')?.[1] ?? '') : '';
  const pairs = named
    .split(', ')
    .filter(Boolean)
    .map((pair) => pair.split('.'));
  return new DatabaseFault(
    kind,
    error,
    pairs[0]?.[0] ?? null,
    pairs.map((pair) => pair[1] ?? ''),
  );
}
