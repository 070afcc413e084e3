/** Mail of one application: what brings messages in, where their bytes lie, and how the secrets of accounts are kept. */
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

/** What the mail of every application of a server shares. */
export interface MailServices {
  readonly parser: IngestParts['parser'];
  readonly secrets: MailSecrets;
  /** Mail servers inside the network that accounts may name. */
  readonly allowed: OutboundAllow;
  /** Gets images of other places. */
  readonly outbound: Pick<OutboundClient, 'get'>;
}

export interface MailStoreParts extends Omit<IngestParts, 'parser'>, Pick<AccountDeletionParts, 'asServer'> {
  readonly application: string;
  readonly services: MailServices;
}

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

  /** Goes on with what an earlier run left. */
  begin(): void {
    this.accountDeletion.begin();
    this.rebuild.begin();
    this.#rebuilding = this.#rebuildOldThreads();
  }

  /** Makes the conversations that an earlier version of the server made by its rules, while requests are answered. */
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

  /** Resolves when the conversations of earlier versions are rebuilt. */
  get whenRebuilt(): Promise<void> {
    return this.#rebuilding;
  }

  /** Accounts were destroyed: what is in them goes from now on. */
  wakeAccountDeletion(): void {
    void this.accountDeletion.wake();
  }

  /** What is wrong with the host of a mail server; null: nothing. */
  hostProblem(host: string): string | null {
    return findHostProblem(host, this.#parts.services.allowed, 'MAIL_ALLOWED_PRIVATE_HOSTS');
  }

  /** Keeps a secret of an account, so that it opens for this account and field alone. */
  encryptSecret(text: string, record: number, field: string): string {
    return this.#parts.services.secrets.encrypt(text, { application: this.#parts.application, record, field });
  }

  /** A secret of an account; null where it was sealed under a key that is gone. */
  decryptSecret(encryptedSecret: string, record: number, field: string): string | null {
    return this.#parts.services.secrets.decrypt(encryptedSecret, {
      application: this.#parts.application,
      record,
      field,
    });
  }

  /** Makes the conversations of an account anew; null where somebody is at it already. @throws ApiError 404 where it is destroyed meanwhile. */
  rebuildConversations(account: MailAccount, ingestActor: IngestActor): Promise<ConversationRebuildResult | null> {
    const parts = { ...this.#parts, signal: this.#closing.signal };
    return parts.database.tryWithLock(`rethread ${account.id}`, () =>
      new ConversationRebuild(parts, account, ingestActor).run(),
    );
  }

  /** Removes bytes that nothing refers to any more, once a day. @param now milliseconds since the epoch. */
  async sweep(now: number): Promise<void> {
    if (now - this.#lastSweepTime < unreferencedGraceMilliseconds) return;
    this.#lastSweepTime = now;
    await sweepBlobs(this.#parts.database, this.#parts.blobs, now);
  }

  /** Whether work in the background is under way, so that the application is not to be left closed. */
  get isBusy(): boolean {
    return this.accountDeletion.isRunning || this.rebuild.isRunning;
  }

  /** Nothing is stored any more, and nothing taken away. */
  async close(): Promise<void> {
    this.ingest.close();
    this.#closing.abort();
    await Promise.all([this.accountDeletion.end(), this.rebuild.end(), this.#rebuilding]);
  }
}
