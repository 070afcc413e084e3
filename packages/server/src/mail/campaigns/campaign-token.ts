/**
 * Tokens in the links of campaigns. They name the application and the message of the campaign, and are authenticated under the key of the
 * mail secrets, which outlives changes of APP_KEY. They do not expire: an old message must still be good for unsubscribing.
 */

/** Encrypts and decrypts under the key of the mail secrets, bound to a record and a field. */
export interface TokenCipher {
  encryptSecret(text: string, record: number, field: string): string;
  decryptSecret(encrypted: string, record: number, field: string): string | null;
}

/** What a token names. */
export interface TokenTarget {
  readonly application: string;
  /** The key of the message of the campaign. */
  readonly message: number;
}

/** What a token is good for. A token for one purpose is not valid for another one. */
export type TokenPurpose = 'unsubscribe' | 'open' | 'click';

const maxLength = 8192;

/** The token for the recipient of a message. @param text what it carries: the address of a link. */
export function makeCampaignToken(
  cipher: TokenCipher,
  { application, message }: TokenTarget,
  purpose: TokenPurpose,
  text = '',
): string {
  const target = Buffer.from(JSON.stringify([application, message])).toString('base64url');
  return `${target}.${cipher.encryptSecret(text, message, `campaign ${purpose}`)}`;
}

/** What a token names, unverified; null for text that is no token. */
export function readTokenTarget(token: string): TokenTarget | null {
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

/** The text that a token carries; null if the application has not made it for this purpose. */
export function openCampaignToken(
  cipher: TokenCipher,
  token: string,
  { message }: TokenTarget,
  purpose: TokenPurpose,
): string | null {
  try {
    return cipher.decryptSecret(token.slice(token.indexOf('.') + 1), message, `campaign ${purpose}`);
  } catch {
    return null; // no ciphertext
  }
}
