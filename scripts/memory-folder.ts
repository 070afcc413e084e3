import { statfsSync } from 'node:fs';
import { freemem } from 'node:os';

const folder = '/dev/shm';
/** In bytes: twice what the files of a whole run of the tests take at the same time. */
const minSpace = 3 * 2 ** 30;

/**
 * A folder that the system keeps in memory, for files that need not outlive a run: nothing waits for the disk there.
 *
 * @returns null where there is none, or where the folder or the memory behind it has too little space.
 */
export function memoryFolder(): string | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return Math.min(bavail * bsize, freemem()) >= minSpace ? folder : null;
  } catch {
    return null; // not Linux
  }
}
