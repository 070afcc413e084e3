import { limits } from '../protocol/limits.ts';

/** How long a connection may be idle. */
export const keepAliveMilliseconds = 65_000;
/** How long the headers of a request may take. */
export const headersMilliseconds = 60_000;

/** The settings of connections for a server of Node: those that the HTTP library sets too. */
export const connectionSettings = {
  keepAliveTimeout: keepAliveMilliseconds,
  headersTimeout: headersMilliseconds,
  requestTimeout: 0, // an upload may take long: bodies have limits of their own
  maxHeaderSize: limits.headerBytes,
} as const;
