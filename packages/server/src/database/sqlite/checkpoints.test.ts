import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Problem } from '../../base/server-health.ts';
import { DatabaseFault, type Row } from '../database.ts';
import { type CheckpointMode, Checkpoints } from './checkpoints.ts';

const bounds = {
  pages: 20,
  firstStatements: 10,
  minStatements: 5,
  maxStatements: 30,
  blockingPages: 100,
  minBlockingPages: 40,
  maxLogBytes: 2000,
  firstRetryMilliseconds: 1,
  maxRetryMilliseconds: 4,
  heldBackMilliseconds: 400,
};
let folder: string;
let log: string;
let result: Row | Error;
let modes: CheckpointMode[];
let freeBytes: number | null;
let reported: (Problem | null)[];
let checkpoints: Checkpoints;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tablinum-log-'));
  log = join(folder, 'log');
  writeFileSync(log, '');
  [result, modes, reported, freeBytes] = [[0, 0, 0], [], [], Number.MAX_SAFE_INTEGER];
  const run = async (mode: CheckpointMode): Promise<Row> => {
    modes.push(mode);
    if (result instanceof Error) throw result;
    return result;
  };
  const readFreeBytes = (): number => {
    if (freeBytes === null) throw new Error('statfs is not supported');
    return freeBytes;
  };
  const report = (problem: Problem | null): void => void reported.push(problem);
  checkpoints = new Checkpoints({ logPath: log, run, report, readFreeBytes, bounds });
});
afterEach(() => {
  checkpoints.close();
  rmSync(folder, { recursive: true });
});
const last = (): Problem | null | undefined => reported.at(-1);

/** Counts writes, and waits until the checkpoint that they cause has ended. */
async function write(statements: number): Promise<void> {
  const before = reported.length;
  checkpoints.countWrites(statements);
  await expect.poll(() => reported.length).toBe(before + 1);
}

test('a checkpoint runs after a number of statements, and only delays writes if the log is long', async () => {
  checkpoints.countWrites(10);
  expect(modes).toEqual([]);
  result = [0, 11, 11];
  await write(1);
  expect(modes).toEqual(['PASSIVE']);
  truncateSync(log, 125 * 4096); // a little more than the largest log: SQLite writes it again from its beginning
  result = [0, 100, 100];
  await write(31);
  expect(modes).toEqual(['PASSIVE', 'PASSIVE']);
  result = [0, 101, 101];
  await write(31);
  expect(modes.slice(2)).toEqual(['PASSIVE', 'RESTART']);
  result = [0, 90, 90];
  await write(31);
  expect(modes.slice(4)).toEqual(['PASSIVE']);
  expect(checkpoints.refusal).toBeNull();
});

test('the number of statements between two checkpoints depends on the pages that they write', async () => {
  result = [0, 22, 22];
  await write(11); // two pages each: ten statements write twenty pages
  checkpoints.countWrites(10);
  expect(modes).toHaveLength(1);
  result = [0, 33, 33];
  await write(1); // one page each
  checkpoints.countWrites(20);
  expect(modes).toHaveLength(2);
  result = [0, 4, 4]; // the log was reset
  await write(1); // at most thirty statements
  checkpoints.countWrites(30);
  expect(modes).toHaveLength(3);
  result = [0, 90, 90];
  await write(1);
  checkpoints.countWrites(7); // 86 pages for 31 statements: seven statements write twenty pages
  expect(modes).toHaveLength(4);
  await write(1);
  expect(modes).toHaveLength(5);
});

test('a checkpoint runs earlier if the log grows', async () => {
  result = [0, 1, 1];
  await write(11);
  truncateSync(log, 40 * 4096);
  checkpoints.countWrites(5);
  expect(modes).toHaveLength(1);
  truncateSync(log, 40 * 4096 + 1);
  checkpoints.countWrites(4);
  expect(modes).toHaveLength(1);
  await write(1);
  expect(modes).toHaveLength(2);
  checkpoints.countWrites(30);
  expect(modes).toHaveLength(2);
});

test('the file of the log is emptied if it is much larger than the largest log', async () => {
  truncateSync(log, 125 * 4096 + 1);
  result = [0, 101, 101];
  await write(11);
  expect(modes).toEqual(['PASSIVE', 'TRUNCATE']);
});

test('on a nearly full disk, the log is reset earlier', async () => {
  freeBytes = 200 * 4096;
  result = [0, 50, 50];
  await write(11);
  result = [0, 51, 51];
  await write(31);
  expect(modes).toEqual(['PASSIVE', 'PASSIVE', 'RESTART']);
  freeBytes = 0;
  result = [0, 40, 40];
  await write(31);
  result = [0, 41, 41];
  await write(31);
  expect(modes.slice(3)).toEqual(['PASSIVE', 'PASSIVE', 'RESTART']);
});

test('without a known free space, the usual bound applies', async () => {
  freeBytes = null;
  result = [0, 100, 100];
  await write(11);
  result = [0, 101, 101];
  await write(31);
  expect(modes).toEqual(['PASSIVE', 'PASSIVE', 'RESTART']);
});

test('if a write fails because of the disk, the log is emptied, and again if that fails', async () => {
  result = new DatabaseFault('disk', 'database or disk is full');
  checkpoints.makeRoom();
  checkpoints.makeRoom();
  await expect.poll(() => modes.length).toBeGreaterThan(2);
  expect(modes).not.toContain('TRUNCATE');
  result = [0, 1, 1];
  await expect.poll(() => last()).toBeNull();
  expect(modes.slice(-2)).toEqual(['PASSIVE', 'TRUNCATE']);
  await write(31);
  expect(modes.at(-1)).toBe('PASSIVE');
});

test('a failed checkpoint is reported and retried; beyond the bound, writes are refused until one succeeds', async () => {
  result = new DatabaseFault('disk', 'disk I/O error');
  checkpoints.countWrites(11);
  await expect.poll(() => modes.length).toBeGreaterThan(3);
  expect(last()).toMatchObject({ severity: 'warning', message: expect.stringMatching(/grows: disk I\/O error/) });
  expect(checkpoints.refusal).toBeNull();
  truncateSync(log, 2001);
  await expect.poll(() => last()?.severity).toBe('failing');
  expect(checkpoints.refusal).toMatchObject({ kind: 'unavailable' });
  result = [0, 0, 0];
  await expect.poll(() => checkpoints.refusal).toBeNull();
  expect(last()).toBeNull();
});

test('a log that cannot shrink because of a reader is reported, and no write is refused', async () => {
  truncateSync(log, 5000);
  result = [1, 101, 0];
  checkpoints.countWrites(11);
  await expect.poll(() => modes.length).toBeGreaterThan(3);
  expect(reported).toEqual([]); // a long read of this server may hold it back
  await expect.poll(() => last()?.message).toMatch(/another connection holds a read transaction open/);
  expect(last()?.severity).toBe('warning');
  checkpoints.countWrites(11);
  expect(checkpoints.refusal).toBeNull();
});
