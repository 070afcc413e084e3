import { createHmac, hash, hkdfSync, randomBytes } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const bodyLength = 43; // ceil(256 / log2(62))
const checkLength = 6;

/** In this order: API keys, sessions (logins), password resets by e-mail, creation of the first admin, the operator's command line. */
export type TokenKind = 'tbk' | 'tbs' | 'tbr' | 'tbi' | 'tbo';
const kinds: ReadonlySet<string> = new Set<TokenKind>(['tbk', 'tbs', 'tbr', 'tbi', 'tbo']);

/** Generates a secret: prefix, 256 random bits in base62, and a checksum that detects truncation and typing errors. */
export function makeToken(kind: TokenKind): string {
  const body = base62(randomBytes(32), bodyLength);
  return `${kind}_${body}${checksum(`${kind}_${body}`)}`;
}

/** The kind of a well-formed token with a correct checksum, else null. Does not use the database. */
export function tokenKind(token: string): TokenKind | null {
  if (token.length !== 4 + bodyLength + checkLength) return null;
  const kind = token.slice(0, 3);
  if (token[3] !== '_' || !kinds.has(kind)) return null;
  const end = token.length - checkLength;
  return checksum(token.slice(0, end)) === token.slice(end) ? (kind as TokenKind) : null;
}

/** Hashes tokens under a key derived from APP_KEY, so that a stolen database contains no usable credential. */
export class TokenHasher {
  readonly #key: Buffer;

  constructor(appKey: string) {
    this.#key = Buffer.from(hkdfSync('sha256', appKey, '', 'tablinum token hash', 32));
  }

  hash(token: string): string {
    return createHmac('sha256', this.#key).update(token).digest('base64url');
  }
}

function checksum(text: string): string {
  return base62(Buffer.from(hash('sha256', text, 'hex').slice(0, 8), 'hex'), checkLength);
}

function base62(bytes: Buffer, length: number): string {
  let number = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let index = 0; index < length; index += 1) {
    text = alphabet[Number(number % 62n)] + text;
    number /= 62n;
  }
  return text;
}
