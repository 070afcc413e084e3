/** Brings the store of an application from an earlier version of the server to that of this one. */
import { StartFailure } from '../base/start-failure.ts';
import { addCatalogueTables, findMissingCatalogueTables, readStoreVersion } from '../database/catalogue.ts';
import type { Database, Transaction } from '../database/database.ts';
import { insertMigration } from '../database/migration-rows.ts';
import type { Migration } from './migration.ts';

/** What a store lacks. */
export interface UpgradePlan {
  /** The version of the store; 0: it is from before migrations were recorded. */
  readonly from: number;
  /** The version of this server. */
  readonly to: number;
  readonly migrations: readonly Migration[];
  /** Tables of the catalogue that are added. */
  readonly tables: readonly string[];
}

/**
 * Compares a store with what this server expects. Reads only.
 *
 * @param application its name, for the message.
 * @throws StartFailure if a newer version of the server has written the store.
 */
export async function planUpgrade(
  database: Database,
  application: string,
  all: readonly Migration[],
): Promise<UpgradePlan> {
  const tables = await findMissingCatalogueTables(database);
  const from = tables.includes('_migrations') ? 0 : await readStoreVersion(database);
  const to = all.at(-1)?.number ?? 0;
  if (from > to)
    throw new StartFailure(
      `The data of the application "${application}" was written by a newer version of the server: its store has version ${from}, and this server knows versions up to ${to}. Start the newer version again, or restore a backup from before the upgrade. Nothing was changed.`,
    );
  return { from, to, migrations: all.filter(({ number }) => number > from), tables };
}

/**
 * Carries out a plan. Each migration is a transaction of its own, so an upgrade that was interrupted continues with the
 * first migration that is missing. Call it with the startup lock of the store.
 *
 * @param at ISO 8601.
 */
export async function upgradeStore(database: Database, { migrations, tables }: UpgradePlan, at: string): Promise<void> {
  if (tables.length > 0) await database.write((transaction) => addCatalogueTables(database, transaction, tables));
  for (const migration of migrations)
    await database.write(async (transaction) => {
      await migration.run?.(database, transaction);
      await insertMigration(database, transaction, migration, at);
    });
}

/** Notes in a new store that it needs no migration. @param at ISO 8601. */
export async function recordAll(
  database: Database,
  transaction: Transaction,
  all: readonly Migration[],
  at: string,
): Promise<void> {
  for (const migration of all) await insertMigration(database, transaction, migration, at);
}
