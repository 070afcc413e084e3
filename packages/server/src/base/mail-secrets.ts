import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from './logger.ts';
import { PlacedSealer, type SealPlace } from './seal.ts';

export interface MailSecretsOptions {
  /** `MAIL_SECRET_KEY`; null where it is unset. */
  readonly key: string | null;
  readonly former: string | null;
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
  #sealer: PlacedSealer | null = null;

  constructor(options: MailSecretsOptions) {
    this.#options = options;
  }

  seal(text: string, place: SealPlace): string {
    return this.#ready().seal(text, place);
  }

  open(sealed: string, place: SealPlace): string | null {
    return this.#ready().open(sealed, place);
  }

  #ready(): PlacedSealer {
    if (this.#sealer) return this.#sealer;
    const { key, former, file, logger } = this.#options;
    const made = key === null;
    if (made)
      logger.warn(
        { file },
        'MAIL_SECRET_KEY is not set: passwords of mail accounts are encrypted under a key file in the data folder. Back it up, or set the key; several servers need one key',
      );
    const secrets = [key ?? keyIn(file), ...(former === null ? [] : [former])];
    this.#sealer = new PlacedSealer(secrets);
    return this.#sealer;
  }
}

/** The key in a file, which nobody else may read; made where there is none. */
function keyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const key = randomBytes(48).toString('base64url');
  try {
    const made = openSync(file, 'wx', 0o600);
    writeSync(made, `${key}\n`);
    fsyncSync(made);
    closeSync(made);
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
    return readFileSync(file, 'utf8').trim(); // another server was first
  }
  return key;
}
