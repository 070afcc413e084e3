import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Problem } from '../../base/server-health.ts';
import { DatabaseFault, type Row } from '../database.ts';
import { type CheckpointMode, Checkpoints } from './checkpoints.ts';

const bounds = {
  statements: 10,
  blockingBytes: 1000,
  maxLogBytes: 2000,
  firstRetryMilliseconds: 1,
  maxRetryMilliseconds: 4,
};
let folder: string;
let log: string;
let result: Row | Error;
let modes: CheckpointMode[];
let reported: (Problem | null)[];
let checkpoints: Checkpoints;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tablinum-log-'));
  log = join(folder, 'log');
  writeFileSync(log, '');
  [result, modes, reported] = [[0, 0, 0], [], []];
  const run = async (mode: CheckpointMode): Promise<Row> => {
    modes.push(mode);
    if (result instanceof Error) throw result;
    return result;
  };
  const report = (problem: Problem | null): void => void reported.push(problem);
  checkpoints = new Checkpoints({ logPath: log, run, report, bounds });
});
afterEach(() => {
  checkpoints.close();
  rmSync(folder, { recursive: true });
});
const last = (): Problem | null | undefined => reported.at(-1);

test('a checkpoint runs after a number of statements, and delays writes only if the log is long', async () => {
  checkpoints.countWrites(10);
  expect(modes).toEqual([]);
  checkpoints.countWrites(1);
  await expect.poll(() => reported).toEqual([null]);
  truncateSync(log, 1001);
  checkpoints.countWrites(11);
  await expect.poll(() => modes).toEqual(['PASSIVE', 'RESTART']);
  expect(checkpoints.refusal).toBeNull();
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
  result = [1, 5, 0];
  checkpoints.countWrites(11);
  await expect.poll(() => last()?.message).toMatch(/another connection holds a read transaction open/);
  expect(last()?.severity).toBe('warning');
  checkpoints.countWrites(11);
  expect(checkpoints.refusal).toBeNull();
});
