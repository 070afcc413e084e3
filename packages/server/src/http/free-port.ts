import { createServer } from 'node:net';

/**
 * Checks that nothing listens on a port. Servers that share a port among their threads would otherwise also share it
 * with another server that does.
 *
 * @throws Error `EADDRINUSE`, or another error that listening would have.
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer().once('error', reject);
  server.listen({ host, port }, () => server.close(() => resolve()));
  return promise;
}
