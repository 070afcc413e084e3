/**
 * How a command reaches the data: through the server that runs on the folder, or, if there is none, through a server that this process
 * starts for the command. Both ways are requests over HTTP on this machine, so every command passes the checks of any request.
 */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from './base/config.ts';
import { describeStartFailure } from './base/start-failure.ts';
import { hasProcessExited } from './database/sqlite/folder-lock.ts';

/** Sends actions as the operator. */
export interface OperatorConnection {
  /**
   * Runs an action by POST.
   *
   * @param parameters of the query string.
   * @param milliseconds the time limit; default: a minute.
   * @returns `data` of the reply.
   * @throws OperatorRefusal with the message of the refusal.
   */
  call(
    action: string,
    body: unknown,
    parameters?: Readonly<Record<string, string>>,
    milliseconds?: number,
  ): Promise<unknown>;
}

/** The server has refused an action. */
export class OperatorRefusal extends Error {
  /** The problems by their paths in the body; empty if the reply has none. */
  readonly details: Readonly<Record<string, string>>;
  /** Of the reply; null if there was none. */
  readonly status: number | null;

  constructor(message: string, details: Readonly<Record<string, string>> = {}, status: number | null = null) {
    super(message);
    this.details = details;
    this.status = status;
  }
}

interface Server {
  readonly url: string;
  readonly token: string;
}

/** The content of `operator.json`. */
interface OperatorFile extends Server {
  readonly pid: number;
  readonly host: string;
}

const requestMilliseconds = 60_000;

/** Runs work with a connection to the data of a configuration. @throws Error with a message for the operator. */
export async function withOperator<T>(
  config: Config,
  application: string,
  work: (connection: OperatorConnection) => Promise<T>,
): Promise<T> {
  const running = await findRunningServer(config.dataDir);
  if (running) return work(connectServer(running, application));
  const { startServer } = await import('./server.ts');
  const own = await startServer({ config: toCommandConfig(config), isForCommand: true }).catch((error: unknown) => {
    throw new Error(describeStartFailure(error));
  });
  try {
    return await work(connectServer({ url: own.url, token: own.operatorToken }, application));
  } finally {
    await own.stop();
  }
}

/**
 * The server of a folder, if this user may read its file and it replies. The file of a process that was killed stays; the token in it is
 * not sent, because another program may listen on its port now.
 */
export async function findRunningServer(dataDir: string): Promise<Server | null> {
  try {
    const server = JSON.parse(readFileSync(join(dataDir, 'operator.json'), 'utf8')) as OperatorFile;
    if (server.host !== hostname() || hasProcessExited(server.pid)) return null;
    const url = server.url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
    const reply = await fetch(`${url}/live`, { signal: AbortSignal.timeout(3000) });
    return reply.ok ? { url, token: server.token } : null;
  } catch {
    return null;
  }
}

/** A connection to `main` of the running server of a folder; null if none runs. */
export async function connectRunningServer(dataDir: string): Promise<OperatorConnection | null> {
  const running = await findRunningServer(dataDir);
  return running && connectServer(running, 'main');
}

/** A server for one command: it listens on this machine only, and sends and fetches nothing. */
function toCommandConfig(config: Config): Config {
  return {
    ...config,
    host: '127.0.0.1',
    port: 0,
    readers: config.databaseUrl === null ? 0 : config.readers,
    trustedProxies: null,
    webhooks: false,
    mailSync: false,
    mailDelivery: false,
    rootEmail: null,
    rootPassword: null,
    smtp: null,
    logLevel: 'silent',
  };
}

/** A connection to a server with its operator token, or with a credential that the server knows. */
export function connectServer({ url, token }: Server, application: string): OperatorConnection {
  return {
    call: async (action, body, parameters = {}, milliseconds = requestMilliseconds) => {
      const query = new URLSearchParams(parameters).toString();
      const { status, isDone, text } = await fetch(`${url}/api/${action}${query === '' ? '' : `?${query}`}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-app': application },
        body: JSON.stringify(body),
        redirect: 'manual',
        signal: AbortSignal.timeout(milliseconds),
      })
        .then(async (reply) => ({ status: reply.status, isDone: reply.ok, text: await reply.text() }))
        .catch((error: unknown) => {
          throw readFailure(url, error);
        });
      const { data, message, details } = readReply(url, status, text);
      if (!isDone)
        throw new OperatorRefusal(message ?? `The server replied with the status ${status}.`, details, status);
      return data;
    },
  };
}

interface ServerReply {
  readonly data?: unknown;
  readonly message?: string;
  readonly details?: Record<string, string>;
}

/** @throws OperatorRefusal if it is no reply of this API. */
function readReply(url: string, status: number, text: string): ServerReply {
  try {
    return JSON.parse(text) as ServerReply;
  } catch {
    throw new OperatorRefusal(
      `The reply of ${url} with the status ${status} is not one of a Tablinum server. Check the address.`,
      {},
      status,
    );
  }
}

/** Why no server replied, with a message for the operator. */
export function readFailure(url: string, error: unknown): Error {
  const { hostname, host } = new URL(url);
  const cause = (error as Error).cause as (Error & { code?: string }) | undefined;
  const code = cause?.code ?? '';
  const options = { cause: error };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new Error(`The host "${hostname}" is not known. Check the address.`, options);
  if (code === 'ECONNREFUSED')
    return new Error(`No server listens at ${host}. Check the address and the port.`, options);
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code))
    return new Error(
      `The certificate of ${host} is not valid: ${cause?.message}. If it is from your own authority, set NODE_EXTRA_CA_CERTS to the file of that authority.`,
      options,
    );
  if (code.startsWith('ERR_SSL') || code === 'EPROTO')
    return new Error(`${host} does not speak TLS. Check the address and the port.`, options);
  return new Error(`${host} cannot be reached: ${cause?.message ?? (error as Error).message}`, options);
}
