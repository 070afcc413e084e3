/**
 * Tokens of the links by which recipients unsubscribe. They name the application and the message of the campaign, and are authenticated
 * under the key of the mail secrets, which outlives changes of APP_KEY. They do not expire: an old message must still be good for it.
 */

/** Encrypts and decrypts under the key of the mail secrets, bound to a record and a field. */
export interface TokenCipher {
  encryptSecret(text: string, record: number, field: string): string;
  decryptSecret(encrypted: string, record: number, field: string): string | null;
}

/** What a token names. */
export interface UnsubscribeTarget {
  readonly application: string;
  readonly message: number;
}

const purpose = 'unsubscribe';
const maxLength = 600;

/** The token for the recipient of a message. */
export function makeUnsubscribeToken(cipher: TokenCipher, { application, message }: UnsubscribeTarget): string {
  const target = Buffer.from(JSON.stringify([application, message])).toString('base64url');
  const proof = Buffer.from(cipher.encryptSecret(purpose, message, purpose)).toString('base64url');
  return `${target}.${proof}`;
}

/** What a token names, unverified; null for text that is no token. */
export function readUnsubscribeToken(token: string): UnsubscribeTarget | null {
  if (token.length > maxLength) return null;
  try {
    const [target = ''] = token.split('.');
    const parts: unknown = JSON.parse(Buffer.from(target, 'base64url').toString('utf8'));
    if (!Array.isArray(parts) || parts.length !== 2) return null;
    const [application, message] = parts as unknown[];
    return typeof application === 'string' && Number.isSafeInteger(message)
      ? { application, message: message as number }
      : null;
  } catch {
    return null;
  }
}

/** Whether the application that a token names has made it. */
export function isGenuineToken(cipher: TokenCipher, token: string, { message }: UnsubscribeTarget): boolean {
  const proof = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
  try {
    return cipher.decryptSecret(proof, message, purpose) === purpose;
  } catch {
    return false;
  }
}
