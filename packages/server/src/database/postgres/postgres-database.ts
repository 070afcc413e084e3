import { createHash } from 'node:crypto';
import pg from 'pg';
import { LruMap } from '../../base/lru-map.ts';
import { limits } from '../../protocol/limits.ts';
import {
  type BoundStatement,
  type Database,
  DatabaseFault,
  type FaultKind,
  type Row,
  StaleVersion,
  type Transaction,
  type WriteOptions,
} from '../database.ts';
import type { ConnectionBudget } from './connection-budget.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { UnderWay } from './under-way.ts';

export interface PostgresOptions {
  readonly url: string;
  /** The schema in which this application's tables lie. */
  readonly schema: string;
  readonly poolSize: number;
  /** How long an unused connection is kept. */
  readonly idleMilliseconds: number;
  /** Shared by the applications of a server. */
  readonly budget: ConnectionBudget;
}

const takeTurn = 'SELECT pg_advisory_lock(hashtext(current_schema()),hashtext($1))';
const endTurn = 'SELECT pg_advisory_unlock(hashtext(current_schema()),hashtext($1))';
const attempts = 6;
/** Runs after which a statement is worth a name of its own on each connection. */
const runsBeforeNamed = 3;
const namedPerConnection = 500;
/** What searches words is planned for its words each time: a plan for any word reads all mails that have a common one. */
const wordSearch = '::tsquery';
/** How long a server waits for another one's start. */
const aloneMilliseconds = 60_000;

/** Values as the rooms above expect them: numbers, booleans, and text for all else. */
const types = {
  getTypeParser: (oid: number) => {
    if (oid === 16) return (text: string) => text === 't';
    if (oid === 20) return (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
    return oid === 21 || oid === 23 || oid === 700 || oid === 701 ? Number : (text: string) => text;
  },
} as unknown as pg.CustomTypesConfig;

/**
 * An application's schema in PostgreSQL, on a pool of connections; any number of servers may share it.
 *
 * Writes run REPEATABLE READ and are tried again, a few times, when they collide. `synchronous_commit` makes the
 * commit's reply the promise of durability.
 */
export class PostgresDatabase implements Database {
  readonly dialect = postgresDialect;
  readonly #pool: pg.Pool;
  readonly #underWay: UnderWay;
  readonly #runs = new LruMap<{ count: number; name: string }>(namedPerConnection);

  constructor(options: PostgresOptions) {
    const { url, schema, budget } = options;
    this.#underWay = new UnderWay(
      () => new budget.client({ connectionString: url, options: `-c search_path=${schema}` }),
    );
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.poolSize,
      idleTimeoutMillis: options.idleMilliseconds,
      Client: options.budget.client,
      types,
      // Text in, text out: the time zone and number format of the server's settings must not show. Its compiler takes
      // seconds for statements of deep appends that run in milliseconds.
      options: `-c search_path=${options.schema} -c timezone=UTC -c extra_float_digits=1 -c jit=off -c default_transaction_isolation=repeatable\\ read -c statement_timeout=${limits.queryMilliseconds} -c lock_timeout=2000 -c idle_in_transaction_session_timeout=30000`,
    });
    // An idle connection that the server drops is replaced by the pool; nothing was running on it.
    this.#pool.on('error', () => {});
    // One that is dropped between two statements of a transaction: the next one fails.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  async read(statements: readonly BoundStatement[]): Promise<Row[][]> {
    const results: Row[][] = [];
    for (const statement of statements) results.push(await this.#run(this.#pool, statement));
    return results;
  }

  async writeOne(statement: BoundStatement): Promise<Row[]> {
    return retried(() => this.#run(this.#pool, statement));
  }

  async write<T>(work: (transaction: Transaction) => Promise<T>, options: WriteOptions = {}): Promise<T> {
    const result = await retried(() => this.#transaction(work, options));
    await options.committed?.();
    return result;
  }

  changeCounter(): null {
    return null;
  }

  /** The lock goes with its connection, also where this process dies. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    try {
      await client.query(`SET statement_timeout=${aloneMilliseconds}; SET lock_timeout=${aloneMilliseconds}`);
      await client.query("SELECT pg_advisory_lock(hashtext('tablinum'),hashtext(current_schema()))");
      return await work();
    } finally {
      client.release(true);
    }
  }

  async unlessUnderWay<T>(name: string, work: () => Promise<T>): Promise<T | null> {
    return this.#underWay.unless(name, work);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    { patient, rebuild, turn }: WriteOptions,
  ): Promise<T> {
    // In one order for all, so that no two wait for each other.
    const turns = [...new Set(turn === undefined ? [] : [turn].flat())].sort();
    const taken: string[] = [];
    const client = await this.#pool.connect().catch((error: unknown) => Promise.reject(faultOf(error)));
    const durableWork: (() => void)[] = [];
    let broken: Error | undefined;
    try {
      // Before the transaction: what it sees is settled by its first statement, also one that waits.
      for (const each of turns) {
        await this.#run(client, { text: takeTurn, values: [each] });
        taken.push(each);
      }
      await this.#run(client, { text: 'BEGIN', values: [] });
      // Longer than any read, whose end a change of shape waits for.
      if (patient || rebuild)
        for (const limit of ['statement_timeout=600000', 'lock_timeout=6000'])
          await this.#run(client, { text: `SET LOCAL ${limit}`, values: [] });
      const result = await work({
        run: (statement) => this.#run(client, statement),
        touch: () => {},
        afterDurable: (each) => void durableWork.push(each),
      });
      await this.#run(client, { text: 'COMMIT', values: [] });
      for (const each of durableWork) each();
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((failure: Error) => {
        broken = failure;
      });
      throw error;
    } finally {
      for (const each of taken)
        await client.query(endTurn, [each]).catch((failure: Error) => {
          broken = failure;
        });
      client.release(broken);
    }
  }

  async #run(on: pg.Pool | pg.PoolClient, statement: BoundStatement): Promise<Row[]> {
    const name = this.#nameOf(statement.text);
    try {
      const query = {
        text: statement.text,
        values: statement.values as unknown[],
        rowMode: 'array' as const,
        types,
        ...(name && { name }),
      };
      const result = (await on.query(query)) as unknown as { rows: Row[] };
      return result.rows;
    } catch (error) {
      throw faultOf(error);
    }
  }

  #nameOf(text: string): string | null {
    if (text.includes(wordSearch)) return null;
    const runs = this.#runs.get(text);
    if (!runs) {
      this.#runs.set(text, { count: 1, name: createHash('sha1').update(text).digest('base64url') });
      return null;
    }
    runs.count += 1;
    return runs.count > runsBeforeNamed && text.length > 10 ? runs.name : null;
  }
}

/** Serialisation failures and deadlocks lose nothing: the transaction never happened and is run again. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseFault) || error.kind !== 'collision' || attempt === attempts) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * 2 ** attempt));
    }
  }
}

const kinds: Readonly<Record<string, FaultKind>> = {
  '23505': 'unique',
  '23503': 'foreignKey',
  '23001': 'foreignKey', // restrict_violation
  '23502': 'notNull',
  '22003': 'range',
  '57014': 'timeout',
  '40001': 'collision',
  '40P01': 'collision',
  '55P03': 'collision', // lock_timeout
};
/** What a statement compiled for an older schema runs into. */
const staleCodes = new Set(['42703', '42P01', '0A000']);

function faultOf(error: unknown): Error {
  if (error instanceof DatabaseFault || error instanceof StaleVersion) return error;
  if (!(error instanceof pg.DatabaseError)) return new DatabaseFault('disk', error);
  if (staleCodes.has(error.code ?? '')) return new StaleVersion('schema changed', { cause: error });
  const overflow = /"overflow:([^"]*):\d+"/.exec(error.message);
  if (overflow) return new DatabaseFault('overflow', overflow[1]);
  const columns =
    /^Key \(([^)]*)\)=/
      .exec(error.detail ?? '')?.[1]
      ?.split(', ')
      .map((each) => each.replaceAll('"', '')) ?? [];
  return new DatabaseFault(
    kinds[error.code ?? ''] ?? 'other',
    error,
    error.table ?? null,
    error.column ? [error.column] : columns,
  );
}
