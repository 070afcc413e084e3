import { Worker } from 'node:worker_threads';
import type { BackupSource } from '../../base/backup-config.ts';
import type { BackupProgress, BackupTask } from '../../database/backup-task.ts';

/** Memory of the heap of the thread. Data is streamed, so it does not depend on the size of the backup. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 };

type Message = { readonly kind: 'progress'; readonly progress: BackupProgress } | { readonly kind: 'done' };

export interface TaskControl {
  /** When it is aborted, the thread ends. Files that it has written stay. */
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: BackupProgress) => void;
}

/** Runs a task in its own thread. @throws Error of the task, with a message for administrators. */
export async function runBackupTask(
  source: BackupSource,
  task: BackupTask,
  { signal, onProgress }: TaskControl,
): Promise<void> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('../../backup-thread.ts', import.meta.url), {
    workerData: { source, task },
    resourceLimits,
    name: 'backup',
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isDone = false;
  const end = (): void => void worker.terminate();
  signal.addEventListener('abort', end);
  worker.on('message', (message: Message) => {
    if (message.kind === 'done') isDone = true;
    else onProgress?.(message.progress);
  });
  worker.on('error', reject);
  worker.on('exit', () => {
    if (isDone) resolve();
    else reject(signal.aborted ? new Error('The server was stopped.') : new Error('The thread of the backup ended.'));
  });
  await promise.finally(() => signal.removeEventListener('abort', end));
}
