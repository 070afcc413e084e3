import type { Clock } from '../../base/clock.ts';
import { isoTime } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database } from '../../database/database.ts';
import { readServerSettings } from '../../database/mail/account-rows.ts';
import { type CampaignMessage, readCampaignMessage } from '../../database/mail/campaign-message-rows.ts';
import { openCampaignToken, readTokenTarget, type TokenCipher, type TokenPurpose } from './campaign-token.ts';
import { type OutcomeTransaction, recordOutcome, recordUnsubscribe } from './record-outcome.ts';

/** What the actions of recipients work with. */
export interface RecipientActionParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
}

/** What recipients of campaigns do by the links in their message: unsubscribe, and open the message or a link where that is counted. */
export class RecipientActions {
  readonly #parts: RecipientActionParts;
  readonly #cipher: TokenCipher;

  constructor(parts: RecipientActionParts, cipher: TokenCipher) {
    this.#parts = parts;
    this.#cipher = cipher;
  }

  /** The address of the account whose campaigns a token ends; null for a token that is not valid. */
  async findSender(token: string): Promise<string | null> {
    const found = await this.#find(token, 'unsubscribe');
    const account = found && (await readServerSettings(this.#parts.database, found.message.accountId));
    return account?.address ?? null;
  }

  /** Ends the campaigns of the account for the recipient. Repeating it changes nothing. @returns false for an invalid token. */
  async unsubscribe(token: string): Promise<boolean> {
    const found = await this.#find(token, 'unsubscribe');
    if (!found) return false;
    await this.#record(found.message, (tx, message) => recordUnsubscribe(tx, message));
    return true;
  }

  /** Counts that the message was opened, once. An invalid token counts nothing. */
  async open(token: string): Promise<void> {
    const found = await this.#find(token, 'open');
    if (found && found.message.openedAt === null) await this.#record(found.message, recordAs('opened'));
  }

  /** Counts that a link was opened, once for each message. @returns the address of the link; null for an invalid token. */
  async click(token: string): Promise<string | null> {
    const found = await this.#find(token, 'click');
    if (found && found.message.clickedAt === null) await this.#record(found.message, recordAs('clicked'));
    return found?.text ?? null;
  }

  /** The address of a link, for a client that only checks it. Null for an invalid token. */
  async findAddress(token: string): Promise<string | null> {
    return (await this.#find(token, 'click'))?.text ?? null;
  }

  async #find(
    token: string,
    purpose: TokenPurpose,
  ): Promise<{ readonly message: CampaignMessage; readonly text: string } | null> {
    const target = readTokenTarget(token);
    const text = target && openCampaignToken(this.#cipher, token, target, purpose);
    if (!target || text === null) return null;
    const message = await readCampaignMessage(this.#parts.database, null, { id: target.message });
    return message && { message, text };
  }

  async #record(
    found: CampaignMessage,
    work: (tx: OutcomeTransaction, message: CampaignMessage) => Promise<unknown>,
  ): Promise<void> {
    const { database, changes, clock } = this.#parts;
    await database.write(
      async (transaction) => {
        const message = await readCampaignMessage(database, transaction, { id: found.id });
        if (message) await work({ database, transaction, changes, clock, actor: null, requestId: null }, message);
      },
      { lockKey: `mail ${found.accountId}` },
    );
  }
}

const recordAs =
  (type: 'opened' | 'clicked') =>
  (tx: OutcomeTransaction, message: CampaignMessage): Promise<boolean> =>
    recordOutcome(tx, message, { type, at: isoTime(tx.clock.now()) });
