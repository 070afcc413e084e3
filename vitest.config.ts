import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';
import { memoryFolder } from './scripts/memory-folder.ts';
import { SlowestFiles } from './scripts/slowest-files.ts';

/** Extensions of tests lie anywhere; the server itself finds this by a hook of Node's, which Vitest passes by. */
const extension = fileURLToPath(new URL('packages/server/src/extensions/extension.ts', import.meta.url));

/** Stores of the tests and their PostgreSQL; servers in processes of their own and the browser inherit it. */
const temporaryFolder = memoryFolder();
if (temporaryFolder !== null) process.env['TMPDIR'] ??= temporaryFolder;

/**
 * What `npm run test:quick` leaves out beside PostgreSQL: what drives a browser, kills servers, sends floods, or plays
 * random programs.
 */
const isQuick = process.env['TEST_QUICK'] !== undefined;
const long = [
  'packages/server/test/contract/**',
  'packages/server/test/hostile/**',
  'packages/server/test/mail/safe-html-browser.test.ts',
  'packages/web/test/{access,connection,details,grid-editing,hostile,inbox*,relations,states,story}.test.ts',
];

export default defineConfig({
  resolve: { alias: { '@tablinum/server/extension': extension } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    exclude: isQuick ? long : [],
    globalSetup: ['packages/server/test/support/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // One more than processors: workers wait for PostgreSQL, the browser and their own servers a good part of the time.
    maxWorkers: Math.min(4, availableParallelism() + 1),
    // A worker keeps the loaded and compiled sources for its next file: a third of the processor time of a file was loading them.
    isolate: false,
    reporters: ['default', new SlowestFiles()],
    sequence: { sequencer: LongestFirst },
    expect: { poll: { timeout: 30_000 } },
  },
});
