import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Prints the tests that failed at first and passed when CI repeated them, so that they are corrected. */
export class FlakyTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const flaky = modules.flatMap((module) => [...module.children.allTests()].filter(isFlaky));
    if (flaky.length === 0) return;
    const lines = flaky.map((test) => `  ${test.module.relativeModuleId} > ${test.fullName}`);
    process.stdout.write(`\nFailed once, passed when repeated:\n${lines.join('\n')}\n`);
  }
}

const isFlaky = (test: TestCase): boolean => test.diagnostic()?.flaky ?? false;
