/**
 * `npm run test:citus`: runs the tests of both engines on a Citus cluster instead. Arguments are names of test files; without any, all that
 * describe an engine are run.
 *
 * TEST_CITUS_URL is the address of the coordinator, with a role that may create databases and extensions on all nodes. If it is not set,
 * nothing is tested, and a line says so.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** What concerns a plain database, or the files of a build. */
const excluded = /contract\/(image|packages|demo|restore|backup-schemas)\.test\.ts$/;

if (!process.env['TEST_CITUS_URL']) {
  console.log('The tests on Citus are skipped: TEST_CITUS_URL is not set to the address of a coordinator.');
} else {
  const given = process.argv.slice(2);
  const result = spawnSync('vitest', ['run', ...(given.length > 0 ? given : listFiles())], {
    cwd: root,
    stdio: 'inherit',
  });
  process.exitCode = result.status ?? 1;
}

function listFiles(): string[] {
  const folder = 'packages/server/test';
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => name.endsWith('.test.ts') && !excluded.test(name))
    .filter((name) => /support\/engines\.ts'/.test(readFileSync(join(root, name), 'utf8')));
}
