import { createHash } from 'node:crypto';

/**
 * The envelope id of a message (RFC 3461): reports name it. It consists of the e-mail's id and a part that follows from the
 * Message-ID, so that it need not be stored.
 */
export function makeEnvelopeId(email: number, messageId: string | null): string {
  return `${email}.${createHash('sha256')
    .update(messageId ?? '')
    .digest('hex')
    .slice(0, 16)}`;
}

/** The e-mail that an envelope id names; null where it has another form. The caller compares the whole id. */
export function readEnvelopeEmail(envelopeId: string): number | null {
  const match = /^(\d{1,16})\.[0-9a-f]{16}$/.exec(envelopeId.trim());
  const email = Number(match?.[1]);
  return match && Number.isSafeInteger(email) ? email : null;
}
