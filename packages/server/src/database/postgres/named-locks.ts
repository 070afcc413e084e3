import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { FifoLock } from '../../base/fifo-lock.ts';
import { DatabaseFault } from '../database.ts';
import { toPostgresFault } from './postgres-fault.ts';

/** A lock of a session: two names, which become the two numbers of an advisory lock. */
export type LockName = readonly [first: string, second: string];

const tryLock = 'SELECT pg_try_advisory_lock(hashtext($1),hashtext($2))';
const unlock = 'SELECT pg_advisory_unlock(hashtext($1),hashtext($2))';
/** How long the connection is kept without locks. */
const idleMilliseconds = 2000;
/** Between attempts to get a lock. */
const minPauseMilliseconds = 5;
const maxPauseMilliseconds = 100;

/**
 * Named locks, so that work of one name runs once at a time on all servers. All locks of all applications are held by
 * one connection that is not shared with the work itself. With one connection for each name, locks could use up all
 * connections, for example when many mail accounts are rebuilt, or many applications are opened.
 */
export class NamedLocks {
  readonly #open: () => pg.Client;
  /** Names whose work runs in this process. PostgreSQL would give its connection the same lock again. */
  readonly #names = new Set<string>();
  readonly #statements = new FifoLock();
  #connection: Promise<pg.Client> | null = null;
  #idleTimer: NodeJS.Timeout | null = null;

  /** @param open makes a client that is not connected yet. */
  constructor(open: () => pg.Client) {
    this.#open = open;
  }

  /** Runs `work`, unless work of that name is running; null then. */
  async tryWithLock<T>(lock: LockName, work: () => Promise<T>): Promise<T | null> {
    const name = lock.join(' ');
    if (this.#names.has(name)) return null;
    this.#names.add(name);
    if (this.#idleTimer) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    try {
      const client = await this.#locked(lock);
      if (!client) return null;
      return await work().finally(() => this.#run(client, unlock, lock).catch(() => {}));
    } finally {
      this.#names.delete(name);
      if (this.#names.size === 0) this.#idleTimer = setTimeout(() => void this.close(), idleMilliseconds).unref();
    }
  }

  /** Runs `work` when no other work of that name is running. @throws DatabaseFault `collision` if that takes too long. */
  async withLock<T>(lock: LockName, milliseconds: number, work: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + milliseconds;
    for (let delay = minPauseMilliseconds; ; delay = Math.min(2 * delay, maxPauseMilliseconds)) {
      const done = await this.tryWithLock(lock, async () => ({ result: await work() }));
      if (done) return done.result;
      if (performance.now() > deadline)
        throw new DatabaseFault('collision', new Error('A lock of another server did not become free in time.'));
      await pause(delay * (0.5 + Math.random()));
    }
  }

  /** Ends the connection if it has no locks. */
  endIdle(): void {
    if (this.#names.size === 0) void this.close();
  }

  /** Ends the connection, and with it all locks. */
  async close(): Promise<void> {
    if (this.#idleTimer) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    const connection = this.#connection;
    this.#connection = null;
    await connection?.then((client) => client.end()).catch(() => {});
  }

  /** The connection that now holds the lock; null if another server holds it. */
  async #locked(lock: LockName): Promise<pg.Client | null> {
    try {
      const client = await this.#connected();
      return (await this.#run(client, tryLock, lock)) ? client : null;
    } catch (error) {
      throw toPostgresFault(error);
    }
  }

  async #run(client: pg.Client, text: string, lock: LockName): Promise<boolean> {
    const { rows } = await this.#statements.run(() => client.query({ text, values: [...lock], rowMode: 'array' }));
    return rows[0]?.[0] === true;
  }

  #connected(): Promise<pg.Client> {
    if (this.#connection) return this.#connection;
    const client = this.#open();
    const connection = client.connect().then(() => client);
    const dropConnection = (): void => {
      if (this.#connection === connection) this.#connection = null;
    };
    connection.catch(dropConnection);
    // The lock is lost with the connection. The next holder finds the work half done and continues it.
    client.on('error', dropConnection);
    client.once('end', dropConnection);
    this.#connection = connection;
    return connection;
  }
}
