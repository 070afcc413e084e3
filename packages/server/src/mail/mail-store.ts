/** Mail of one application: what brings messages in, where their bytes lie, and how the secrets of accounts are kept. */
import type { BlobStore } from '../base/blob-store.ts';
import type { MailSecrets } from '../base/mail-secrets.ts';
import type { OutboundClient } from '../base/outbound.ts';
import { hostProblem, type OutboundAllow } from '../base/outbound-address.ts';
import { accountsWithOldThreads } from '../database/mail/account-rows.ts';
import { sweepBlobs, unreferredMilliseconds } from './blobs/sweep-blobs.ts';
import { RemoteImages } from './remote-images.ts';
import { AccountRemoval, type AccountRemovalParts } from './store/account-removal.ts';
import type { IngestBy, MailAccount } from './store/incoming-mail.ts';
import { IndexRebuild } from './store/index-rebuild.ts';
import { type IngestParts, MailIngest } from './store/ingest.ts';
import { type Rethreaded, Rethreading } from './store/rethread.ts';

/** What the mail of every application of a server shares. */
export interface MailMeans {
  readonly parser: IngestParts['parser'];
  readonly secrets: MailSecrets;
  /** Mail servers inside the network that accounts may name. */
  readonly allowed: OutboundAllow;
  /** Gets images of other places. */
  readonly outbound: Pick<OutboundClient, 'get'>;
}

export interface MailStoreParts extends Omit<IngestParts, 'parser'>, Pick<AccountRemovalParts, 'asServer'> {
  readonly application: string;
  readonly means: MailMeans;
}

export class MailStore {
  readonly ingest: MailIngest;
  readonly blobs: BlobStore;
  readonly images: RemoteImages;
  readonly removal: AccountRemoval;
  readonly rebuild: IndexRebuild;
  readonly #parts: MailStoreParts;
  readonly #closing = new AbortController();
  #rebuilding: Promise<void> = Promise.resolve();
  #sweptAt = 0;

  constructor(parts: MailStoreParts) {
    this.#parts = parts;
    this.ingest = new MailIngest({ ...parts, parser: parts.means.parser });
    this.blobs = parts.blobs;
    this.images = new RemoteImages(parts.means.outbound);
    this.removal = new AccountRemoval(parts);
    this.rebuild = new IndexRebuild(parts);
  }

  /** Goes on with what an earlier run left. */
  begin(): void {
    this.removal.begin();
    this.rebuild.begin();
    this.#rebuilding = this.#rebuildOldThreads();
  }

  /** Makes the conversations that an earlier version of the server made by its rules, while requests are answered. */
  async #rebuildOldThreads(): Promise<void> {
    const { database, logger } = this.#parts;
    const { signal } = this.#closing;
    try {
      for (const account of await accountsWithOldThreads(database))
        await this.rethread(account, { actor: null, requestId: null });
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'the conversations of a mail account could not be rebuilt');
    }
  }

  /** Resolves when the conversations of earlier versions are rebuilt. */
  get rebuilt(): Promise<void> {
    return this.#rebuilding;
  }

  /** Accounts were destroyed: what is in them goes from now on. */
  takeAway(): void {
    void this.removal.wake();
  }

  /** What is wrong with the host of a mail server; null: nothing. */
  hostProblem(host: string): string | null {
    return hostProblem(host, this.#parts.means.allowed, 'MAIL_ALLOWED_PRIVATE_HOSTS');
  }

  /** Keeps a secret of an account, so that it opens for this account and field alone. */
  seal(text: string, record: number, field: string): string {
    return this.#parts.means.secrets.seal(text, { application: this.#parts.application, record, field });
  }

  /** A secret of an account; null where it was sealed under a key that is gone. */
  open(sealed: string, record: number, field: string): string | null {
    return this.#parts.means.secrets.open(sealed, { application: this.#parts.application, record, field });
  }

  /** Makes the conversations of an account anew; null where somebody is at it already. @throws ApiError 404 where it is destroyed meanwhile. */
  rethread(account: MailAccount, by: IngestBy): Promise<Rethreaded | null> {
    const parts = { ...this.#parts, signal: this.#closing.signal };
    return parts.database.unlessUnderWay(`rethread ${account.id}`, () => new Rethreading(parts, account, by).run());
  }

  /** Removes bytes that nothing refers to any more, once a day. @param now milliseconds since the epoch. */
  async sweep(now: number): Promise<void> {
    if (now - this.#sweptAt < unreferredMilliseconds) return;
    this.#sweptAt = now;
    await sweepBlobs(this.#parts.database, this.#parts.blobs, now);
  }

  /** Whether work in the background is under way, so that the application is not to be left closed. */
  get busy(): boolean {
    return this.removal.running || this.rebuild.running;
  }

  /** Nothing is stored any more, and nothing taken away. */
  async close(): Promise<void> {
    this.ingest.close();
    this.#closing.abort();
    await Promise.all([this.removal.end(), this.rebuild.end(), this.#rebuilding]);
  }
}
