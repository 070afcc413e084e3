import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, the longest first: one that began last would lengthen the run by all that it takes. */
const longest = [
  'hostile/permission-bypass',
  'web/test/page-states',
  'contract/engine-equivalence',
  'web/test/access',
  'contract/expensive-requests',
  'web/test/inbox-accounts',
  'contract/audit-chain',
  'contract/schema-scale',
  'contract/mail-authenticity',
  'contract/streams',
  'contract/mail-delivery-crash',
  'hostile/realtime-limits',
  'contract/read-oracle',
  'contract/first-requests',
  'web/test/inbox',
  'web/test/inbox-actions',
  'web/test/user-journey',
  'contract/mail-scale',
  'contract/changes-under-load',
  'contract/event-sync',
  'contract/hidden-data',
  'api/application-states',
  'contract/sign-in-flood',
  'contract/webhooks',
  'contract/hostile-input',
  'contract/realtime-load',
  'contract/long-streams',
  'contract/two-nodes',
  'contract/random-requests',
  'web/test/hostile-text',
  'web/test/inbox-states',
  'contract/mail-corpus',
  'mail/corpus',
  'hostile/mail-visibility',
  'hostile/flood',
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
