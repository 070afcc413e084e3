import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, the longest first: if one of them began last, the run would be longer by its whole
 * duration.
 */
const longest = [
  'hostile/permission-bypass',
  'contract/packaging',
  'api/backup-bucket',
  'contract/mail-scale',
  'api/backups',
  'contract/move-to-server',
  'web/test/page-states',
  'web/test/access',
  'web/test/mail-journey',
  'contract/engine-equivalence',
  'web/test/inbox-accounts',
  'contract/restore',
  'contract/backup-crash',
  'contract/move',
  'contract/expensive-requests',
  'contract/mail-authenticity',
  'hostile/realtime-limits',
  'contract/import-jobs',
  'contract/audit-chain',
  'mail/sync/hostile-values',
  'contract/first-requests',
  'web/test/grid-paste',
  'api/application-states',
  'contract/realtime-load',
  'contract/read-oracle',
  'web/test/inbox',
  'web/test/inbox-team',
  'web/test/mail-sync',
  'contract/streams',
  'web/test/inbox-writing',
  'web/test/inbox-reading',
  'web/test/inbox-compose',
  'contract/schema-scale',
  'contract/mail-delivery-crash',
  'web/test/user-journey',
  'contract/reader-threads',
  'contract/sign-in-flood',
  'web/test/mail-authenticity',
  'web/test/details',
  'web/test/mail-account-states',
  'web/test/hostile-text',
  'web/test/imports',
  'contract/webhooks',
  'contract/file-storage-outage',
  'web/test/grid-editing',
  'contract/mail-campaigns-crash',
  'contract/mail-corpus',
  'contract/mail-command-conflicts',
  'hostile/flood',
  'contract/export-streams',
  'contract/changes-under-load',
  'mail/sync/hostile-server',
  'mail/sync/mailbox-changes',
  'mail/sync/notify',
  'api/openapi',
  'mail/sync/headers-first-faults',
  'web/test/mail-campaigns',
  'api/mail-campaigns',
  'mail/sync/headers-first-changes',
];

/** The order in which test files begin. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = longest.length;
    const place = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((name) => moduleId.endsWith(`${name}.test.ts`));
      return found < 0 ? others : found;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}
