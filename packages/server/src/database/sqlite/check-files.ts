/** Whether database files are intact, for `tablinum doctor`. It changes nothing, and a server may use them meanwhile. */
import { DatabaseSync } from 'node:sqlite';

const waitMilliseconds = 5000;

/** Checks the structure of a file; whether indexes agree with their tables is not checked. @returns what is wrong; null: nothing. */
export function findFileProblem(path: string): string | null {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: waitMilliseconds });
    try {
      const result = String(Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0]);
      return result === 'ok' ? null : `${path} is damaged: ${result}`;
    } finally {
      database.close();
    }
  } catch (error) {
    return `${path} cannot be read: ${(error as Error).message}`;
  }
}
