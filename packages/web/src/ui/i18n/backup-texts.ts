/** The texts of the page of backups, a separate chunk. A further language needs an entry here. */
import { backups } from './en/backups.ts';
import { useTexts } from './texts.tsx';

export type BackupTexts = typeof backups;

const languages: Readonly<Record<string, BackupTexts>> = { en: backups };

export function useBackupTexts(): BackupTexts {
  return languages[useTexts().language] ?? backups;
}
