import type { Reporter, TestModule } from 'vitest/node';

const shown = 10;

/** Prints the slowest test files at the end of a run, so that the duration of CI does not grow unnoticed. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= shown) return;
    const seconds = (module: TestModule): number => {
      const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } =
        module.diagnostic();
      return (collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration) / 1000;
    };
    const slowest = modules
      .map((module) => ({ name: module.relativeModuleId, seconds: seconds(module) }))
      .sort((one, other) => other.seconds - one.seconds)
      .slice(0, shown);
    const lines = slowest.map((each) => `${each.seconds.toFixed(1).padStart(8)} s  ${each.name}`);
    process.stdout.write(`\nThe ${shown} slowest test files:\n${lines.join('\n')}\n`);
  }
}
