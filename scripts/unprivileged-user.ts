import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';

/** A user and its group of the operating system. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user as whom a server that refuses to run as root must be started.
 *
 * @param names users to try, in this order.
 * @returns undefined if this process does not run as root, so that no change of user is needed; null if it runs as root
 *   and none of the users exists.
 */
export function findUnprivilegedUser(names: readonly string[]): SystemUser | null | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of names) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {}
  }
  return null;
}

/** A TCP port of 127.0.0.1 on which nothing listens. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
