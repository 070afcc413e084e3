/** The Standard Webhooks form: headers that prove who sent a message, and when (https://www.standardwebhooks.com). */
import { createHmac, randomBytes } from 'node:crypto';

/** Headers of one try. @param now milliseconds since the epoch: receivers refuse old messages, so each try has its own. */
export function signHeaders(messageId: string, now: number, secret: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const signature = createHmac('sha256', decodeSecret(secret))
    .update(`${messageId}.${timestamp}.${body}`)
    .digest('base64');
  return { 'webhook-id': messageId, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

function decodeSecret(secret: string): Buffer {
  return Buffer.from(secret.slice('whsec_'.length), 'base64');
}

export function makeMessageId(): string {
  return `msg_${randomBytes(18).toString('base64url')}`;
}
