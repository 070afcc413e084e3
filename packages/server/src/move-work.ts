/** Completes a received copy on either engine. The backup process calls it. */
import type { BackupSource } from './base/backup-config.ts';
import { openLocation } from './cli-move-locations.ts';
import type { CompleteMoveRequest } from './database/backup-task.ts';
import { LocalCopyTarget } from './transfer/move/local-target.ts';
import { planTables } from './transfer/move/plan-tables.ts';

/** @throws Error if a row refers to none. */
export async function completeMove(source: BackupSource, { store, ...end }: CompleteMoveRequest): Promise<void> {
  const location = await openLocation({ ...source, s3: null });
  const opened = await location.openTarget(store);
  try {
    await new LocalCopyTarget(opened).complete(end, await planTables(opened.target, end.versions));
  } finally {
    await opened.close();
  }
}
