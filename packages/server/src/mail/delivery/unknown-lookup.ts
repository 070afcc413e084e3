/** Looks for messages whose outcome is unknown among the sent messages, where a server that took them may have filed them. */
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Database } from '../../database/database.ts';
import type { OutboxLookups, UnknownMail } from '../../database/mail/outbox-lookup-rows.ts';
import { isUnknown, readDeliveryState } from './delivery-state.ts';
import type { DeliverySettlement } from './settle-delivery.ts';
import { computeNextLookup } from './unknown-outcome.ts';

/** What the lookup works with. */
export interface UnknownLookupParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lookups: OutboxLookups;
  readonly settlement: DeliverySettlement;
  /**
   * Whether the mailbox for sent messages on the account's IMAP server contains a message.
   *
   * @param messageId without angle brackets.
   * @returns null if the server cannot be queried now.
   */
  readonly findSentCopy: (account: number, messageId: string, signal: AbortSignal) => Promise<boolean | null>;
}

/** Messages that are looked for in one run. */
const maxMessages = 20;
const reply = 'A copy was found among the sent messages.';

/** The lookup of one application. */
export class UnknownLookup {
  readonly #parts: UnknownLookupParts;

  constructor(parts: UnknownLookupParts) {
    this.#parts = parts;
  }

  /** Looks for the messages whose lookup is due. @param now milliseconds since the Unix epoch. */
  async run(now: number, signal: AbortSignal): Promise<void> {
    const { lookups, logger } = this.#parts;
    for (const mail of await lookups.readDue(isoTime(now), maxMessages)) {
      if (signal.aborted) return;
      await this.#lookUp(mail, signal).catch((error: unknown) => {
        logger.warn(
          { err: error, account: mail.account },
          'A message with an unknown outcome could not be looked for.',
        );
      });
    }
  }

  async #lookUp(mail: UnknownMail, signal: AbortSignal): Promise<void> {
    const { lookups, clock, settlement, findSentCopy } = this.#parts;
    const state = readDeliveryState(mail.delivery, mail.sendAt, mail.recipients);
    // Moving the time of the next lookup reserves this one, so that no other server does it.
    if (!(await lookups.take(mail, computeNextLookup(state, clock.now())))) return;
    if (!state.recipients.some(isUnknown)) return settlement.refile(mail);
    if (mail.messageId === null) return;
    const isHere = await lookups.hasCopy(mail);
    if (isHere || (await findSentCopy(mail.account, mail.messageId, signal)) === true)
      await settlement.resolveUnknown(mail, reply, { isFiled: true });
  }
}
