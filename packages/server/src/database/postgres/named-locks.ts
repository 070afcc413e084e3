import type pg from 'pg';
import { toPostgresFault } from './postgres-fault.ts';

const tryLock = "SELECT pg_try_advisory_lock(hashtext(current_schema()),hashtext('under way '||$1))";
const unlock = "SELECT pg_advisory_unlock(hashtext(current_schema()),hashtext('under way '||$1))";

/**
 * Named locks, so that work of one name runs once at a time on all servers. All locks are held by one connection outside the pool, which
 * the work itself needs. A connection for each name could take them all, for example one for each mail account that is rebuilt.
 */
export class NamedLocks {
  readonly #open: () => pg.Client;
  /** Names that run in this process: its connection would get the same lock again. */
  readonly #names = new Set<string>();
  #connection: Promise<pg.Client> | null = null;

  /** @param open makes a client that is not connected yet. */
  constructor(open: () => pg.Client) {
    this.#open = open;
  }

  /** Runs `work`, unless work of that name is running; null then. */
  async tryWithLock<T>(name: string, work: () => Promise<T>): Promise<T | null> {
    if (this.#names.has(name)) return null;
    this.#names.add(name);
    try {
      const client = await this.#locked(name);
      if (!client) return null;
      return await work().finally(() => client.query(unlock, [name]).catch(() => {}));
    } finally {
      this.#names.delete(name);
      if (this.#names.size === 0) await this.#end();
    }
  }

  /** The connection that now holds the lock; null if another server holds it. */
  async #locked(name: string): Promise<pg.Client | null> {
    try {
      const client = await this.#connected();
      const { rows } = await client.query({ text: tryLock, values: [name], rowMode: 'array' });
      const [row] = rows;
      return row?.[0] === true ? client : null;
    } catch (error) {
      throw toPostgresFault(error);
    }
  }

  #connected(): Promise<pg.Client> {
    if (this.#connection) return this.#connection;
    const client = this.#open();
    const connection = client.connect().then(() => client);
    const dropConnection = (): void => {
      if (this.#connection === connection) this.#connection = null;
    };
    connection.catch(dropConnection);
    // With the connection the lock is lost. The next holder finds the work half done and continues it.
    client.on('error', dropConnection);
    this.#connection = connection;
    return connection;
  }

  async #end(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    await connection?.then((client) => client.end()).catch(() => {});
  }
}
