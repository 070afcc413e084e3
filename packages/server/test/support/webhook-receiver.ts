import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import type { Json } from './json.ts';

export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Json;
}

/** How a receiver replies to a message; by default it accepts it. */
export type ReceiverBehaviour = (response: ServerResponse, received: ReceivedWebhook) => void;

export const acceptMessage: ReceiverBehaviour = (response) => response.writeHead(204).end();
export const failMessage: ReceiverBehaviour = (response) => response.writeHead(500).end('the receiver is broken\u0000');
export const neverAnswer: ReceiverBehaviour = () => {};

/** A receiver of webhooks on loopback, which servers can reach because of OUTBOUND_ALLOW=127.0.0.1. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  readonly #server: Server;
  behaviour: ReceiverBehaviour = acceptMessage;

  private constructor() {
    this.#server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => {
        text += chunk;
      });
      request.on('end', () => {
        const received = { path: request.url!, headers: request.headers, text, body: JSON.parse(text) };
        this.received.push(received);
        this.behaviour(response, received);
      });
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  url(path = '/hook'): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** Waits until this number of messages was sent to a path. @returns the messages. */
  async messages(path: string, count: number): Promise<ReceivedWebhook[]> {
    const at = (): ReceivedWebhook[] => this.received.filter((each) => each.path === path);
    await expect.poll(() => at().length).toBeGreaterThanOrEqual(count);
    return at();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
