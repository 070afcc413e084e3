import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from './logger.ts';
import { ContextCipher, type EncryptionContext } from './secret-cipher.ts';

export interface MailSecretsOptions {
  /** `MAIL_SECRET_KEY`; null where it is unset. */
  readonly key: string | null;
  readonly previousKey: string | null;
  /** Where a key is kept that the server makes itself. */
  readonly file: string;
  readonly logger: Logger;
}

/**
 * Keeps the passwords of mail accounts. Not under APP_KEY, which may change at any time: then every account would be lost. Where
 * no key was given, one is made in the data folder when the first secret is kept.
 */
export class MailSecrets {
  readonly #options: MailSecretsOptions;
  #sealer: ContextCipher | null = null;

  constructor(options: MailSecretsOptions) {
    this.#options = options;
  }

  encrypt(text: string, context: EncryptionContext): string {
    return this.#ready().encrypt(text, context);
  }

  decrypt(encrypted: string, context: EncryptionContext): string | null {
    return this.#ready().decrypt(encrypted, context);
  }

  #ready(): ContextCipher {
    if (this.#sealer) return this.#sealer;
    const { key, previousKey, file, logger } = this.#options;
    const usesKeyFile = key === null;
    if (usesKeyFile)
      logger.warn(
        { file },
        'MAIL_SECRET_KEY is not set: passwords of mail accounts are encrypted under a key file in the data folder. Back it up, or set the key; several servers need one key',
      );
    const secrets = [key ?? readOrCreateKey(file), ...(previousKey === null ? [] : [previousKey])];
    this.#sealer = new ContextCipher(secrets);
    return this.#sealer;
  }
}

/** Less is none that this server has made: the file was cut short, or emptied. */
const minKeyLength = 32;

/**
 * The key in a file, which nobody else may read; made where there is none. File and name are on the disk before anything is
 * sealed under it.
 *
 * @throws Error where the file is there and holds no key: under an empty one anybody could open what was sealed.
 */
function readOrCreateKey(file: string): string {
  const existing = readKey(file);
  if (existing !== null) return existing;
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const key = randomBytes(48).toString('base64url');
  try {
    writeNewFile(file, `${key}\n`);
  } catch (error) {
    const concurrentKey = (error as { code?: string }).code === 'EEXIST' ? readKey(file) : null; // another server was first
    if (concurrentKey === null) throw error;
    return concurrentKey;
  }
  const folderDescriptor = openSync(folder, 'r');
  fsyncSync(folderDescriptor);
  closeSync(folderDescriptor);
  return key;
}

function readKey(file: string): string | null {
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return null;
    throw error;
  }
  if (key.length >= minKeyLength) return key;
  throw new Error(
    `${file} holds no whole key. Put it back from a backup; or remove it, and give the passwords of mail accounts anew`,
  );
}

/** A new file with all of a text, on the disk; none where that fails. */
function writeNewFile(file: string, text: string): void {
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
