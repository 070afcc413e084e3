/**
 * Runs the tests. In CI, whose machines are of unknown speed, files in which a test failed run once more, whole and
 * with new servers, after all others; tests that only pass then are listed, so that they are corrected.
 *
 *     npm run test:only -- [options and filters of Vitest]
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type FailuresByFile, failuresFileVariable } from './failed-tests.ts';

/** If more files than this have failed, slow machines are not the cause. */
const mostRepeated = 3;

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const folder = mkdtempSync(join(tmpdir(), 'tablinum-test-run-'));
const failuresFile = join(folder, 'failures.json');

/** Runs Vitest and returns its exit status and the tests that failed. */
function runVitest(parameters: readonly string[]): { status: number; failures: FailuresByFile } {
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...parameters], {
    stdio: 'inherit',
    env: { ...process.env, [failuresFileVariable]: failuresFile },
  });
  const failures = existsSync(failuresFile) ? (JSON.parse(readFileSync(failuresFile, 'utf8')) as FailuresByFile) : {};
  rmSync(failuresFile, { force: true });
  return { status: status ?? 1, failures };
}

let { status, failures } = runVitest(process.argv.slice(2));
const files = Object.keys(failures);
if (status !== 0 && process.env['CI'] !== undefined && files.length > 0 && files.length <= mostRepeated) {
  console.log(`\nRepeated, because tests in them failed:\n${files.map((file) => `  ${file}`).join('\n')}\n`);
  ({ status } = runVitest(files));
  if (status === 0) {
    const tests = Object.entries(failures).flatMap(([file, names]) =>
      // Without names, the file itself could not be run.
      names.length === 0 ? [`  ${file}`] : names.map((name) => `  ${file} > ${name}`),
    );
    console.log(`\nFailed once, passed when repeated:\n${tests.join('\n')}`);
  }
}
rmSync(folder, { recursive: true });
process.exitCode = status;
