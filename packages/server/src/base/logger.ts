import { type Logger, pino } from 'pino';

export type { Logger };

/** JSON lines on standard output. Credentials are removed by the names of their properties. */
export function makeLogger(level: string): Logger {
  return pino({
    level,
    base: null,
    redact: { paths: ['*.password', '*.token', '*.authorization', 'req.headers.authorization'], censor: '[removed]' },
  });
}
