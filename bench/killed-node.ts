/** A node of a cluster that is killed and started again. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const downMilliseconds = 2000;
const maxStartAttempts = 30;
/** PostgreSQL syncs each file that has changed since its last checkpoint; an application has about 500. */
const maxRecoverySeconds = '300';

/** Kills the PostgreSQL of a node, and starts it again after two seconds. @param folder its data. @throws Error if it does not start. */
export async function killNode(folder: string): Promise<void> {
  const pid = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  process.kill(pid, 'SIGKILL');
  await pause(downMilliseconds);
  const start = ['-D', folder, '-l', join(folder, '..', 'log-bench'), '-w', '-t', maxRecoverySeconds, 'start'];
  const { uid } = statSync(folder);
  // Libpq looks for certificates in the home folder, which must be readable.
  const options = { uid, cwd: '/', stdio: 'ignore', env: { HOME: folder } } as const;
  // The other processes of the killed server may still be ending.
  for (let attempt = 1; ; attempt += 1)
    try {
      execFileSync('/usr/lib/postgresql/15/bin/pg_ctl', start, options);
      return;
    } catch (error) {
      if (attempt === maxStartAttempts) throw error;
      await pause(1000);
    }
}
