import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, the longest first: one that began last would lengthen the run by all that it takes. */
const longest = [
  'contract/same-answers',
  'hostile/second-path',
  'web/test/access',
  'contract/streams',
  'contract/schema-scale',
  'contract/hopeless-requests',
  'contract/audit-chain',
  'web/test/story',
  'web/test/inbox',
  'web/test/inbox-accounts',
  'web/test/states',
  'web/test/inbox-states',
  'web/test/hostile',
  'contract/webhooks',
  'contract/realtime-load',
  'contract/changes-under-load',
  'contract/sign-in-flood',
  'contract/event-sync',
  'contract/read-oracle',
  'api/application-states',
  'contract/mail-corpus',
  'mail/corpus',
  'hostile/mail-sight',
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
