import { type CopyNames, signCopiedJournal } from './applications/backups/restore-application.ts';
import { systemClock } from './base/clock.ts';
import { type Config, listAppKeys } from './base/config.ts';
import { makeLogger } from './base/logger.ts';
import { ServerHealth } from './base/server-health.ts';
import { findApplication } from './database/application-rows.ts';
import { mainStoreName, openStores } from './open-stores.ts';

/**
 * Signs the audit journal of a copy that `tablinum restore --as` has restored. If the command ends before that, the copy is complete, and
 * only `audit:verify` reports its journal as changed.
 *
 * @param config with the APP_KEY of the server.
 * @throws StartFailure if a server uses the data.
 */
export async function signRestoredJournal(names: CopyNames, config: Config): Promise<void> {
  const logger = makeLogger(config.logLevel);
  const health = new ServerHealth(logger, systemClock);
  const opened = await openStores({ config, clock: systemClock, logger, health, syncFile: undefined });
  try {
    const main = await opened.stores.open(mainStoreName, false);
    const row = await findApplication(main, names.copy).finally(() => main.close());
    if (!row) throw new Error(`internal error: the restored application ${names.copy} is not listed`);
    await signCopiedJournal(opened.stores, row.store, names, listAppKeys(config));
  } finally {
    await opened.release();
  }
}
