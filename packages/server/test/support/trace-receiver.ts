import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from './json.ts';

/** A span as it was received, with its attributes as an object. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, Json>>;
  readonly resource: Readonly<Record<string, Json>>;
  readonly isError: boolean;
}

/** A collector of traces on loopback, which understands OTLP over HTTP in JSON. */
export class TraceReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Everything that was received. */
  text = '';
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        this.requests.push({ path: request.url!, headers: request.headers });
        this.text += text;
        this.spans.push(...readSpans(JSON.parse(text)));
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
  }

  static async open(): Promise<TraceReceiver> {
    const receiver = new TraceReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits for a span. */
  async find(matches: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
    for (let attempt = 0; attempt < 250; attempt += 1) {
      const found = this.spans.find(matches);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`no such span among ${JSON.stringify(this.spans.map(({ name }) => name))}`);
  }

  /** The child spans of a span. */
  below({ spanId }: ReceivedSpan): ReceivedSpan[] {
    return this.spans.filter(({ parentSpanId }) => parentSpanId === spanId);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function readSpans(body: Json): ReceivedSpan[] {
  return body.resourceSpans.flatMap(({ resource, scopeSpans }: Json) =>
    scopeSpans.flatMap(({ spans }: Json) =>
      spans.map((span: Json) => ({
        ...span,
        parentSpanId: span.parentSpanId ?? '',
        attributes: readAttributes(span.attributes),
        resource: readAttributes(resource.attributes),
        isError: span.status?.code === 2,
      })),
    ),
  );
}

function readAttributes(attributes: Json): Record<string, Json> {
  return Object.fromEntries(
    (attributes ?? []).map(({ key, value }: Json) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}
