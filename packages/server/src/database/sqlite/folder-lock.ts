import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { StartFailure } from '../../base/start-failure.ts';

/** Identifies the server that holds the lock, for the error message of another server. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  /** Null until it listens. */
  readonly url: string | null;
}

const lockName = 'server.lock';
const holderName = 'server.json';
/** Attempts to read the identity of the holder, which it writes immediately after it has acquired the lock. */
const maxHolderReads = 10;
const holderReadMilliseconds = 50;
const busy = 5; // SQLITE_BUSY

/** Another process holds the lock of the folder. */
export class FolderInUse extends StartFailure {}

/**
 * Prevents two servers from using one folder. Node has no file locks, so the lock is that of an SQLite transaction on an empty
 * file. The operating system releases it when the process ends, and copies of the folder are not locked.
 */
export class FolderLock {
  readonly #folder: string;
  readonly #file: DatabaseSync;
  readonly #holder: Holder;

  private constructor(folder: string, file: DatabaseSync, since: string) {
    this.#folder = folder;
    this.#file = file;
    this.#holder = { pid: process.pid, host: hostname(), since, url: null };
    this.#write(this.#holder);
  }

  /**
   * Acquires the lock, and creates the folder if it does not exist.
   *
   * @param since when this server started, for the message that another one prints.
   * @throws FolderInUse naming the server that holds the lock.
   */
  static async acquire(folder: string, since: string): Promise<FolderLock> {
    makeFolder(folder);
    const file = new DatabaseSync(join(folder, lockName), { timeout: 0 });
    try {
      // The journal is in memory, so that no journal file is created next to the lock file.
      file.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE');
      return new FolderLock(folder, file, since);
    } catch (error) {
      file.close();
      if ((error as { errcode?: number }).errcode !== busy) throw error;
      throw new FolderInUse(describeHolder(folder, await waitForHolder(folder)));
    }
  }

  /** Writes the address of the server, once it is known. */
  announce(url: string): void {
    this.#write({ ...this.#holder, url });
  }

  release(): void {
    ignoreErrors(() => rmSync(join(this.#folder, holderName), { force: true }));
    this.#file.close();
  }

  /**
   * Writes to a second file, because POSIX releases the locks of a process when it closes any descriptor of the locked
   * file.
   */
  #write(holder: Holder): void {
    ignoreErrors(() => writeFileSync(join(this.#folder, holderName), `${JSON.stringify(holder)}\n`, { mode: 0o600 }));
  }
}

/** Creates a folder with its parents. `mkdir` with `recursive` never returns below folders such as /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(resolve(folder));
  if (parent !== resolve(folder)) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error; // another server has created it
  }
}

/** Errors are ignored: the identity is only used in a message, and a full disk is reported elsewhere. */
function ignoreErrors(work: () => void): void {
  try {
    work();
  } catch {}
}

/**
 * Reads the identity of the holder. One of a killed process is ignored: the present holder has not written its own yet.
 */
async function waitForHolder(folder: string): Promise<Holder | null> {
  for (let attempt = 0; attempt < maxHolderReads; attempt += 1) {
    const holder = readHolder(folder);
    if (holder && !hasExited(holder)) return holder;
    await pause(holderReadMilliseconds);
  }
  return null;
}

function readHolder(folder: string): Holder | null {
  try {
    return JSON.parse(readFileSync(join(folder, holderName), 'utf8')) as Holder;
  } catch {
    return null; // does not exist yet, or is being written
  }
}

/** Whether the holder's process has ended. Processes of other machines are assumed to run. */
function hasExited({ pid, host }: Holder): boolean {
  return host === hostname() && hasProcessExited(pid);
}

/** Whether a process of this machine has ended. */
export function hasProcessExited(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === 'ESRCH';
  }
}

function describeHolder(folder: string, holder: Holder | null): string {
  const who = holder
    ? `process ${holder.pid} on ${holder.host}, started ${holder.since}, ${holder.url ? `listening on ${holder.url}` : 'not listening yet'}`
    : 'another process';
  return `DATA_DIR "${folder}" is in use by a Tablinum server (${who}). Only one server can use an SQLite folder: stop that server, set another DATA_DIR, or use PostgreSQL for several servers.`;
}
