import { UnusableBackup } from './backup-manifest.ts';

/**
 * @param saved the version of the tables in a backup, and @param present that of the server; null: it is not recorded.
 * @throws UnusableBackup if they differ: an upgrade that fails would keep the server from starting.
 */
export function requireSameVersion(saved: number | null, present: number | null): void {
  if (saved !== present)
    throw new UnusableBackup(
      `The backup has version ${saved ?? 0} of the tables of "main", and the server has version ${present ?? 0}. Stop the servers, and run "tablinum restore --replace all", which replaces all applications.`,
    );
}
