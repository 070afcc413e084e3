import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Keeps secrets that the server must read again, such as those that messages are signed with: AES-256-GCM under a key
 * derived from APP_KEY, so that a stolen database alone tells none of them.
 */
export class Sealer {
  readonly #keys: readonly Buffer[];

  /** @param appKeys the current APP_KEY, then the former one where it is still accepted. */
  constructor(appKeys: readonly string[]) {
    this.#keys = appKeys.map((each) => Buffer.from(hkdfSync('sha256', each, '', 'tablinum sealed secrets', 32)));
  }

  seal(text: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#keys[0]!, nonce);
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return sealed.toString('base64url');
  }

  /** Null for what was sealed under another APP_KEY, or changed since. */
  open(sealed: string): string | null {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < nonceBytes + tagBytes) return null;
    for (const key of this.#keys) {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      try {
        return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        // Sealed under the other key, perhaps.
      }
    }
    return null;
  }
}
