/**
 * Downloads the bodies of e-mails that the first synchronisation has stored by their headers, those of the newest e-mails first. It uses
 * the connection of the synchronisation, one batch at a time, when nothing else is to be done. What is still to be downloaded is stored,
 * so it continues after a restart.
 *
 * Each attempt is counted before it begins. A message whose download was not completed is tried again alone, with growing pauses, and is
 * given up after some attempts: it may be one at which the server, or this one, fails. Somebody who opens it causes another attempt.
 */

import type { BackgroundPace } from '../../base/background-pace.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { connectLimits } from '../connect/guarded-connection.ts';
import { MailTooLarge, ParsePoolClosed } from '../parse/parse-pool.ts';
import type { MissingBody, MissingBodySelection } from '../store/missing-bodies.ts';
import type { ServerMessage } from '../store/server-mail.ts';
import { computeSyncPause } from './backoff.ts';
import { batchBytes, batchMessages, type DownloadParts, spareBytes } from './message-download.ts';
import type { RunningBodies } from './running-bodies.ts';
import type { SyncTimes } from './sync-services.ts';
import { isRefusal, MoreThanNamed } from './sync-session.ts';

/** Attempts for one message. Those after the first take about two hours. */
const maxAttempts = 8;
/** Failed attempts after which the problem log names a message. */
const reportedAttempts = 2;
const dayMilliseconds = 86_400_000;

export interface BodyDownloadParts extends DownloadParts {
  /** The download leaves time for requests. */
  readonly pace: BackgroundPace;
  /** Only messages received since this date are downloaded; null: all. */
  readonly since: string | null;
  readonly times: Pick<SyncTimes, 'retryMilliseconds'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Bodies that readers fetch are left to them, and readers wait for those that are downloaded. */
  readonly running: RunningBodies;
}

/** Downloads the missing bodies of one account on one connection. */
export class BodyDownload {
  readonly #parts: BodyDownloadParts;
  readonly #selection: MissingBodySelection;
  /** Stores the batch that was fetched last. The next one is fetched meanwhile. */
  #storing: Promise<unknown> = Promise.resolve();

  constructor(parts: BodyDownloadParts) {
    this.#parts = parts;
    // The server compares `since` with the day of receipt in its own time zone.
    const since = parts.since === null ? null : isoTime(Date.parse(parts.since) - dayMilliseconds);
    this.#selection = { account: parts.account.id, since };
  }

  /** How many bodies are still to be downloaded, and which number the account shows. */
  count(): Promise<{ readonly waiting: number; readonly shown: number }> {
    return this.#parts.serverMail.bodies.count(this.#selection);
  }

  /** Resolves when everything that was fetched is stored. */
  async settle(): Promise<void> {
    await this.#storing;
  }

  /** Downloads the next batch. @returns whether there was one. */
  async step(): Promise<boolean> {
    const { session, serverMail, clock, running, requireLease } = this.#parts;
    const due = await serverMail.bodies.readDue(this.#selection, isoTime(clock.now()), batchMessages);
    const batch = selectBatch(due.filter(({ emailId }) => running.get(emailId) === undefined));
    const [first] = batch;
    if (!first) {
      await this.settle();
      return false;
    }
    requireLease();
    if (first.attempts === reportedAttempts || first.attempts >= maxAttempts) await this.#report(first);
    if (first.attempts >= maxAttempts) {
      await serverMail.bodies.giveUp([first.emailId]);
      return true;
    }
    const selected = await session.select(first.rawPath).catch(ignoreRefusal);
    // The UIDVALIDITY has changed: the next poll of all mailboxes finds the messages.
    if (selected !== null && selected.uidvalidity !== first.uidvalidity) return false;
    await this.#download(batch, first, selected !== null);
    return true;
  }

  /** @param isSelected false: the server refuses the mailbox. */
  async #download(batch: readonly MissingBody[], first: MissingBody, isSelected: boolean): Promise<void> {
    const { serverMail, clock, times, running, pace } = this.#parts;
    const emails = batch.map(({ emailId }) => emailId);
    const pause = computeSyncPause('later', first.attempts + 1, times.retryMilliseconds) ?? 0;
    pace.begin();
    const reading = serverMail.bodies
      .begin(emails, isoTime(clock.now() + pause))
      .then(() => (isSelected ? this.#read(batch) : undefined));
    running.add(emails, reading);
    await reading;
    await pace.rest();
  }

  async #read(batch: readonly MissingBody[]): Promise<void> {
    const { session, bytes, signal } = this.#parts;
    const namedBytes = batch.reduce((sum, { size }) => sum + size, spareBytes);
    for (const maxBytes of [namedBytes, connectLimits.literalBytes]) {
      const release = await bytes.acquire(maxBytes, signal);
      try {
        const uids = batch.map(({ uid }) => uid);
        const messages = await session.fetchMessages(uids, maxBytes);
        await this.settle();
        this.#beginStoring(batch, messages, release);
        return;
      } catch (error) {
        release();
        if (isRefusal(error)) return;
        if (!(error instanceof MoreThanNamed)) throw error;
      }
    }
  }

  #beginStoring(batch: readonly MissingBody[], messages: readonly ServerMessage[], release: () => void): void {
    const byUid = new Map(messages.map(({ uid, raw }) => [uid, raw]));
    const storing = completeAll(batch.map((each) => this.#store(each, byUid.get(each.uid)))).finally(release);
    const emails = batch.map(({ emailId }) => emailId);
    this.#parts.running.add(emails, storing);
    storing.catch(() => {}); // awaited before the next batch is stored
    this.#storing = storing;
  }

  /** @param raw absent where the server did not give the message: it was moved or deleted, or cannot be read. */
  async #store({ emailId, path, uid }: MissingBody, raw: Uint8Array | undefined): Promise<void> {
    const { serverMail, account, requireLease, signal, logger, report } = this.#parts;
    if (!raw) return;
    requireLease();
    try {
      await serverMail.bodies.complete(account, emailId, { raw, isQuiet: true });
    } catch (error) {
      if (signal.aborted || error instanceof ParsePoolClosed) throw error;
      if (!(error instanceof MailTooLarge)) {
        logger.warn({ err: error, account: account.id }, 'The body of an e-mail could not be stored.');
        return;
      }
      await serverMail.bodies.giveUp([emailId]);
      await report({
        code: 'messageNotStored',
        message: `The body of message ${uid} of "${path}" could not be stored. ${error.message}`,
        cure: 'Read the message in another mail program.',
      });
    }
  }

  async #report({ path, uid, attempts }: MissingBody): Promise<void> {
    const isLast = attempts >= maxAttempts;
    await this.#parts.report({
      code: 'messageUnreadable',
      message: `The body of message ${uid} of "${path}" could not be downloaded${isLast ? `, and is not tried again: ${attempts} attempts have failed` : ''}.`,
      cure: isLast
        ? 'Open the e-mail to try again. If that fails, open it in another mail program, or ask the operator of the mail server to repair the mailbox.'
        : 'The server tries again by itself. If that does not help, open the message in another mail program.',
    });
  }
}

/** The newest bodies of one mailbox that fit into one command. A message that has failed before is downloaded alone. */
function selectBatch(due: readonly MissingBody[]): MissingBody[] {
  const [first] = due;
  if (!first || first.attempts > 0) return first ? [first] : [];
  const batch: MissingBody[] = [];
  let size = 0;
  for (const each of due) {
    const fitsBatch =
      each.attempts === 0 && each.mailboxId === first.mailboxId && each.uidvalidity === first.uidvalidity;
    if (!fitsBatch) continue;
    size += each.size;
    if (batch.length > 0 && size > batchBytes) break;
    batch.push(each);
  }
  return batch;
}

/** Waits for all work, also if some of it fails. @throws the first failure. */
async function completeAll(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  for (const each of results) if (each.status === 'rejected') throw each.reason;
}

function ignoreRefusal(error: unknown): null {
  if (!isRefusal(error)) throw error;
  return null;
}
