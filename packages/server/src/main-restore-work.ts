/** The preparation of a restore of `main`, on either engine. The backup process calls it. */
import { findSavedApplication, isOfStore, openBackup, withBackup } from './backup-work.ts';
import type { BackupSource } from './base/backup-config.ts';
import { checkFiles } from './database/backup-manifest.ts';
import type { NewMainRequest } from './database/backup-task.ts';
import { findLocations, mainStoreName, schemaName } from './open-stores.ts';

const mainSchema = schemaName(mainStoreName);

/** Writes `main` of a backup next to the present data. @throws UnusableBackup */
export async function prepareMain(source: BackupSource, request: NewMainRequest): Promise<void> {
  const { folder, application: name, identities, epoch } = request;
  const { dataDir, databaseUrl: url } = source;
  await withBackup(source, request, () =>
    openBackup(folder, { source, identities, only: name }, async (plain, manifest) => {
      const application = findSavedApplication(manifest, name);
      if (url === null) {
        const { prepareMainFiles } = await import('./database/sqlite/restore-main.ts');
        const options = { folder: plain, manifest, application, store: mainStoreName, isCopy: false, epoch };
        return prepareMainFiles(options, dataDir);
      }
      const { prepareMainSchema } = await import('./database/postgres/restore-main.ts');
      const { url: address, budget } = await (await findLocations(source, url)).find(mainSchema);
      const own = manifest.files.filter(({ path }) => isOfStore(path, application.store));
      await checkFiles(plain, { ...manifest, files: own });
      const target = { saved: application.store, schema: mainSchema, epoch };
      await prepareMainSchema({ url: address, budget, folder: plain, manifest }, target);
    }),
  );
}

/** Removes what {@link prepareMain} has written, unless it has taken effect. */
export async function removeMainPart(source: BackupSource): Promise<void> {
  const { dataDir, databaseUrl: url } = source;
  if (url === null) {
    const { removeMainFiles } = await import('./database/sqlite/restore-main.ts');
    return removeMainFiles(dataDir);
  }
  const { removeMainSchema } = await import('./database/postgres/restore-main.ts');
  const { url: address, budget } = await (await findLocations(source, url)).find(mainSchema);
  await removeMainSchema(address, mainSchema, budget);
}
