import type { Transaction } from '../../database/database.ts';
import type { IngestActor, MailAccount } from './incoming-mail.ts';
import type { ParsedIncomingMail } from './new-email.ts';

/** What looks at messages in the transaction that stores them, under the lock of their account. */
export interface ArrivalObserver {
  notice(
    transaction: Transaction,
    account: MailAccount,
    arrivals: readonly ParsedIncomingMail[],
    actor: IngestActor,
  ): Promise<void>;
  /** E-mails that were sent from here, by the identities of copies with other bytes. */
  findSentCopies(
    transaction: Transaction,
    account: MailAccount,
    messages: readonly ParsedIncomingMail[],
    actor: IngestActor,
  ): Promise<ReadonlyMap<string, number>>;
}
