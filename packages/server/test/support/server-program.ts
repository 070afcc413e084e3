/** The program of a server in a process of its own. */
export const serverProgram = {
  /** Prepare Node as `tablinum start` does: the server starts with two thirds of the processor time. */
  flags: ['--import', new URL('../../bin/tablinum.js', import.meta.url).href],
  url: new URL('./server-process-main.ts', import.meta.url).href,
} as const;
