/**
 * A process that executes one {@link BackupTask}, so that reading, copying and hashing a backup does not delay requests. The server gives it
 * a low priority. A thread could not have one, because databases and files are copied in the thread pool that all threads share.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createStore, removeStorePart, saveBackup, uploadBackup } from './backup-work.ts';
import type { BackupSource } from './base/backup-config.ts';
import type { BackupProcessMessage, BackupProgress, BackupTask, SaveRequest } from './database/backup-task.ts';

interface ProcessRequest {
  readonly task: BackupTask;
  readonly source: BackupSource;
}

const progressMilliseconds = 1000;

// The server has ended: nothing waits for the result, and another server may undo the work.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// Supervisors send these signals to all processes of a service. The server itself ends this process.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
process.once('message', (request: ProcessRequest) => void answer(request));

const send = (message: BackupProcessMessage, onSent = (): void => {}): void => void process.send?.(message, onSent);

async function answer(request: ProcessRequest): Promise<void> {
  const outcome = await run(request).then(
    (): BackupProcessMessage => ({ kind: 'done' }),
    (error: unknown): BackupProcessMessage => ({ kind: 'failed', problem: describe(error) }),
  );
  send(outcome, () => process.exit());
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function run({ task, source }: ProcessRequest): Promise<void> {
  if (task.kind === 'createStore') await createStore(source, task.request);
  else if (task.kind === 'removeStorePart') await removeStorePart(source, task.store);
  else if (task.kind === 'prepareMain')
    await (await import('./main-restore-work.ts')).prepareMain(source, task.request);
  else if (task.kind === 'removeMainPart') await (await import('./main-restore-work.ts')).removeMainPart(source);
  else if (task.kind === 'completeMove') await (await import('./move-work.ts')).completeMove(source, task.request);
  else if (task.kind === 'copyToNode') await (await import('./move-work.ts')).copyToOtherNode(source, task.move);
  else if (task.kind === 'upload') await uploadBackup(source, task.request);
  else await save(source, task.request);
}

async function save(source: BackupSource, request: SaveRequest): Promise<void> {
  let applications = { done: 0, total: 1 };
  let stored: Pick<BackupProgress, 'bytes' | 'storedBytes'> | null = null;
  let isMeasuring = false;
  const report = async (): Promise<void> => {
    if (isMeasuring) return;
    isMeasuring = true;
    const written = stored ?? { bytes: await measure(`${request.folder}.part`), storedBytes: null };
    const progress: BackupProgress = { ...applications, ...written };
    send({ kind: 'progress', progress });
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

/**
 * The total size of the files in a folder that is being filled. Uploads and e-mails, which are many small files, are
 * not counted.
 */
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
