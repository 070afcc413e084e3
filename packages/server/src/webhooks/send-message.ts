/** Sends one signed message to the address of a webhook. */
import type { Clock } from '../base/clock.ts';
import type { ConcurrencyLimiter } from '../base/concurrency-limiter.ts';
import type { OutboundClient, OutboundReply } from '../base/outbound.ts';
import { OutboundFailure } from '../base/outbound-resolver.ts';
import type { SecretCipher } from '../base/secret-cipher.ts';
import type { Tracing } from '../base/tracing/tracing.ts';
import type { StoredWebhook } from '../database/webhook-rows.ts';
import { signHeaders } from './signature.ts';

/** The outgoing connections that all applications of a server share. */
export interface Outbound {
  readonly client: OutboundClient;
  /** Limits concurrent messages by host, so that a slow host delays only its own messages. */
  readonly concurrencyLimiter: ConcurrencyLimiter;
  /** False: no message is sent or queued. */
  readonly isDeliveryEnabled: boolean;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
}

export interface SendParts {
  readonly outbound: Outbound;
  readonly secretCipher: SecretCipher;
  readonly clock: Clock;
}

export interface Message {
  /** The same for every attempt, so that the receiver can recognise repeats. */
  readonly id: string;
  readonly body: string;
}

/** The result of one attempt. `error` is null exactly if the receiver answered with a status from 200 to 299. */
export interface SendResult {
  readonly status: number | null;
  readonly error: string | null;
  /** The `Retry-After` header. */
  readonly retryAfter: string | null;
}

const maxErrorLength = 500;

/** Sends a message once. Errors of the network are part of the result. */
export async function sendMessage(
  { outbound, secretCipher, clock }: SendParts,
  webhook: StoredWebhook,
  { id, body }: Message,
  signal: AbortSignal,
): Promise<SendResult> {
  if (!outbound.isDeliveryEnabled) return notSent('This server sends no webhooks, because WEBHOOKS is off.');
  const secret = webhook.secret === null ? null : secretCipher.decrypt(webhook.secret);
  if (secret === null)
    return notSent('The secret of the webhook cannot be decrypted, because APP_KEY has changed. Set a new secret.');
  const headers = {
    ...signHeaders(id, clock.now(), secret, body),
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'Tablinum-Webhooks/1',
  };
  try {
    const send = (): Promise<OutboundReply> => outbound.client.post(webhook.url, headers, body, signal);
    const reply = await (outbound.tracing ? traceMessage(outbound.tracing, webhook, send) : send());
    return { status: reply.status, error: describeReplyProblem(reply), retryAfter: reply.retryAfter };
  } catch (error) {
    if (error instanceof OutboundFailure) return notSent(error.message);
    throw error;
  }
}

/** Runs `send` in a span. It contains the id of the webhook but not its address, which may contain secrets. */
function traceMessage(
  tracing: Tracing,
  { id }: StoredWebhook,
  send: () => Promise<OutboundReply>,
): Promise<OutboundReply> {
  const attributes = { 'http.request.method': 'POST', 'tablinum.webhook': id };
  return tracing.trace({ name: 'send webhook', kind: 'client', attributes }, async (add) => {
    const reply = await send();
    add('http.response.status_code', reply.status);
    return reply;
  });
}

function notSent(error: string): SendResult {
  return { status: null, error, retryAfter: null };
}

function describeReplyProblem({ status, text }: OutboundReply): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400)
    return `The receiver redirects (${status}). Redirects are not followed; set "url" to the final address.`;
  const replyText = text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, maxErrorLength);
  return replyText === '' ? `The receiver answered ${status}.` : `The receiver answered ${status}: ${replyText}`;
}
