/** Signs messages in the format of Standard Webhooks (https://www.standardwebhooks.com). */
import { createHmac, randomBytes } from 'node:crypto';

/** The headers of one attempt. @param now milliseconds since the epoch. Receivers refuse old timestamps, so each attempt has its own. */
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

/** Generates the id of a message, which stays the same for all attempts. */
export function makeMessageId(): string {
  return `msg_${randomBytes(18).toString('base64url')}`;
}
