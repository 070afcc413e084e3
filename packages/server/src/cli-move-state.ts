/** What a move stores until it is done, so that a repeated command continues one that was interrupted. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncToDisk } from './base/sync-to-disk.ts';
import type { StoppedSource } from './cli-move-source.ts';

export interface MoveState {
  /** Names the move in the target, where only it may write the copy. */
  id: string;
  readonly to: string;
  /** The definitions of the tables that the target has. */
  tables: Record<string, string>;
  /** Whether the copy is complete, as long as the source is as it was copied. */
  isComplete: boolean;
  /** The source as it was copied completely. */
  copied?: StoppedSource | null;
  /** Whether the source served requests before the move stopped it. */
  wasRunning?: boolean;
  /**
   * When the application was created in the target. An application with the same name and a later time is a different
   * one.
   */
  targetCreatedAt?: string;
  /** Whether the copy was put in the place of the application in the target, or may have been. */
  isSwitching?: boolean;
  /** Whether the target was asked to start the application, so that it may serve requests. */
  mayBeServed?: boolean;
  /**
   * Whether this attempt was given up: the source was started again, although the copy may have been put in place. The
   * next attempt makes another copy.
   */
  isAbandoned?: boolean;
}

/** The stored state of the move of one application, which only this process uses. */
export interface StoredMoveState {
  readonly state: MoveState;
  readonly save: () => Promise<void>;
  /** The move is done. */
  readonly remove: () => Promise<void>;
  /** Releases the lock of the move. */
  readonly release: () => void;
}

/**
 * Reads the state of a move, or begins one. Another command for the same application is refused until it is released, or this process
 * has ended.
 *
 * @param to the target, as the operator knows it.
 * @throws Error if the application is being moved now, or a move to another target has begun.
 */
export async function openMoveState(dataDir: string, application: string, to: string): Promise<StoredMoveState> {
  const path = join(dataDir, 'moves', `${application}.json`);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const release = await lockMove(join(dataDir, 'moves', `${application}.lock`), application);
  try {
    const state = readState(path, to);
    return { state, save: () => saveState(path, state), remove: () => rm(path, { force: true }), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Node has no file locks, so the lock is that of an SQLite transaction on an empty file. The operating system releases it. */
async function lockMove(path: string, application: string): Promise<() => void> {
  const { DatabaseSync } = await import('node:sqlite');
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    if ((error as { errcode?: number }).errcode !== 5) throw error; // SQLITE_BUSY
    throw new Error(`Another process is moving "${application}" now. Wait until it has ended.`);
  }
  return () => file.close();
}

/** @throws Error if a move to another target has begun. */
function readState(path: string, to: string): MoveState {
  if (!existsSync(path)) return { id: randomUUID(), to, tables: {}, isComplete: false };
  const state = JSON.parse(readFileSync(path, 'utf8')) as MoveState;
  if (state.to === to) return state;
  throw new Error(
    `A move of this application to ${state.to} has begun. Finish it with that --to, or give it up: remove the file "${path}", and destroy the application in ${state.to}.`,
  );
}

async function saveState(path: string, state: MoveState): Promise<void> {
  await writeFile(`${path}.part`, JSON.stringify(state), { mode: 0o600 });
  await syncToDisk(`${path}.part`);
  await rename(`${path}.part`, path);
  await syncToDisk(dirname(path));
}
