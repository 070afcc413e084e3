import type pg from 'pg';
import { toPostgresFault } from './postgres-fault.ts';

const tryLock = "SELECT pg_try_advisory_lock(hashtext(current_schema()),hashtext('under way '||$1))";
const unlock = "SELECT pg_advisory_unlock(hashtext(current_schema()),hashtext('under way '||$1))";

/**
 * Work of which no two of one name run at once, on any server. All of its locks are on one connection beside the pool, which the work
 * itself needs: a connection for each name would be one for each mail account that somebody has rethreaded, and others had none left.
 */
export class NamedLocks {
  readonly #open: () => pg.Client;
  /** What runs here: its connection would be given the same lock again. */
  readonly #names = new Set<string>();
  #connection: Promise<pg.Client> | null = null;

  /** @param open makes a client that is not connected yet. */
  constructor(open: () => pg.Client) {
    this.#open = open;
  }

  /** Runs `work` unless other work of that name is under way; null then. */
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

  /** The connection that holds the lock, or null where another one holds it. */
  async #locked(name: string): Promise<pg.Client | null> {
    try {
      const client = await this.#connected();
      const { rows } = await client.query({ text: tryLock, values: [name], rowMode: 'array' });
      return rows[0]![0] === true ? client : null;
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
    // Who is then let in finds half of the work done, and does the rest.
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
