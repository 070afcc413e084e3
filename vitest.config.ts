import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { defineConfig } from 'vitest/config';
import { threadAddress } from './packages/server/build.ts';
import { serverProgram } from './packages/server/test/support/server-program.ts';
import { FailedTests } from './scripts/failed-tests.ts';
import { LongestFirst } from './scripts/longest-first.ts';
import { memoryFolder } from './scripts/memory-folder.ts';
import { SlowestFiles } from './scripts/slowest-files.ts';

/** Extensions of tests lie anywhere; the server itself finds this by a hook of Node's, which Vitest passes by. */
const extension = fileURLToPath(new URL('packages/server/src/extensions/extension.ts', import.meta.url));

/** Stores of the tests and their PostgreSQL; servers in processes of their own and the browser inherit it. */
const temporaryFolder = memoryFolder();
if (temporaryFolder !== null) process.env['TMPDIR'] ??= temporaryFolder;

/** Compiled sources of the servers and threads that tests start: without them each start compiles the whole server anew. */
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

/** Threads and processes that servers in the process of a test start: from the bundle, as those of `tablinum start`. */
const bundledThreads = {
  name: 'bundled threads',
  enforce: 'pre',
  transform: (text: string, file: string): string | null =>
    file.includes('/packages/server/src/') && !file.endsWith('.test.ts')
      ? text.replaceAll(
          threadAddress,
          (_, address: string) =>
            `new URL('${pathToFileURL(join(serverProgram.folder, `${basename(address)}.js`)).href}')`,
        )
      : null,
} as const;

const isQuick = process.env['TEST_QUICK'] !== undefined;
/**
 * The tests that `npm run test:quick` leaves out, in addition to PostgreSQL: those that drive a browser, start other
 * servers (such as Dovecot), kill servers, send floods, run random programs, or parse very large mail files.
 */
const long = [
  'packages/server/test/contract/**',
  'packages/server/test/hostile/**',
  'packages/server/test/mail/{mail-servers,mbox-dialects,parse-pool,safe-html-browser}.test.ts',
  'packages/server/test/mail/sync/**',
  'packages/web/test/{access,connection-loss,details,firefox,grid-editing,hostile-text,inbox*,page-states,relations,settings,user-journey}.test.ts',
];

export default defineConfig({
  plugins: [bundledThreads],
  resolve: { alias: { '@tablinum/server/extension': extension } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    exclude: isQuick ? long : [],
    globalSetup: ['packages/server/test/support/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two more than processors: workers wait for PostgreSQL, the browser and their own servers a good part of the time.
    maxWorkers: Math.min(4, availableParallelism() + 2),
    // A worker keeps the loaded and compiled sources for its next file: a third of the processor time of a file was loading them.
    isolate: false,
    // Workers have heaps of some hundred MB, mostly loaded sources. By default, V8 marks them again for each 64 MB outside of the heap.
    execArgv: [
      '--external-memory-accounted-in-global-limit',
      '--heap-growing-percent=100',
      '--min-semi-space-size=32',
      '--max-semi-space-size=64',
      // Most of what tests run is run a few times: compiled quickly, it takes about a twentieth less time than interpreted.
      '--always-sparkplug',
    ],
    reporters: ['default', new SlowestFiles(), new FailedTests()],
    sequence: { sequencer: LongestFirst },
    expect: { poll: { timeout: 30_000 } },
  },
});
