import { fileURLToPath } from 'node:url';

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Programs of server processes that tests kill. */
export const serverProgram = {
  /** Options of Node for programs that import sources of the server: they need a third less processor time to start. */
  flags: ['--import', new URL('../../bin/tablinum.js', import.meta.url).href],
  source: pathOf('server-process-main.ts'),
  /** The folder in which the global setup bundles the source, like the bundle of `tablinum start`. */
  folder: pathOf('../../dist-test'),
  bundled: pathOf('../../dist-test/server-process-main.js'),
} as const;
