/**
 * Examines messages that arrive: finds reports about sent messages, and evidence that a message with an unknown outcome
 * was sent.
 */
import { type Clock, isoTime } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { findSentByMessageId, readUnknownMessageIds } from '../../database/mail/outbox-lookup-rows.ts';
import {
  changeOutboxEntry,
  lockOutboxEntry,
  readOutboxMessageId,
  setDelivery,
} from '../../database/mail/outbox-rows.ts';
import type { MailReport } from '../parse/mail-report.ts';
import type { IngestActor, MailAccount } from '../store/incoming-mail.ts';
import { appendMailEvent } from '../store/mail-events.ts';
import type { ParsedIncomingMail } from '../store/new-email.ts';
import { applyEvidence, applyReport } from './apply-report.ts';
import { readDeliveryState, summariseDelivery, toOutboxStatus } from './delivery-state.ts';
import { makeEnvelopeId, readEnvelopeEmail } from './envelope-id.ts';

/** What looking at messages works with. */
export interface DeliveryArrivalParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  /** Called after a commit that settled a message whose outcome was unknown. */
  readonly onSettled: () => void;
}

/** Folders in which providers file sent messages. */
const sentFolders: ReadonlySet<string> = new Set(['sent', 'all']);

/** What arrived about one sent message. */
interface News {
  readonly reports: MailReport[];
}

/** Examines the messages that are stored in an application. */
export class DeliveryArrivals {
  readonly #parts: DeliveryArrivalParts;

  constructor(parts: DeliveryArrivalParts) {
    this.#parts = parts;
  }

  /** Runs in the transaction that stores the messages, under the lock of their account. */
  async notice(
    transaction: Transaction,
    account: MailAccount,
    arrivals: readonly ParsedIncomingMail[],
    actor: IngestActor,
  ): Promise<void> {
    const news = new Map<number, News>();
    await this.#collectReports(transaction, account, arrivals, news);
    await this.#collectEvidence(transaction, account, arrivals, news);
    for (const [email, each] of news) await this.#apply(transaction, email, each, actor);
    const { recordReplies } = await import('../campaigns/record-outcome.ts');
    await recordReplies({ ...this.#parts, ...actor, transaction }, account.id, arrivals);
  }

  /**
   * Finds copies of sent messages that the provider itself has filed among the sent messages, with other bytes than
   * ours. They are the same e-mails.
   *
   * @param messages messages of the account's IMAP server that it does not have yet.
   * @returns e-mails by the identities of the copies.
   */
  async findSentCopies(
    transaction: Transaction,
    account: MailAccount,
    messages: readonly ParsedIncomingMail[],
    actor: IngestActor,
  ): Promise<ReadonlyMap<string, number>> {
    const candidates = messages.filter(
      ({ incoming, mail }) => mail.messageId !== null && sentFolders.has(incoming.mailbox.folder),
    );
    if (candidates.length === 0) return new Map();
    const messageIds = candidates.map(({ mail }) => mail.messageId as string);
    const sent = await findSentByMessageId(this.#parts.database, transaction, account.id, messageIds);
    const found = candidates.flatMap(({ identity, mail }) => {
      const email = sent.get(mail.messageId ?? '');
      return email === undefined ? [] : [[identity, email] as const];
    });
    for (const [, email] of found) await this.#apply(transaction, email, { reports: [] }, actor);
    return new Map(found);
  }

  async #collectReports(
    transaction: Transaction,
    account: MailAccount,
    arrivals: readonly ParsedIncomingMail[],
    news: Map<number, News>,
  ): Promise<void> {
    const reports = arrivals.flatMap(({ mail }) => (mail.deliveryReport ? [mail.deliveryReport] : []));
    if (reports.length === 0) return;
    const { database } = this.#parts;
    const messageIds = [...new Set(reports.flatMap((each) => each.messageIds))];
    const sent = await findSentByMessageId(database, transaction, account.id, messageIds);
    for (const report of reports) {
      const named = report.messageIds.map((id) => sent.get(id)).find((id) => id !== undefined);
      const email = named ?? (await this.#findByEnvelopeId(transaction, account, report.envelopeId));
      if (email === null) continue;
      const known = news.get(email) ?? { reports: [] };
      known.reports.push(report);
      news.set(email, known);
    }
  }

  async #findByEnvelopeId(
    transaction: Transaction,
    account: MailAccount,
    envelopeId: string | null,
  ): Promise<number | null> {
    const email = readEnvelopeEmail(envelopeId ?? '');
    if (email === null) return null;
    const found = await readOutboxMessageId(this.#parts.database, transaction, account.id, email);
    return found && makeEnvelopeId(email, found.messageId) === envelopeId?.trim() ? email : null;
  }

  async #collectEvidence(
    transaction: Transaction,
    account: MailAccount,
    arrivals: readonly ParsedIncomingMail[],
    news: Map<number, News>,
  ): Promise<void> {
    const unknown = await readUnknownMessageIds(this.#parts.database, transaction, account.id);
    if (unknown.size === 0) return;
    for (const { mail } of arrivals)
      for (const id of [mail.messageId ?? '', ...mail.inReplyTo, ...mail.references]) {
        const email = unknown.get(id);
        if (email !== undefined && !news.has(email)) news.set(email, { reports: [] });
      }
  }

  async #apply(transaction: Transaction, email: number, { reports }: News, actor: IngestActor): Promise<void> {
    const { database, clock, changes, onSettled } = this.#parts;
    const entry = await lockOutboxEntry(database, transaction, email);
    if (!entry) return;
    const at = isoTime(clock.now());
    const before = readDeliveryState(entry.delivery, entry.sendAt, entry.recipients);
    let state = applyEvidence(before, at) ?? before;
    for (const report of reports) state = applyReport(state, report, at) ?? state;
    if (state === before) return;
    await setDelivery(database, transaction, email, { state, status: summariseDelivery(state) });
    const { recordDelivery } = await import('../campaigns/record-outcome.ts');
    await recordDelivery({ ...this.#parts, ...actor, transaction }, email, state);
    // The delivery worker moves a message whose outcome was unknown to Sent; it stores its own outcomes for one that it sends.
    if (entry.status === 'unknown') {
      await changeOutboxEntry(database, transaction, email, { status: 'unknown', nextAt: at, lastError: null });
      transaction.afterDurable(onSettled);
    } else if (entry.status === 'sent' || entry.status === 'failed')
      await changeOutboxEntry(database, transaction, email, {
        status: toOutboxStatus(state),
        nextAt: null,
        lastError: null,
      });
    const changed = ['deliveryStatus', 'content'];
    await appendMailEvent(
      transaction,
      { changes, clock, ...actor },
      { name: 'emails.updated', keys: [email], changed },
    );
  }
}
