/**
 * The stored messages of a mailbox by UID, to be compared with the server's list. A mailbox may have 100,000, so they
 * are read in batches.
 */
import type { Database } from '../../database/database.ts';
import { countStoredUids, readStoredUids, type StoredUid } from '../../database/mail/server-placement-rows.ts';
import type { SyncMailbox } from './server-mail.ts';

type MailboxUids = Pick<SyncMailbox, 'id' | 'path' | 'uidvalidity'>;

/** Rows of one statement: it takes about a millisecond. */
const maxRows = 1000;

/** Reads which messages of a mailbox are stored. */
export class StoredUids {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The number of messages that the server must have according to the store. */
  count(mailbox: MailboxUids): Promise<number> {
    return countStoredUids(this.#database, mailbox.id, requireValidity(mailbox));
  }

  /** All UIDs. */
  async list(mailbox: MailboxUids): Promise<Set<number>> {
    const uids = new Set<number>();
    for (let below: number | null = null; ; ) {
      const batch = await this.readNewest(mailbox, below, maxRows);
      for (const { uid } of batch) uids.add(uid);
      const last = batch.at(-1);
      if (!last || batch.length < maxRows) return uids;
      below = last.uid;
      // A short read does not leave the event loop by itself.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /**
   * The messages with the highest UIDs, in descending order.
   *
   * @param below only UIDs below this one; null: all.
   */
  readNewest(mailbox: MailboxUids, below: number | null, max: number): Promise<StoredUid[]> {
    return readStoredUids(this.#database, { mailbox: mailbox.id, uidvalidity: requireValidity(mailbox), below }, max);
  }
}

/** @throws Error where the mailbox is not ready to be synchronised: its UIDVALIDITY is not known. */
export function requireValidity({ path, uidvalidity }: Pick<SyncMailbox, 'path' | 'uidvalidity'>): string {
  if (uidvalidity === null) throw new Error(`the UIDVALIDITY of the mailbox "${path}" is not known`);
  return uidvalidity;
}
