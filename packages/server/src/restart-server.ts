/** Starts a server again in the same process, because `main` is restored. Meanwhile, requests get 503 with `Retry-After`. */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { Config } from './base/config.ts';
import type { Logger } from './base/logger.ts';
import type { ServerHealth } from './base/server-health.ts';
import { toErrorReply } from './http/error-reply.ts';
import { jsonContentType } from './http/json-reply.ts';
import { ApiError } from './protocol/api-error.ts';
import type { RestartableServer, ServerOptions, StartedServer } from './server.ts';

export interface RestartParts {
  readonly options: ServerOptions;
  readonly logger: Logger;
  readonly health: ServerHealth;
  readonly start: (config: Config) => Promise<StartedServer>;
  /** Is run while all stores are closed; null: another server replaces `main`. */
  readonly replaceMain: (() => Promise<void>) | null;
}

const retrySeconds = 2;

/** Stops a server and starts it again on the same port. `server.current` resolves when it is started. */
export function restartServer(server: RestartableServer, parts: RestartParts): void {
  const { logger, health } = parts;
  server.current = server.current.then(async (current) => {
    if (server.isStopped) return current;
    const next = await restart(current, parts);
    const { stop: _, ...members } = next;
    Object.assign(server, members);
    return next;
  });
  server.current.catch((error: unknown) => {
    logger.fatal({ err: error }, 'The server could not be started again.');
    // A supervisor starts the process again.
    health.set('restart', { severity: 'fatal', message: 'The server could not be started again.' });
  });
}

async function restart(current: StartedServer, parts: RestartParts): Promise<StartedServer> {
  const { logger, health, start, options, replaceMain } = parts;
  const port = Number(new URL(current.url).port);
  const meanwhile = createRefusing(logger);
  let failure: unknown = null;
  logger.warn('The server closes all stores and opens them again, because "main" is restored.');
  const storesClosed = async (): Promise<void> => {
    await replaceMain?.().catch((error: unknown) => {
      failure = error;
    });
  };
  const portFree = (): Promise<void> =>
    new Promise((resolve) => {
      for (const event of ['listening', 'error']) meanwhile.once(event, () => resolve());
      meanwhile.listen(port, options.config.host);
    });
  // A failure to close the stores cleanly has the effect of a crash, and does not prevent the restart.
  await current.stop({ portFree, storesClosed }).catch((error: unknown) => {
    logger.error({ err: error }, 'The server did not stop cleanly.');
  });
  if (failure !== null) logger.error({ err: failure }, '"main" could not be restored. Its present data is used.');
  await closeRefusing(meanwhile);
  for (const { source } of health.problems) health.set(source, null); // they belong to stores that are now closed
  const next = await start({ ...options.config, port });
  logger.info('The server is available again.');
  return next;
}

/** A server that refuses all requests. */
function createRefusing(logger: Logger): Server {
  const refusing = createServer((request, response) => {
    request.resume();
    const error = new ApiError('STOPPING', 'The application "main" is being restored. Try again.', {
      retryAfter: retrySeconds,
    });
    const { status, body, headers } = toErrorReply(error, randomUUID(), logger);
    response.writeHead(status, { ...headers, 'content-type': jsonContentType, 'cache-control': 'no-store' }).end(body);
  });
  // Without it, a port that is not free would end the process. Then clients cannot connect.
  refusing.on('error', (error) => logger.warn({ err: error }, 'Requests are not answered during the restart.'));
  return refusing;
}

async function closeRefusing(refusing: Server): Promise<void> {
  if (!refusing.listening) return;
  const closed = new Promise((resolve) => refusing.close(resolve));
  refusing.closeAllConnections();
  await closed;
}
