/**
 * The key pair by which push services recognise the application (VAPID, RFC 8292). It is stored in the database, so all servers of an
 * application use the same one; the private key is encrypted as the secrets of mail accounts are.
 */
import webPush from 'web-push';
import type { Database } from '../../database/database.ts';
import { readPushKey, replacePushKey } from '../../database/mail/push-rows.ts';

/** A key pair, base64url. */
export interface PushKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** What keys are read with. */
export interface PushKeyParts {
  readonly database: Database;
  readonly encryptSecret: (text: string, record: number, field: string) => string;
  readonly decryptSecret: (text: string, record: number, field: string) => string | null;
}

const secretField = 'pushKey';

/**
 * The key pair; a new one if there is none, or if it cannot be decrypted because the encryption key of the server was lost. Browsers must
 * subscribe again then.
 */
export async function loadPushKeys(parts: PushKeyParts): Promise<PushKeys> {
  const { database, encryptSecret } = parts;
  const existing = await readKeys(parts);
  if (existing) return existing;
  const created = webPush.generateVAPIDKeys();
  const work = async (): Promise<PushKeys> => {
    // Another server may have been faster. The lock is held until the commit.
    const stored = await readKeys(parts);
    if (stored) return stored;
    const secret = encryptSecret(created.privateKey, 0, secretField);
    await database.write((transaction) =>
      replacePushKey(database, transaction, { publicKey: created.publicKey, secret }),
    );
    return created;
  };
  for (;;) {
    const keys = (await database.tryWithLock('mail push key', work)) ?? (await readKeys(parts));
    if (keys) return keys;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function readKeys({ database, decryptSecret }: PushKeyParts): Promise<PushKeys | null> {
  const stored = await readPushKey(database);
  const privateKey = stored && decryptSecret(stored.secret, 0, secretField);
  return stored && privateKey ? { publicKey: stored.publicKey, privateKey } : null;
}
