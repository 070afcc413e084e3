/**
 * Reads the body of an e-mail that is stored with its headers only, when somebody opens it. It uses a short connection
 * of its own, so that it works on each server, whichever synchronises the account. No transaction is open during the
 * fetch, and a fetch that fails changes nothing.
 */
import { raceAbort } from '../../base/outbound-resolver.ts';
import { readAccountLogin } from '../../database/mail/account-login-rows.ts';
import { type RemoteMessage, readPartialEmail } from '../../database/mail/partial-rows.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { loadLogin } from '../connect/load-login.ts';
import { MailServerProblem } from '../connect/mail-server-problem.ts';
import { openImap } from '../connect/open-imap.ts';
import type { ConnectorParts } from '../delivery/smtp-connector.ts';
import { bodyDeletedError, bodyRemoteError } from '../store/body-remote.ts';
import type { ServerMail } from '../store/server-mail.ts';
import type { RunningBodies } from './running-bodies.ts';
import type { SyncServices } from './sync-services.ts';
import { isMailboxMissing, SyncSession } from './sync-session.ts';

/** How long a reader waits for the mail server. */
const fetchMilliseconds = 30_000;
/** Connections that one application opens for readers at the same time. */
const maxConcurrent = 8;

export interface BodyFetcherParts extends ConnectorParts {
  readonly services: ConnectorParts['services'] & { readonly sync: SyncServices };
  /** Bodies that are read by the background download too. */
  readonly running: RunningBodies;
}

/** Reads bodies from mail servers. Readers of the same e-mail share one fetch. */
export class BodyFetcher {
  readonly #parts: BodyFetcherParts;
  readonly #serverMail: ServerMail;
  readonly #closing = new AbortController();
  readonly #running = new Map<number, Promise<boolean>>();

  constructor(parts: BodyFetcherParts, serverMail: ServerMail) {
    this.#parts = parts;
    this.#serverMail = serverMail;
  }

  /**
   * Stores the body of an e-mail, if only its headers are stored.
   *
   * @returns true: the body is stored now, or the e-mail was deleted.
   * @throws ApiError `MAIL_BODY_REMOTE` with the reason and the cure; `MAIL_BODY_DELETED` if the server does not have the message
   *   any more.
   */
  fetch(emailId: number): Promise<boolean> {
    const running = this.#running.get(emailId);
    if (running) return running;
    if (this.#running.size >= maxConcurrent)
      return Promise.reject(bodyRemoteError('Too many messages are read from mail servers now. Try again later.'));
    const fetching = this.#fetch(emailId).finally(() => this.#running.delete(emailId));
    this.#running.set(emailId, fetching);
    return fetching;
  }

  /** Waits for the background download of a body that is under way. If it fails, the reader tries it again. */
  async #waitForDownload(emailId: number, signal: AbortSignal): Promise<void> {
    const { running } = this.#parts;
    for (let downloading = running.get(emailId); downloading; downloading = running.get(emailId))
      await raceAbort(Promise.allSettled([downloading]), signal);
  }

  /** Ends the fetches, and waits for them. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running.values());
  }

  async #fetch(emailId: number): Promise<boolean> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(fetchMilliseconds)]);
    try {
      await this.#waitForDownload(emailId, signal);
    } catch {
      throw timeoutError();
    }
    const fetching = this.#fetchNow(emailId, signal);
    this.#parts.running.add([emailId], fetching);
    return fetching;
  }

  async #fetchNow(emailId: number, signal: AbortSignal): Promise<boolean> {
    const { database, logger, services } = this.#parts;
    const partial = await readPartialEmail(database, null, emailId);
    if (!partial) return true;
    const account = await readAccountLogin(database, partial.accountId);
    const remote = await this.#serverMail.readRemoteMessage(emailId);
    if (!account || !remote)
      throw bodyRemoteError(
        'Its mailbox on the mail server is not known at present. Try again after the next synchronisation.',
      );
    try {
      // The size is only what the server has reported before.
      const release = await services.sync.bytes.acquire(Math.min(remote.size, mailLimits.rawBytes), signal);
      try {
        const raw = await this.#read(remote, signal);
        const box = { id: partial.accountId, address: account.address };
        await this.#serverMail.bodies.complete(box, emailId, { raw });
      } finally {
        release();
      }
      return true;
    } catch (error) {
      if (error instanceof MailServerProblem) throw bodyRemoteError(`${error.message} ${error.cure}`);
      if (signal.aborted) throw timeoutError();
      if (error instanceof Error && error.name === 'ApiError') throw error;
      logger.info({ err: error, account: partial.accountId }, 'The body of an e-mail could not be read.');
      throw bodyRemoteError('The mail server does not give the message now. Try again later.');
    }
  }

  async #read(remote: RemoteMessage, signal: AbortSignal): Promise<Uint8Array> {
    const { services, logger } = this.#parts;
    const login = await loadLogin(this.#parts, remote.accountId, 'imap');
    const client = await openImap(login, { services, logger, signal });
    try {
      const session = new SyncSession(client, { commandMilliseconds: fetchMilliseconds, fetchMilliseconds });
      return await raceAbort(readMessage(session, remote), signal);
    } finally {
      client.close();
    }
  }
}

const timeoutError = (): Error => bodyRemoteError('The mail server did not answer in time. Try again later.');

/** @throws ApiError `MAIL_BODY_DELETED` where the mailbox, or the message in it, does not exist any more. */
async function readMessage(session: SyncSession, { rawPath, uidvalidity, uid }: RemoteMessage): Promise<Uint8Array> {
  const selected = await session.select(rawPath).catch((error: unknown) => {
    throw isMailboxMissing(error) ? bodyDeletedError() : error;
  });
  // The UID means another message now.
  if (selected.uidvalidity !== uidvalidity)
    throw bodyRemoteError(
      'The mail server has renumbered its messages (new UIDVALIDITY). Try again after the next synchronisation.',
    );
  const [message] = await session.fetchMessages([uid]);
  if (message) return message.raw;
  if ((await session.findExisting([uid])).has(uid))
    throw bodyRemoteError('The mail server lists the message, but does not give its content.');
  throw bodyDeletedError();
}
