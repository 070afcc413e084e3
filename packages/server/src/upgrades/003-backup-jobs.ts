import type { Migration } from './migration.ts';

export const backupJobs: Migration = { number: 3, title: 'the list of backups that the server makes' };
