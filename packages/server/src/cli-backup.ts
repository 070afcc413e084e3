/** `tablinum backup <folder>`: copies `DATA_DIR` while the server runs, or while it does not. */
import type { Config } from './base/config.ts';

const usage = 'Usage: tablinum backup <folder>. Set DATA_DIR to the folder of the server. <folder> must not exist yet.';

/** Runs `tablinum backup`. @throws Error with a message for the operator. */
export async function runBackupCommand(args: readonly string[], config: Config): Promise<void> {
  const [folder, ...extraArgs] = args;
  if (folder === undefined || folder.startsWith('-') || extraArgs.length > 0) throw new Error(usage);
  if (config.databaseUrl !== null)
    throw new Error(
      `DATABASE_URL is set: this server keeps its data in PostgreSQL. Back that up with pg_dump, and mail-secret.key of DATA_DIR where MAIL_SECRET_KEY is not set.${describeBucket(config)}`,
    );
  const { backupFolder } = await import('./database/sqlite/backup-folder.ts');
  const { databases, files } = await backupFolder(config.dataDir, folder);
  for (const { path, bytes } of databases) console.log(`${path} ${(bytes / 1024 / 1024).toFixed(1)} MB`);
  console.log(
    `The backup in ${folder} is complete: ${databases.length} databases, ${files} other files.${describeBucket(config)}`,
  );
}

/** What the backup lacks. Files that are no longer used stay in the bucket for at least a day, so that it may be copied later. */
function describeBucket({ s3 }: Config): string {
  if (s3 === null) return '';
  return ` The bytes of files and e-mails are not in it: they are in the bucket "${s3.bucket}" (FILES_S3_BUCKET). Copy the bucket within a day after this backup; a restore needs both.`;
}
