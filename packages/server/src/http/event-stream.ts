/** Server-Sent Events (HTML standard, "Server-sent events"): one subscription as one endless reply. */
import { ApiError, booleanExpected } from '../protocol/api-error.ts';
import { parseJson } from '../protocol/json-text.ts';
import { type CloseReason, Connection, type EventTransport } from '../realtime/connection.ts';
import type { SubscriptionRequest } from '../realtime/subscription.ts';
import { readKnownParameters } from './known-parameters.ts';
import { toErrorMessage } from './realtime-message.ts';
import type { ActionResult, RequestContext } from './request-context.ts';
import { streamWithCleanup } from './stream-with-cleanup.ts';

const subscriptionId = 'stream';
/** Proxies close connections that are silent for a minute. */
const heartbeatMilliseconds = 15_000;

const endErrors: Readonly<Record<CloseReason, ApiError>> = {
  credential: new ApiError(
    'TOKEN_INVALID',
    'Unauthorized: invalid or missing token. The credential is no longer valid.',
  ),
  slow: new ApiError('BUSY', 'The reader is too slow. Reconnect and continue from the last event.', { retryAfter: 1 }),
  restart: new ApiError(
    'STOPPING',
    'The server or the application is stopping. Reconnect and continue from the last event.',
    {
      retryAfter: 5,
    },
  ),
};

/** `GET /api/realtime?resource=&filter=&since=&values=` with `Accept: text/event-stream`. */
export async function openEventStream(request: RequestContext): Promise<ActionResult> {
  const subscription = parseSubscription(request);
  if (request.method === 'HEAD' || !request.headers.accept?.includes('text/event-stream'))
    throw new ApiError(
      'HEADER_INVALID',
      'Send "Accept: text/event-stream" for a stream of events, or upgrade to a WebSocket.',
    );
  const lease = request.retain();
  const queue = new Queue();
  const connection = new Connection(lease, queue, request.caller, request.credential());
  try {
    await connection.subscribe(subscriptionId, subscription, (cursor, resync) => {
      queue.message('subscribed', { cursor }, cursor);
      if (resync) queue.resync(subscriptionId, cursor);
    });
  } catch (error) {
    connection.end(null);
    throw error;
  }
  return {
    stream: streamMessages(queue, connection, request.abortSignal()),
    contentType: 'text/event-stream; charset=utf-8',
  };
}

function parseSubscription(request: RequestContext): SubscriptionRequest {
  const { resource, filter, since, values } = readKnownParameters(request, ['resource', 'filter', 'since', 'values']);
  if (typeof resource !== 'string' || resource === '')
    throw new ApiError('PARAMETER_INVALID', 'The parameter "resource" must name the resource to subscribe to.');
  if (values !== undefined && values !== 'true' && values !== 'false' && typeof values !== 'boolean')
    throw booleanExpected('values');
  const from = since ?? request.headers['last-event-id'];
  if (from !== undefined && typeof from !== 'string')
    throw new ApiError('PARAMETER_INVALID', 'The parameter "since" must be a cursor.');
  return {
    resource,
    filter: typeof filter === 'string' ? parseFilter(filter) : filter,
    since: from === undefined || from === '' ? null : from,
    values: String(values) === 'true',
  };
}

function parseFilter(text: string): unknown {
  return parseJson(text, () => new ApiError('PARAMETER_INVALID', 'The parameter "filter" is not valid JSON.'));
}

/** The messages. An abandoned stream ends its connection, even before its first piece was read. */
function streamMessages(queue: Queue, connection: Connection, abortSignal: AbortSignal): AsyncGenerator<string> {
  const endConnection = (): void => connection.end('restart');
  abortSignal.addEventListener('abort', endConnection);
  const heartbeat = setInterval(() => queue.push(':\n\n'), heartbeatMilliseconds);
  return streamWithCleanup(queue.texts(), () => {
    clearInterval(heartbeat);
    abortSignal.removeEventListener('abort', endConnection);
    connection.end(null);
  });
}

/** Messages that have not been sent yet. The stream requests more when there is room. */
class Queue implements EventTransport {
  #texts: string[] = [];
  #buffered = 0;
  #ended = false;
  #wake: (() => void) | null = null;

  get buffered(): number {
    return this.#buffered;
  }

  event(_: string, cursor: string, text: string): void {
    this.push(`event: event\nid: ${cursor}\ndata: ${text}\n\n`);
  }

  resync(_: string, cursor: string): void {
    this.message('resync', { cursor }, cursor);
  }

  rejectSubscription(_: string, error: ApiError): void {
    this.message('error', toErrorMessage(error));
    this.#end();
  }

  end(reason: CloseReason): void {
    this.message('error', toErrorMessage(endErrors[reason]));
    this.#end();
  }

  message(type: string, data: object, cursor?: string): void {
    this.push(`event: ${type}\n${cursor === undefined ? '' : `id: ${cursor}\n`}data: ${JSON.stringify(data)}\n\n`);
  }

  push(text: string): void {
    if (this.#ended) return;
    this.#texts.push(text);
    this.#buffered += text.length;
    this.#wake?.();
  }

  /** The messages in pieces, until the queue is closed. */
  async *texts(): AsyncGenerator<string> {
    for (;;) {
      const texts = this.#texts;
      this.#texts = [];
      for (const text of texts) {
        this.#buffered -= text.length;
        yield text;
      }
      if (this.#texts.length > 0) continue;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}
