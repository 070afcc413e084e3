import type { Clock } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database } from '../../database/database.ts';
import { readServerSettings } from '../../database/mail/account-rows.ts';
import { type CampaignMessage, readCampaignMessage } from '../../database/mail/campaign-message-rows.ts';
import { recordUnsubscribe } from './record-outcome.ts';
import { isGenuineToken, readUnsubscribeToken, type TokenCipher } from './unsubscribe-token.ts';

/** What unsubscribing works with. */
export interface UnsubscriptionParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
}

/** Recipients of campaigns who unsubscribe by the link in their message. */
export class Unsubscriptions {
  readonly #parts: UnsubscriptionParts;
  readonly #cipher: TokenCipher;

  constructor(parts: UnsubscriptionParts, cipher: TokenCipher) {
    this.#parts = parts;
    this.#cipher = cipher;
  }

  /** The address of the account whose campaigns a token ends; null for a token that is not valid. */
  async findSender(token: string): Promise<string | null> {
    const message = await this.#find(token);
    const account = message && (await readServerSettings(this.#parts.database, message.accountId));
    return account?.address ?? null;
  }

  /** Ends the campaigns of the account for the recipient. Repeating it changes nothing. @returns false for an invalid token. */
  async unsubscribe(token: string): Promise<boolean> {
    const found = await this.#find(token);
    if (!found) return false;
    const { database, changes, clock } = this.#parts;
    await database.write(
      async (transaction) => {
        const message = await readCampaignMessage(database, transaction, { id: found.id });
        if (message)
          await recordUnsubscribe({ database, transaction, changes, clock, actor: null, requestId: null }, message);
      },
      { lockKey: `mail ${found.accountId}` },
    );
    return true;
  }

  async #find(token: string): Promise<CampaignMessage | null> {
    const target = readUnsubscribeToken(token);
    if (!target || !isGenuineToken(this.#cipher, token, target)) return null;
    return readCampaignMessage(this.#parts.database, null, { id: target.message });
  }
}
