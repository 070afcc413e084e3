import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, the longest first: one that began last would lengthen the run by all that it takes. */
const longest = [
  'contract/same-answers',
  'contract/streams',
  'hostile/second-path',
  'contract/schema-scale',
  'contract/hopeless-requests',
  'contract/audit-chain',
  'contract/webhooks',
  'contract/realtime-load',
  'contract/changes-under-load',
  'contract/sign-in-flood',
  'contract/event-sync',
  'contract/read-oracle',
  'api/application-states',
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
