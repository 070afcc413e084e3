import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts secrets that the server must read again, such as the signing secrets of webhooks: AES-256-GCM under a key that
 * is derived from APP_KEY. A stolen database does not reveal them.
 */
export class SecretCipher {
  readonly #keys: readonly Buffer[];

  /** @param appKeys the current APP_KEY, then the previous one if it is still accepted. */
  constructor(appKeys: readonly string[]) {
    this.#keys = appKeys.map((each) => Buffer.from(hkdfSync('sha256', each, '', 'tablinum sealed secrets', 32)));
  }

  encrypt(text: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', getCurrent(this.#keys), nonce);
    const encrypted = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return encrypted.toString('base64url');
  }

  /** @returns null if it was encrypted under another APP_KEY, or was changed. */
  decrypt(encrypted: string): string | null {
    const bytes = Buffer.from(encrypted, 'base64url');
    if (bytes.length < nonceBytes + tagBytes) return null;
    for (const key of this.#keys) {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      try {
        return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        // It may be encrypted under the other key.
      }
    }
    return null;
  }
}

/** The field that a secret belongs to. A secret that is copied to another field cannot be decrypted. */
export interface EncryptionContext {
  readonly application: string;
  readonly record: number;
  readonly field: string;
}

/**
 * Encrypts secrets for the record and field that they belong to: AES-256-GCM with the {@link EncryptionContext} as
 * additional data. The format is `<key id>.<encrypted>`, so that a rotation can find secrets that are still under a
 * previous key.
 */
export class ContextCipher {
  readonly #keys: readonly { readonly id: string; readonly key: Buffer }[];

  /** @param secrets the current one, then the previous ones. */
  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map((secret) => {
      const derive = (what: string, bytes: number): Buffer => Buffer.from(hkdfSync('sha256', secret, '', what, bytes));
      return { id: derive('tablinum mail key id', 6).toString('base64url'), key: derive('tablinum mail secrets', 32) };
    });
  }

  encrypt(text: string, context: EncryptionContext): string {
    const { id, key } = getCurrent(this.#keys);
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(buildAdditionalData(context));
    const encrypted = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${id}.${encrypted.toString('base64url')}`;
  }

  /** @returns null if it was encrypted under another key or for another field, or was changed. */
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

  /** Whether it is encrypted under a previous key. */
  usesPreviousKey(encrypted: string): boolean {
    return !encrypted.startsWith(`${getCurrent(this.#keys).id}.`);
  }
}

function getCurrent<Key>([current]: readonly Key[]): Key {
  if (current === undefined) throw new Error('A cipher needs at least one key.');
  return current;
}

function buildAdditionalData({ application, record, field }: EncryptionContext): Buffer {
  return Buffer.from(JSON.stringify([application, record, field]));
}
