import { randomBytes } from 'node:crypto';

/** Generates a signing secret in the format of Standard Webhooks. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** What is wrong with a given signing secret; null if it is valid. */
export function secretProblem(text: unknown): string | null {
  const encoded = typeof text === 'string' ? /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/.exec(text)?.[1] : undefined;
  const bytes = encoded === undefined ? 0 : Buffer.from(encoded, 'base64').length;
  return bytes >= 24 && bytes <= 64
    ? null
    : 'Give whsec_ followed by 24 to 64 bytes in base64, or omit the secret to have one generated.';
}
