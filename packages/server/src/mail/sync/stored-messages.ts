import type { BlobStore } from '../../base/blob-store.ts';
import type { Database } from '../../database/database.ts';
import { readMessageStamp, readRawBlob } from '../../database/mail/email-rows.ts';
import { readFlags } from '../../database/mail/flag-rows.ts';
import { toServerFlags } from '../store/server-flags.ts';

/** A message of the store as it is sent to the server. */
export interface StoredMessage {
  readonly raw: Uint8Array;
  /** Null: the message has none. */
  readonly messageId: string | null;
  /** Flags and keywords of the server. */
  readonly flags: readonly string[];
  /** ISO 8601. */
  readonly receivedAt: string | null;
}

/** Reads messages of the store. */
export interface RawSource {
  /** @returns null where the e-mail or its bytes do not exist any more. */
  read(emailId: number): Promise<StoredMessage | null>;
}

/** Reads messages of the store, as they are sent to a mail server. */
export class StoredMessages implements RawSource {
  readonly #database: Database;
  readonly #blobs: BlobStore;

  constructor(database: Database, blobs: BlobStore) {
    this.#database = database;
    this.#blobs = blobs;
  }

  async read(emailId: number): Promise<StoredMessage | null> {
    const blob = await readRawBlob(this.#database, emailId);
    const flags = (await readFlags(this.#database, [emailId])).get(emailId);
    const stamp = await readMessageStamp(this.#database, emailId);
    const raw = blob && (await this.#blobs.get(blob.account, blob.sha256));
    if (!raw || !flags || !stamp) return null;
    // Labels of Gmail cannot be given with APPEND; they are sent afterwards.
    return { raw, ...stamp, flags: toServerFlags(flags, 'keywords') };
  }
}
