import { limits } from '../protocol/limits.ts';

/** The settings of connections, the same in every thread. */
export const connectionSettings = {
  keepAliveTimeout: 65_000,
  headersTimeout: 60_000,
  requestTimeout: 0, // an upload may take long: bodies have limits of their own
  maxHeaderSize: limits.headerBytes,
} as const;
