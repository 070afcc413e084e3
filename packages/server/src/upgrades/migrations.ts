/** All migrations, in their order. A change of what a store contains needs one: see `test/contract/store-upgrades.test.ts`. */
import { recordedMigrations } from './001-recorded-migrations.ts';
import { inboxWorkplace } from './002-inbox-workplace.ts';
import { storedSettings } from './003-stored-settings.ts';
import { backupJobs } from './004-backup-jobs.ts';
import { contactsMigration } from './005-contacts.ts';
import { schemaRevisions } from './006-schema-revisions.ts';
import { mergedContacts } from './007-merged-contacts.ts';
import type { Migration } from './migration.ts';

export const migrations: readonly Migration[] = [
  recordedMigrations,
  inboxWorkplace,
  storedSettings,
  backupJobs,
  contactsMigration,
  schemaRevisions,
  mergedContacts,
];
