/** A thread that carries out one {@link BackupTask}, so that the reads, copies and hashes of a backup do not delay requests. */
import { readdir, stat } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { createStore, removeStorePart, saveBackup, uploadBackup } from './backup-work.ts';
import type { BackupSource } from './base/backup-config.ts';
import type { BackupProgress, BackupTask, SaveRequest } from './database/backup-task.ts';

const progressMilliseconds = 1000;

if (!parentPort) throw new Error('This module is a thread of the server.');
const port = parentPort;
const { task, source } = workerData as { readonly task: BackupTask; readonly source: BackupSource };

// On Linux, this is the priority of the thread; elsewhere it would be that of the whole server.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);
await run();
port.postMessage({ kind: 'done' });

async function run(): Promise<void> {
  if (task.kind === 'createStore') await createStore(source, task.request);
  else if (task.kind === 'removeStorePart') await removeStorePart(source, task.store);
  else if (task.kind === 'upload') await uploadBackup(source, task.request);
  else await save(task.request);
}

async function save(request: SaveRequest): Promise<void> {
  let applications = { done: 0, total: 1 };
  let stored: Pick<BackupProgress, 'bytes' | 'storedBytes'> | null = null;
  let isMeasuring = false;
  const report = async (): Promise<void> => {
    if (isMeasuring) return;
    isMeasuring = true;
    const written = stored ?? { bytes: await measure(`${request.folder}.part`), storedBytes: null };
    const progress: BackupProgress = { ...applications, ...written };
    port.postMessage({ kind: 'progress', progress });
    isMeasuring = false;
  };
  const timer = setInterval(() => void report(), progressMilliseconds);
  const onProgress = (done: number, total: number): void => {
    applications = { done, total };
    void report();
  };
  const onStored = (storedBytes: number, bytes: number): void => {
    stored = { storedBytes, bytes };
  };
  await saveBackup(source, request, { onProgress, onStored }).finally(() => clearInterval(timer));
}

/** The bytes of the files in a folder that is being filled, without the many files of uploads and mail. */
async function measure(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += entry.name.endsWith('.files') ? 0 : await measure(path);
    else bytes += (await stat(path).catch(() => null))?.size ?? 0;
  }
  return bytes;
}
