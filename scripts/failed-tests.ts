import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** Failed tests by file, such as `{ 'packages/web/test/inbox.test.ts': ['the inbox > is empty at first'] }`. */
export type FailuresByFile = Readonly<Record<string, readonly string[]>>;

/** The environment variable that names the file into which the failed tests of a run are written. */
export const failuresFileVariable = 'TEST_FAILURES_FILE';

/** Writes the failed tests of a run as JSON, see `failuresFileVariable`; nothing if errors belong to no test file. */
export class FailedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const file = process.env[failuresFileVariable];
    if (file === undefined || unhandledErrors.length > 0) return;
    const failed = modules.filter((module) => module.state() === 'failed');
    const failures: FailuresByFile = Object.fromEntries(
      failed.map((module) => [
        module.relativeModuleId,
        [...module.children.allTests('failed')].map(({ fullName }) => fullName),
      ]),
    );
    writeFileSync(file, JSON.stringify(failures));
  }
}
