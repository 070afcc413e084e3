/** Priorities of threads, so that requests come before work that nobody waits for. */
import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

/** Leaves a third of the share of a thread with the normal priority, if both want the same core. */
const step = 5;

/**
 * Lowers the priority of the calling worker thread. On Linux each thread has one of its own; elsewhere nothing is changed,
 * since it would be that of the whole process.
 */
export function lowerThreadPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (thread > 0 && thread !== process.pid)
      setPriority(thread, Math.min(constants.priority.PRIORITY_LOW, getPriority(thread) + step));
  } catch {
    // Without /proc, or where a sandbox refuses: the thread keeps its priority.
  }
}
