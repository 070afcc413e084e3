import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, the longest first: one that began last would lengthen the run by all that it takes. */
const longest = [
  'hostile/second-path',
  'contract/same-answers',
  'web/test/states',
  'web/test/access',
  'contract/read-oracle',
  'contract/audit-chain',
  'contract/first-requests',
  'web/test/inbox',
  'web/test/inbox-accounts',
  'contract/schema-scale',
  'contract/hopeless-requests',
  'contract/streams',
  'web/test/story',
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
  'web/test/hostile',
  'web/test/inbox-states',
  'contract/mail-corpus',
  'mail/corpus',
  'hostile/mail-sight',
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
