import type { Database } from './database.ts';

/** Sets what the store has already, through the same steps as any write: transaction, commit, wait for the disk. */
const sameVersion = { text: 'PRAGMA user_version=1', values: [] };
const readOnly = { text: "SELECT current_setting('transaction_read_only')", values: [] };

/**
 * Finds out whether a store can be written. On a shared engine nothing is written: it answers, and it is neither a standby
 * nor set to be read only.
 *
 * @returns why it cannot be written, or null.
 * @throws DatabaseFault as any other write.
 */
export async function probeWrite(database: Database): Promise<string | null> {
  if (!database.dialect.shared) {
    await database.write((transaction) => transaction.run(sameVersion));
    return null;
  }
  const [rows] = await database.read([readOnly]);
  return rows![0]![0] === 'on'
    ? 'The database is read only: it is a standby, or default_transaction_read_only is on.'
    : null;
}
