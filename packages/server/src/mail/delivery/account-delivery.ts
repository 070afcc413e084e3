/** Sends the due messages of one account, one after the other, on one connection. */
import { setTimeout as pause } from 'node:timers/promises';
import type { BlobStore } from '../../base/blob-store.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { type Database, DatabaseFault } from '../../database/database.ts';
import { readAccountAddresses } from '../../database/mail/identity-rows.ts';
import type { LeasedMail, OutboxLease, OutboxLeases } from '../../database/mail/outbox-lease-rows.ts';
import { findCampaignRefusal } from '../../database/mail/suppression-rows.ts';
import type { SmtpClient } from '../connect/open-smtp.ts';
import { attemptDelivery, type LeasedMessage } from './attempt-delivery.ts';
import {
  type Attempt,
  campaignRefusals,
  type DeliveryState,
  isWaiting,
  markInterrupted,
  type RecipientOutcome,
  readDeliveryState,
} from './delivery-state.ts';
import { makeEnvelopeId } from './envelope-id.ts';
import { maySendAs } from './identities.ts';
import { readSendingAccount, type SendingAccount } from './sending-account.ts';
import type { DeliverySettlement, FinishedAttempt } from './settle-delivery.ts';
import { SmtpSession } from './smtp-session.ts';

/** Why a mail server cannot be used now, and what helps. */
export interface ServerProblem {
  readonly code: string;
  readonly message: string;
  readonly cure: string;
}

/** Opens connections to the SMTP servers of accounts. */
export interface SmtpConnector {
  /** A connection that is signed in. */
  open(account: number, signal: AbortSignal): Promise<SmtpClient>;
  /** What an error of {@link SmtpConnector.open} means; null for an error of this server. */
  describe(error: unknown): ServerProblem | null;
  /** Adds what prevents sending to the log of the account's problems. */
  report(account: number, problem: ServerProblem): Promise<void>;
}

type HandOver = (finished: FinishedAttempt) => Promise<void>;

/** What sending works with. */
export interface AccountDeliveryParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly connector: SmtpConnector;
  readonly leases: OutboxLeases;
  readonly settlement: DeliverySettlement;
  /** Stores the outcome of an attempt when the application is open again elsewhere. Null: it is never moved. */
  readonly handOver: HandOver | null;
  /** Identifies this worker among all servers. */
  readonly holder: string;
}

/** A dead worker's messages are taken over after this time. */
const leaseMilliseconds = 60_000;
const renewMilliseconds = 20_000;
/** A message that waited longer than this for its first attempt is not sent any more without a decision. */
const overdueMilliseconds = 7 * 86_400_000;
/** Waits before outcomes are stored again, if the database does not take them. */
const storeRetryMilliseconds = [100, 500, 2000, 5000];

/** The lease of a message ended before it was transmitted: another worker sends it. */
class LeaseEnded extends Error {}

/** Sends messages of accounts. */
export class AccountDelivery {
  readonly #parts: AccountDeliveryParts;
  #isStopped = false;

  constructor(parts: AccountDeliveryParts) {
    this.#parts = parts;
  }

  /** Begins no further message. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Sends messages of an account until none is due. @param signal aborts transactions that are under way. */
  async run(account: number, signal: AbortSignal): Promise<void> {
    const { leases, clock } = this.#parts;
    await import('../campaigns/record-outcome.ts'); // loaded before anything is sent: this module stores the outcome
    let session: SmtpSession | null = null;
    const close = (): void => session?.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      while (!this.#isStopped) {
        const mail = await leases.claim(account, isoTime(clock.now()), this.#makeLease());
        if (!mail) return;
        session = await this.#deliver(mail, session, signal);
      }
    } finally {
      signal.removeEventListener('abort', close);
      session?.quit();
    }
  }

  #makeLease(): OutboxLease {
    const { holder, clock } = this.#parts;
    return { holder, until: isoTime(clock.now() + leaseMilliseconds) };
  }

  /** @returns the connection, if it can be used for the next message. */
  async #deliver(mail: LeasedMail, open: SmtpSession | null, signal: AbortSignal): Promise<SmtpSession | null> {
    const { database, clock, settlement } = this.#parts;
    const account = await readSendingAccount(database, mail.account);
    if (!account) return open;
    const state = readDeliveryState(mail.delivery, mail.sendAt, mail.recipients);
    if (mail.interrupted !== null) {
      await settlement.storeInterruption(mail, account, markInterrupted(state, mail.interrupted, clock.now()));
      return open;
    }
    const stopRenewal = this.#keepLease(mail.id, () => open?.close());
    try {
      return await this.#attempt({ mail, account, state }, open, signal);
    } catch (error) {
      if (error instanceof LeaseEnded) return null;
      throw error;
    } finally {
      stopRenewal();
    }
  }

  /**
   * Renews the lease of a message while it is being sent. @param onEnded is called if another worker has taken the
   * lease.
   */
  #keepLease(id: number, onEnded: () => void): () => void {
    const renew = async (): Promise<void> => {
      if (!(await this.#parts.leases.renew(id, this.#makeLease()))) onEnded();
    };
    const onError = (error: unknown): void =>
      this.#parts.logger.warn({ err: error }, 'The lease of a message in the outbox could not be renewed.');
    const timer = setInterval(() => void renew().catch(onError), renewMilliseconds).unref();
    return () => clearInterval(timer);
  }

  async #attempt(work: Work, open: SmtpSession | null, signal: AbortSignal): Promise<SmtpSession | null> {
    const { mail, state } = work;
    const raw = await this.#parts.blobs.get(mail.account, mail.rawSha256);
    const refusal = raw === null ? lostBytes : await this.#findRefusal(work);
    if (raw === null || refusal !== null) {
      await this.#settle(work, raw ?? new Uint8Array(), refuseAll(state, refusal ?? lostBytes));
      return open;
    }
    let session = open?.isUsable ? open : null;
    try {
      session ??= new SmtpSession(await this.#parts.connector.open(mail.account, signal));
    } catch (error) {
      await this.#settleUnreachable(work, raw, error);
      return null;
    }
    const message = { mail, raw, state, envelopeId: makeEnvelopeId(mail.email, mail.messageId) };
    const attempt = await this.#send(session, message);
    // Servers close connections that are idle, or after some messages. Nothing was sent then, so another connection is opened.
    if (session === open && !session.isUsable && isUntouched(attempt)) return this.#attempt(work, null, signal);
    await this.#settle(work, raw, attempt);
    return session.isUsable ? session : null;
  }

  /** Why a message must not be sent any more; null: it may. What the account may send as can have changed since it was queued. */
  async #findRefusal({ mail, state }: Work): Promise<ServerProblem | null> {
    if (this.#isOverdue(state)) return overdue;
    const refusal = await findCampaignRefusal(this.#parts.database, mail.email);
    if (refusal !== null) return campaignRefusals[refusal];
    // The envelope sender of an automatic reply is empty, so its header says as whom it is sent.
    const sender = mail.sender || mail.author || '';
    const addresses = await readAccountAddresses(this.#parts.database, null, mail.account);
    return addresses && !maySendAs(addresses, sender) ? makeSenderProblem(sender) : null;
  }

  #isOverdue({ attempts, sendAt }: DeliveryState): boolean {
    return attempts === 0 && this.#parts.clock.now() > Date.parse(sendAt) + overdueMilliseconds;
  }

  #send(session: SmtpSession, message: LeasedMessage): Promise<Attempt> {
    const { leases, settlement, holder } = this.#parts;
    const { mail } = message;
    return attemptDelivery(session, message, {
      begin: async (recipients) => {
        if (!(await leases.beginTransmission(mail.id, this.#makeLease(), recipients))) throw new LeaseEnded();
      },
      progress: (outcomes: readonly RecipientOutcome[]) => settlement.storeProgress(mail, holder, outcomes),
    });
  }

  /** Stores the outcome. The message is on its way already, so this is repeated if the database does not take it. */
  async #settle(work: Work, raw: Uint8Array, attempt: Attempt): Promise<void> {
    const { settlement, holder, logger, handOver } = this.#parts;
    const { mail, account, state } = work;
    const envelopeId = makeEnvelopeId(mail.email, mail.messageId);
    const finished = { mail, account, holder, raw, state, envelopeId, attempt };
    for (const wait of storeRetryMilliseconds) {
      try {
        await settlement.settle(finished);
        return;
      } catch (error) {
        // The application was moved. It is not opened again before this method has ended.
        if (handOver && this.#isStopped && !(error instanceof DatabaseFault))
          return void this.#handOver(finished, handOver);
        logger.warn({ err: error }, 'The outcome of a message could not be stored. It is tried again.');
        await pause(wait);
      }
    }
    await settlement.settle(finished);
  }

  async #handOver(finished: FinishedAttempt, handOver: HandOver): Promise<void> {
    try {
      await handOver(finished);
    } catch (error) {
      this.#parts.logger.warn(
        { err: error },
        'The outcome of a message could not be stored. It is "unknown" until it is found out.',
      );
    }
  }

  /** The server of the account cannot be used: the other messages of the account wait as well. */
  async #settleUnreachable(work: Work, raw: Uint8Array, error: unknown): Promise<void> {
    const { connector, leases, clock } = this.#parts;
    const { mail, state } = work;
    const problem = connector.describe(error);
    if (!problem) throw error;
    const outcomes = state.recipients
      .filter(isWaiting)
      .map(({ address }) => ({ address, outcome: 'deferred' as const, code: null, reply: problem.message }));
    await this.#settle(work, raw, { outcomes, problem });
    const now = clock.now();
    await leases.postpone(mail.account, isoTime(now), isoTime(now + postponeMilliseconds));
    await connector.report(mail.account, problem);
  }
}

/** How long the other due messages of an account wait if its server cannot be used. */
const postponeMilliseconds = 60_000;

interface Work {
  readonly mail: LeasedMail;
  readonly account: SendingAccount;
  readonly state: DeliveryState;
}

const lostBytes: ServerProblem = {
  code: 'bytesMissing',
  message: 'The bytes of the message were deleted.',
  cure: 'Write the message again.',
};
const overdue: ServerProblem = {
  code: 'overdue',
  message: 'The message could not be sent within a week of its time.',
  cure: 'Send it now with emails:retrySend, or make a draft of it with emails:cancelSend.',
};

function makeSenderProblem(sender: string): ServerProblem {
  return {
    code: 'senderNotAllowed',
    message: `The account may not send as ${sender} any more.`,
    cure: 'Make a draft of it with emails:cancelSend, and send it from another address. Or add the address to "aliases" of the account again, verify it, and send the message with emails:retrySend.',
  };
}

/** Whether the server has received nothing, and has replied for no recipient. */
function isUntouched({ outcomes }: Attempt): boolean {
  return outcomes.every(({ outcome, code }) => outcome === 'deferred' && code === null);
}

function refuseAll(state: DeliveryState, problem: ServerProblem): Attempt {
  const outcomes = state.recipients
    .filter(isWaiting)
    .map(({ address }) => ({ address, outcome: 'failed' as const, code: null, reply: problem.message }));
  return { outcomes, problem };
}
