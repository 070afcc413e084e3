import { fileURLToPath } from 'node:url';

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Programs of servers in processes of their own, which tests kill. */
export const serverProgram = {
  /** Prepare Node for programs that import sources of the server: they start with two thirds of the processor time. */
  flags: ['--import', new URL('../../bin/tablinum.js', import.meta.url).href],
  source: pathOf('server-process-main.ts'),
  /** Where the global setup bundles the source, as `tablinum start` is bundled. */
  folder: pathOf('../../dist-test'),
  bundled: pathOf('../../dist-test/server-process-main.js'),
} as const;
