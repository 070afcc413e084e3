/** Mail of one application: storing messages and their bytes, background work, and the secrets of accounts. */
import type { BlobStore } from '../base/blob-store.ts';
import type { MailSecrets } from '../base/mail-secrets.ts';
import type { OutboundClient } from '../base/outbound.ts';
import { findHostProblem, type OutboundAllow } from '../base/outbound-address.ts';
import { findAccountsWithOldThreads } from '../database/mail/account-rows.ts';
import { sweepBlobs, unreferencedGraceMilliseconds } from './blobs/sweep-blobs.ts';
import { RemoteImages } from './remote-images.ts';
import { AccountDeletion, type AccountDeletionParts } from './store/account-deletion.ts';
import type { IngestActor, MailAccount } from './store/incoming-mail.ts';
import { IndexRebuild } from './store/index-rebuild.ts';
import { type IngestParts, MailIngest } from './store/ingest.ts';
import { ConversationRebuild, type ConversationRebuildResult } from './store/rebuild-conversations.ts';

/** What the mail of all applications of a server shares. */
export interface MailServices {
  readonly parser: IngestParts['parser'];
  readonly secrets: MailSecrets;
  /** Mail servers in the private network that accounts may name. */
  readonly allowed: OutboundAllow;
  /** Fetches remote images. */
  readonly outbound: Pick<OutboundClient, 'get'>;
}

/** What the mail of an application works with. */
export interface MailStoreParts extends Omit<IngestParts, 'parser'>, Pick<AccountDeletionParts, 'asServer'> {
  readonly application: string;
  readonly services: MailServices;
}

/** The mail of one application. */
export class MailStore {
  readonly ingest: MailIngest;
  readonly blobs: BlobStore;
  readonly images: RemoteImages;
  readonly accountDeletion: AccountDeletion;
  readonly rebuild: IndexRebuild;
  readonly #parts: MailStoreParts;
  readonly #closing = new AbortController();
  #rebuilding: Promise<void> = Promise.resolve();
  #lastSweepTime = 0;

  constructor(parts: MailStoreParts) {
    this.#parts = parts;
    this.ingest = new MailIngest({ ...parts, parser: parts.services.parser });
    this.blobs = parts.blobs;
    this.images = new RemoteImages(parts.services.outbound);
    this.accountDeletion = new AccountDeletion(parts);
    this.rebuild = new IndexRebuild(parts);
  }

  /** Starts the background work, beginning with what an earlier run left. */
  begin(): void {
    this.accountDeletion.begin();
    this.rebuild.begin();
    this.#rebuilding = this.#rebuildOldThreads();
  }

  /** Rebuilds the conversations that an earlier server version built by other rules, while requests are served. */
  async #rebuildOldThreads(): Promise<void> {
    const { database, logger } = this.#parts;
    const { signal } = this.#closing;
    try {
      for (const account of await findAccountsWithOldThreads(database))
        await this.rebuildConversations(account, { actor: null, requestId: null });
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'the conversations of a mail account could not be rebuilt');
    }
  }

  /** Resolves when the conversations of earlier server versions are rebuilt. */
  get whenRebuilt(): Promise<void> {
    return this.#rebuilding;
  }

  /** Starts to delete the contents of accounts that were deleted. */
  wakeAccountDeletion(): void {
    void this.accountDeletion.wake();
  }

  /** Why an account may not name a host as its mail server; null: it may. */
  hostProblem(host: string): string | null {
    return findHostProblem(host, this.#parts.services.allowed, 'MAIL_ALLOWED_PRIVATE_HOSTS');
  }

  /** Encrypts a secret of an account. It can only be decrypted for this account and field. */
  encryptSecret(text: string, record: number, field: string): string {
    return this.#parts.services.secrets.encrypt(text, { application: this.#parts.application, record, field });
  }

  /** Decrypts a secret of an account; null where its encryption key does not exist any more. */
  decryptSecret(encryptedSecret: string, record: number, field: string): string | null {
    return this.#parts.services.secrets.decrypt(encryptedSecret, {
      application: this.#parts.application,
      record,
      field,
    });
  }

  /**
   * Rebuilds the conversations of an account.
   *
   * @returns null where a rebuild of the account is already running, here or on another server.
   * @throws ApiError `RECORD_UNKNOWN` where the account is deleted meanwhile.
   */
  rebuildConversations(account: MailAccount, ingestActor: IngestActor): Promise<ConversationRebuildResult | null> {
    const parts = { ...this.#parts, signal: this.#closing.signal };
    return parts.database.tryWithLock(`rethread ${account.id}`, () =>
      new ConversationRebuild(parts, account, ingestActor).run(),
    );
  }

  /** Removes blobs without references, at most once a day. @param now milliseconds since the Unix epoch. */
  async sweep(now: number): Promise<void> {
    if (now - this.#lastSweepTime < unreferencedGraceMilliseconds) return;
    this.#lastSweepTime = now;
    await sweepBlobs(this.#parts.database, this.#parts.blobs, now);
  }

  /** Whether background work is running, so that the application should not stay closed. */
  get isBusy(): boolean {
    return this.accountDeletion.isRunning || this.rebuild.isRunning;
  }

  /** Stops storing messages and all background work. */
  async close(): Promise<void> {
    this.ingest.close();
    this.#closing.abort();
    await Promise.all([this.accountDeletion.end(), this.rebuild.end(), this.#rebuilding]);
  }
}
