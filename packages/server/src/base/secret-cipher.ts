import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Keeps secrets that the server must read again, such as those that messages are signed with: AES-256-GCM under a key
 * derived from APP_KEY, so that a stolen database alone tells none of them.
 */
export class SecretCipher {
  readonly #keys: readonly Buffer[];

  /** @param appKeys the current APP_KEY, then the former one where it is still accepted. */
  constructor(appKeys: readonly string[]) {
    this.#keys = appKeys.map((each) => Buffer.from(hkdfSync('sha256', each, '', 'tablinum sealed secrets', 32)));
  }

  encrypt(text: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#keys[0]!, nonce);
    const encrypted = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return encrypted.toString('base64url');
  }

  /** Null for what was sealed under another APP_KEY, or changed since. */
  decrypt(encrypted: string): string | null {
    const bytes = Buffer.from(encrypted, 'base64url');
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

/** Where a secret belongs: what was sealed for one place opens at no other. */
export interface EncryptionContext {
  readonly application: string;
  readonly record: number;
  readonly field: string;
}

/**
 * Seals secrets for the record and field that they belong to, under keys that are told apart by name: AES-256-GCM, the place is
 * authenticated along. `<key id>.<sealed>`, so that a rotation knows what is still under the former key.
 */
export class ContextCipher {
  readonly #keys: readonly { readonly id: string; readonly key: Buffer }[];

  /** @param secrets the current one, then the former ones. */
  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map((secret) => {
      const derive = (what: string, bytes: number): Buffer => Buffer.from(hkdfSync('sha256', secret, '', what, bytes));
      return { id: derive('tablinum mail key id', 6).toString('base64url'), key: derive('tablinum mail secrets', 32) };
    });
  }

  encrypt(text: string, context: EncryptionContext): string {
    const { id, key } = this.#keys[0]!;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(buildAdditionalData(context));
    const encrypted = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${id}.${encrypted.toString('base64url')}`;
  }

  /** Null for what was sealed under another key or for another place, or changed since. */
  decrypt(encrypted: string, context: EncryptionContext): string | null {
    const [id, text = ''] = encrypted.split('.');
    const key = this.#keys.find((each) => each.id === id)?.key;
    const bytes = Buffer.from(text, 'base64url');
    if (!key || bytes.length < nonceBytes + tagBytes) return null;
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes)).setAAD(
      buildAdditionalData(context),
    );
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      return null;
    }
  }

  /** Whether it lies under a former key. */
  usesPreviousKey(encrypted: string): boolean {
    return !encrypted.startsWith(`${this.#keys[0]!.id}.`);
  }
}

function buildAdditionalData({ application, record, field }: EncryptionContext): Buffer {
  return Buffer.from(JSON.stringify([application, record, field]));
}
