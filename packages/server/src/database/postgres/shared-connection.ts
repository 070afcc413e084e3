import { limits } from '../../protocol/limits.ts';
import type { ConnectionBudget } from './connection-budget.ts';
import type { PostgresClient } from './postgres-client.ts';
import type { PreparedStatement } from './prepared-query.ts';

/** TCP keepalives, so that the locks of a server that has vanished from the network are released within a minute. */
const peerProbes = '-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3';
/**
 * Values are exchanged as text, so the time zone and number format must not depend on the server's settings. JIT takes seconds for
 * statements of deep appends that run in milliseconds.
 */
const sessionSettings =
  '-c timezone=UTC -c extra_float_digits=1 -c jit=off -c default_transaction_isolation=repeatable\\ read ' +
  `-c statement_timeout=${limits.queryMilliseconds} -c lock_timeout=2000 -c idle_in_transaction_session_timeout=30000`;
/**
 * The effects of DISCARD ALL, which cannot be sent together with other statements. RESET ALL returns to the settings
 * with which the connection was opened.
 */
const reset =
  'CLOSE ALL;SET SESSION AUTHORIZATION DEFAULT;RESET ALL;DEALLOCATE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();' +
  'DISCARD SEQUENCES;DISCARD TEMP;SET search_path TO ';
/** How long a connection may take to be reset. */
const resetMilliseconds = 3000;
/** PostgreSQL keeps a description of each table that a connection has used: 60 KB for three tables with two indexes each (2026-11). */
const maxHandOvers = 500;

/** A connection to PostgreSQL that applications use one after the other. */
export class SharedConnection {
  readonly client: PostgresClient;
  /** The statements that it has prepared for its owner, by name; null before the first run. PostgreSQL holds a plan for each. */
  readonly prepared = new Map<string, PreparedStatement | null>();
  /** When it became idle, in terms of performance.now(). */
  idleSince = 0;
  #schema: string;
  #handOvers = 0;
  #isEnded = false;

  /** @param schema of the first owner. */
  constructor(url: string, budget: ConnectionBudget, schema: string) {
    const options = `-c search_path=${schema} ${sessionSettings} ${peerProbes}`;
    this.client = new budget.client({ connectionString: url, options });
    this.#schema = schema;
    const noteEnd = (): void => {
      this.#isEnded = true;
    };
    this.client.on('error', noteEnd);
    this.client.once('end', noteEnd);
  }

  /** The schema whose tables its statements find. */
  get schema(): string {
    return this.#schema;
  }

  /** Whether it can be used by the next one: it is open, has no open transaction, and was not used by too many applications. */
  get isReusable(): boolean {
    return !this.#isEnded && this.#handOvers < maxHandOvers && this.client.getTransactionStatus() === 'I';
  }

  /** Removes all state of the session, so that another application can use it. @throws Error if it must be closed. */
  async handOver(schema: string): Promise<void> {
    this.#handOvers += 1;
    this.#schema = schema;
    this.prepared.clear();
    await this.client.query({ text: reset + schema, query_timeout: resetMilliseconds });
    this.client.forgetStatements();
  }

  /** Closes it. It must not be used afterwards. */
  end(): void {
    this.client.end().catch(() => {});
  }
}
