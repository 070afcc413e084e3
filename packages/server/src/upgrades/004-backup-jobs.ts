import type { Migration } from './migration.ts';

export const backupJobs: Migration = { number: 4, title: 'the list of backups that the server makes' };
