/** The e-mails of accounts whose bodies the synchronisation must still download. */
import type { Database } from '../../database/database.ts';
import {
  beginBodies,
  countMissingBodies,
  type MissingBody,
  type MissingBodySelection,
  readMissingBodies,
  removeMissingBodies,
} from '../../database/mail/missing-body-rows.ts';
import { findCompleteMessageIds, readPartialEmail } from '../../database/mail/partial-rows.ts';
import { type CompletionParts, completePartialEmail, type WholeMessage } from './complete-partial.ts';
import type { MailAccount } from './incoming-mail.ts';

export type { MissingBody, MissingBodySelection };

export interface MissingBodiesParts extends CompletionParts {
  readonly database: Database;
}

/** The missing bodies of one application's accounts. */
export class MissingBodies {
  readonly #parts: MissingBodiesParts;

  constructor(parts: MissingBodiesParts) {
    this.#parts = parts;
  }

  /** Bodies that are to be downloaded now, those of the newest e-mails first. @param now ISO 8601. */
  readDue(selection: MissingBodySelection, now: string, max: number): Promise<MissingBody[]> {
    return readMissingBodies(this.#parts.database, selection, now, max);
  }

  /** Counts an attempt before it begins, so that a message at which the server fails does not block the others. */
  async begin(emails: readonly number[], notBefore: string): Promise<void> {
    const { database } = this.#parts;
    await database.write((transaction) => beginBodies(database, transaction, emails, notBefore));
  }

  /** Stops the download of bodies. They are then only read if somebody opens the e-mails. */
  async giveUp(emails: readonly number[]): Promise<void> {
    const { database } = this.#parts;
    await database.write((transaction) => removeMissingBodies(database, transaction, emails));
  }

  /** How many bodies are still to be downloaded, and which number the account shows. */
  count(selection: MissingBodySelection): Promise<{ readonly waiting: number; readonly shown: number }> {
    return countMissingBodies(this.#parts.database, selection);
  }

  /** The given Message-IDs that belong to completely stored e-mails. */
  findCompleteMessageIds({ id }: MailAccount, messageIds: readonly string[]): Promise<Set<string>> {
    return findCompleteMessageIds(this.#parts.database, id, messageIds);
  }

  /**
   * Gives an e-mail its body. If the account has the same message as another e-mail, the one that was stored here first gets the
   * mailboxes of the other one.
   *
   * @returns the key of the e-mail that has the message; null where it was deleted, or has its body already.
   * @throws MailTooLarge
   */
  async complete(account: MailAccount, emailId: number, message: WholeMessage): Promise<number | null> {
    const partial = await readPartialEmail(this.#parts.database, null, emailId);
    if (partial) return completePartialEmail(this.#parts, account, partial, message);
    await this.giveUp([emailId]);
    return null;
  }
}
