import type { ChildProcess } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { BackupSource } from '../../base/backup-config.ts';
import type { BackupProcessMessage, BackupProgress, BackupTask } from '../../database/backup-task.ts';

/** Maximum heap size of the process, in megabytes. Data is streamed, so it does not depend on the size of the backup. */
const heapMegabytes = 256;

export interface TaskControl {
  /** When it is aborted, the process ends. Files that it has written stay. */
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: BackupProgress) => void;
}

/** Runs a task in a process of lower priority. @throws Error of the task, with a message for administrators. */
export async function runBackupTask(
  source: BackupSource,
  task: BackupTask,
  { signal, onProgress }: TaskControl,
): Promise<void> {
  const { fork } = await import('node:child_process');
  signal.throwIfAborted();
  const cache = getCompileCacheDir();
  const child = fork(fileURLToPath(new URL('../../backup-process.ts', import.meta.url)), [], {
    serialization: 'advanced',
    execArgv: [`--max-old-space-size=${heapMegabytes}`],
    env: { ...process.env, ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  // Immediately: on Linux, a new thread inherits the priority of the thread that creates it.
  if (!isUrgent(task)) lowerPriority(child);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const end = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', end);
  let outcome: BackupProcessMessage | null = null;
  child.on('message', (message: BackupProcessMessage) => {
    if (message.kind === 'progress') onProgress?.(message.progress);
    else outcome = message;
  });
  child.on('error', reject);
  child.on('exit', () => {
    if (outcome?.kind === 'done') resolve();
    else if (outcome?.kind === 'failed') reject(new Error(outcome.problem));
    else reject(new Error(signal.aborted ? 'The server was stopped.' : 'The backup process ended unexpectedly.'));
  });
  child.send({ source, task }, (error) => {
    if (error) end(); // then the event "exit" follows
  });
  await promise.finally(() => signal.removeEventListener('abort', end));
}

/** An application is stopped until what a restore replaces has been saved, and until a move is complete. */
function isUrgent(task: BackupTask): boolean {
  return task.kind === 'completeMove' || (task.kind === 'save' && task.request.reason === 'restore');
}

/** Gives requests priority over the process, which still gets about a tenth of a processor that is always busy. */
function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // the process has ended, or the system does not allow it
  }
}
