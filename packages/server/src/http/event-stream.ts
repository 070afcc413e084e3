/** Server-Sent Events (HTML standard, "Server-sent events"): one subscription as one reply that does not end. */
import { ApiError, notTruth } from '../protocol/api-error.ts';
import { parseJson } from '../protocol/json-text.ts';
import { Connection, type End, type Wire } from '../realtime/connection.ts';
import type { AskedSubscription } from '../realtime/subscription.ts';
import type { Answer, Call } from './call.ts';
import { heldStream } from './held-stream.ts';
import { knownParameters } from './known-parameters.ts';
import { messageOf } from './realtime-message.ts';

const id = 'stream';
/** Proxies close what is silent for a minute. */
const beatMilliseconds = 15_000;

const ends: Readonly<Record<End, ApiError>> = {
  credential: new ApiError('TOKEN_INVALID', 'Unauthorized: invalid or missing token. The credential holds no longer.'),
  slow: new ApiError('BUSY', 'The reader is too slow; go on from the last event.', { retryAfter: 1 }),
  restart: new ApiError('STOPPING', 'The server or the application stops; go on from the last event.', {
    retryAfter: 5,
  }),
};

/** `GET /api/realtime?resource=&filter=&since=&values=` with `Accept: text/event-stream`. */
export async function eventStream(call: Call): Promise<Answer> {
  const asked = askedOf(call);
  if (call.method === 'HEAD' || !call.accept?.includes('text/event-stream'))
    throw new ApiError(
      'HEADER_INVALID',
      'Send Accept: text/event-stream for a stream of events, or upgrade to a WebSocket.',
    );
  const lease = call.hold();
  const queue = new Queue();
  const connection = new Connection(lease, queue, call.caller, call.proof());
  try {
    await connection.subscribe(id, asked, (cursor, resync) => {
      queue.message('subscribed', { cursor }, cursor);
      if (resync) queue.resync(id, cursor);
    });
  } catch (error) {
    connection.end(null);
    throw error;
  }
  return { stream: sent(queue, connection, call.gone()), contentType: 'text/event-stream; charset=utf-8' };
}

function askedOf(call: Call): AskedSubscription {
  const { resource, filter, since, values } = knownParameters(call, ['resource', 'filter', 'since', 'values']);
  if (typeof resource !== 'string' || resource === '')
    throw new ApiError('PARAMETER_INVALID', 'resource must name what to be told of.');
  if (values !== undefined && values !== 'true' && values !== 'false' && typeof values !== 'boolean')
    throw notTruth('values');
  const from = since ?? call.lastEventId;
  if (from !== undefined && typeof from !== 'string')
    throw new ApiError('PARAMETER_INVALID', 'since must be a cursor.');
  return {
    resource,
    filter: typeof filter === 'string' ? filterIn(filter) : filter,
    since: from === undefined || from === '' ? null : from,
    values: String(values) === 'true',
  };
}

function filterIn(text: string): unknown {
  return parseJson(text, () => new ApiError('PARAMETER_INVALID', '"filter" is not valid JSON.'));
}

/** The messages; a stream that is given up ends its connection, also before its first piece was taken. */
function sent(queue: Queue, connection: Connection, gone: AbortSignal): AsyncGenerator<string> {
  const leave = (): void => connection.end('restart');
  gone.addEventListener('abort', leave);
  const beat = setInterval(() => queue.push(':\n\n'), beatMilliseconds);
  return heldStream(queue.texts(), () => {
    clearInterval(beat);
    gone.removeEventListener('abort', leave);
    connection.end(null);
  });
}

/** Messages that the connection has not taken up yet: the stream asks for more when there is room. */
class Queue implements Wire {
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

  refused(_: string, error: ApiError): void {
    this.message('error', messageOf(error));
    this.#end();
  }

  end(reason: End): void {
    this.message('error', messageOf(ends[reason]));
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

  /** What there is, in pieces, until the end. */
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
