/** The target of `tablinum move` if `--to` is a URL: another server, which receives the copy over HTTP. */
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { UsageError } from './cli-commands.ts';
import type { MoveDestination } from './cli-move-locations.ts';
import { connectServer, type OperatorConnection, OperatorRefusal, readFailure } from './cli-operator.ts';
import { storeVersion } from './database/catalogue.ts';
import type { MoveStep } from './transfer/move/move-protocol.ts';
import { type MoveChannel, RemoteCopyTarget } from './transfer/move/remote-target.ts';

export interface RemoteServer {
  readonly location: MoveDestination;
  readonly operator: OperatorConnection;
}

const tokenName = 'TABLINUM_TO_TOKEN';
/** How long one step may take. */
const stepMilliseconds = 600_000;
/** Refusals with a `Retry-After`, such as those of a server that is restarting, are retried for this long. */
const retryMilliseconds = 60_000;
const maxWaitSeconds = 10;
const loopbackHost = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export const isServerAddress = (to: string): boolean => /^https?:/i.test(to);

/** @throws UsageError if the address is not usable, or the token is missing. */
export function openServer(address: string, token: string | undefined): RemoteServer {
  const url = readAddress(address);
  if (!token)
    throw new UsageError(
      `Set ${tokenName} to an API key with the role "admin" in the application "main" of ${url}. "tablinum key create" creates one there.`,
    );
  const operator = connectServer({ url, token }, 'main');
  const channelOf = (application: string, move: string, milliseconds = stepMilliseconds): MoveChannel =>
    createChannel({ url, token, application, move, milliseconds });
  return {
    operator,
    location: {
      name: url,
      findStore: async (application) => {
        const found = (await operator.call('applications:list', { filter: { name: application } })) as unknown[];
        return found.length === 0 ? null : application;
      },
      check: async (application, move) => {
        await channelOf(application, move).send('check', { store: storeVersion });
      },
      openCopy: async (application, move) => new RemoteCopyTarget(channelOf(application, move)),
      replace: async (application, move, milliseconds) => {
        await channelOf(application, move, milliseconds).send('place', {});
      },
    },
  };
}

/** @throws UsageError */
function readAddress(address: string): string {
  const url = URL.parse(address);
  if (url?.search !== '' || url.hash !== '')
    throw new UsageError('--to must be the address of the other server, such as https://data.example.com.');
  if (url.username !== '' || url.password !== '')
    throw new UsageError(`--to must not contain a password. Set ${tokenName}.`);
  if (url.protocol === 'http:' && !loopbackHost.test(url.hostname))
    throw new UsageError(
      '--to must begin with https://, because the data and the token would be readable on the way. http:// is only possible on this machine.',
    );
  return url.href.replace(/\/+$/, '');
}

interface ChannelParts {
  readonly url: string;
  readonly token: string;
  readonly application: string;
  readonly move: string;
  /** How long one step may take. */
  readonly milliseconds: number;
}

function createChannel(parts: ChannelParts): MoveChannel {
  const closing = new AbortController();
  const { signal } = closing;
  return {
    send: async (step, message) => {
      const body = Buffer.from(JSON.stringify(message));
      return (await sendStep(parts, { parameters: { step }, openBody: () => body, signal })) as never;
    },
    sendBytes: async (step, openBody, parameters) => {
      await sendStep(parts, { parameters: { ...parameters, step }, openBody, signal });
    },
    close: () => closing.abort(),
  };
}

interface SentStep {
  readonly parameters: Readonly<Record<string, string>> & { readonly step: MoveStep };
  readonly openBody: () => Buffer | Readable;
  readonly signal: AbortSignal;
}

/** @throws Error with a message for the operator. */
async function sendStep(parts: ChannelParts, { parameters, openBody, signal }: SentStep): Promise<unknown> {
  const { url, application, move, milliseconds } = parts;
  const query = new URLSearchParams({ filterByTk: application, move, ...parameters }).toString();
  const deadline = performance.now() + Math.min(milliseconds, retryMilliseconds);
  for (;;) {
    const timed = AbortSignal.any([signal, AbortSignal.timeout(milliseconds)]);
    const reply = await fetch(`${url}/api/applications:receive?${query}`, {
      ...toRequest(parts, openBody()),
      signal: timed,
    })
      .then(async (found) => ({
        ok: found.ok,
        status: found.status,
        headers: found.headers,
        text: await found.text(),
      }))
      .catch((error: unknown) => {
        throw readFailure(url, error);
      });
    if (reply.ok) return (JSON.parse(reply.text) as { data: unknown }).data;
    const wait = 1000 * Math.min(maxWaitSeconds, Number(reply.headers.get('retry-after') ?? 0));
    if (!(wait > 0) || performance.now() + wait > deadline) throw describeRefusal(url, reply.status, reply.text);
    await pause(wait, undefined, { signal });
  }
}

function toRequest({ token }: ChannelParts, body: Buffer | Readable): RequestInit {
  return {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream', 'x-app': 'main' },
    redirect: 'manual' as const,
    ...(Buffer.isBuffer(body)
      ? { body: new Uint8Array(body) }
      : { body: Readable.toWeb(body) as ReadableStream, duplex: 'half' as const }),
  } satisfies RequestInit;
}

function describeRefusal(url: string, status: number, text: string): OperatorRefusal {
  const { code, message } = readReply(text);
  if (code === 'ROUTE_UNKNOWN')
    return new OperatorRefusal(
      `${url} cannot receive applications. Check the path in the address; if it is right, upgrade that server.`,
      {},
      status,
    );
  if (message !== undefined) return new OperatorRefusal(`${url} refused: ${message}`, {}, status);
  const cure =
    status === 413 ? ' A proxy limits the length of bodies: permit 256 MB for /api/applications:receive.' : '';
  return new OperatorRefusal(
    `The reply of ${url} with the status ${status} is not one of a Tablinum server.${cure}`,
    {},
    status,
  );
}

function readReply(text: string): { readonly code?: string; readonly message?: string } {
  try {
    return JSON.parse(text) as { code?: string; message?: string };
  } catch {
    return {};
  }
}
