/** The parts of moves that the backup process executes: completing a received copy, and copying to another node of a cluster. */
import type { BackupSource } from './base/backup-config.ts';
import { openLocation } from './cli-move-locations.ts';
import type { CompleteMoveRequest } from './database/backup-task.ts';
import type { BegunMove } from './database/store-nodes.ts';
import { findLocations, schemaName } from './open-stores.ts';
import { LocalCopyTarget } from './transfer/move/local-target.ts';
import { planTables } from './transfer/move/plan-tables.ts';

/** Completes a received copy. @throws Error if a foreign key names a row that does not exist. */
export async function completeMove(source: BackupSource, { store, ...end }: CompleteMoveRequest): Promise<void> {
  const location = await openLocation({ ...source, s3: null });
  const opened = await location.openTarget(store);
  try {
    await new LocalCopyTarget(opened).complete(end, await planTables(opened.target, end.versions));
  } finally {
    await opened.close();
  }
}

/** Copies a store to another node. From then on, the copy follows the changes of the original. @throws Error */
export async function copyToOtherNode(source: BackupSource, move: BegunMove): Promise<void> {
  if (source.databaseUrl === null) throw new Error('DATABASE_URL is missing.');
  const { CitusNodes } = await import('./database/postgres/citus-nodes.ts');
  await new CitusNodes(await findLocations(source, source.databaseUrl), schemaName).copy(move);
}
