/** Mail of one application: storing messages and their bytes, background work, and the secrets of accounts. */
import type { BackgroundWorker } from '../base/background-worker.ts';
import { type BlobStore, unreferencedGraceMilliseconds } from '../base/blob-store.ts';
import { isoTime } from '../base/clock.ts';
import type { DnsResolver } from '../base/dns-resolver.ts';
import type { MailSecrets } from '../base/mail-secrets.ts';
import type { Mailer } from '../base/mailer.ts';
import { OutboundClient } from '../base/outbound.ts';
import { findHostProblem } from '../base/outbound-address.ts';
import type { Tracing } from '../base/tracing/tracing.ts';
import { AccountPresence } from '../database/mail/account-presence.ts';
import { findAccountsWithOldThreads } from '../database/mail/account-rows.ts';
import { readSyncStatus } from '../database/mail/lease-rows.ts';
import { pruneNotifications } from '../database/mail/note-rows.ts';
import { mailLimits } from '../protocol/mail-limits.ts';
import { AuthenticityChecks } from './authenticity/authenticity-checks.ts';
import type { ApplyRulesParts } from './automation/apply-rules.ts';
import { MailAutomation } from './automation/mail-automation.ts';
import { sweepBlobs } from './blobs/sweep-blobs.ts';
import { CampaignSender } from './campaigns/campaign-sender.ts';
import type { RecipientActions } from './campaigns/recipient-actions.ts';
import { AccountConnections } from './connect/account-connections.ts';
import type { ConnectServices } from './connect/connect-services.ts';
import { findPlainProblem } from './connect/guarded-connection.ts';
import { DeliveryArrivals } from './delivery/delivery-arrivals.ts';
import { findSentCopy } from './delivery/find-sent-copy.ts';
import { MailDelivery, type MailDeliveryParts } from './delivery/mail-delivery.ts';
import { createSmtpConnector } from './delivery/smtp-connector.ts';
import { sendOneClick } from './list-unsubscribe.ts';
import type { PushKeys } from './push/push-keys.ts';
import { PushNotifications } from './push/push-notifications.ts';
import { RemoteImages } from './remote-images.ts';
import { AccountDeletion, type AccountDeletionParts } from './store/account-deletion.ts';
import type { IngestActor, MailAccount } from './store/incoming-mail.ts';
import { createIndexRebuild } from './store/index-rebuild.ts';
import { type IngestParts, MailIngest } from './store/ingest.ts';
import { MailOperations } from './store/mail-operations.ts';
import type { ConversationRebuildResult } from './store/rebuild-conversations.ts';
import { ServerMail } from './store/server-mail.ts';
import { BodyFetcher } from './sync/body-fetcher.ts';
import { MailSync } from './sync/mail-sync.ts';
import { RunningBodies } from './sync/running-bodies.ts';
import type { SyncServices } from './sync/sync-services.ts';
import { SnoozeReturns } from './team/snooze-returns.ts';

/** What the mail of all applications of a server shares. */
export interface MailServices extends ConnectServices {
  readonly parser: IngestParts['parser'];
  readonly sync: SyncServices;
  /** False: messages stay in the outbox (`MAIL_DELIVERY=off`). */
  readonly delivers: boolean;
  readonly secrets: MailSecrets;
  /** Sends Web Push messages. */
  readonly push: Pick<OutboundClient, 'post' | 'findUrlProblem'>;
  /** Sends the server's own e-mails; null: SMTP_URL is not set. */
  readonly mailer: Pick<Mailer, 'send'> | null;
  /** Reads the keys and policies of senders; null: no name server is queried. */
  readonly dns: DnsResolver | null;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
}

/** What the mail of an application works with. */
export interface MailStoreParts
  extends Omit<IngestParts, 'parser' | 'wakeChecks' | 'onNewMail' | 'arrivals'>,
    Pick<AccountDeletionParts, 'asServer'>,
    Pick<MailDeliveryParts, 'handOver'>,
    Pick<ApplyRulesParts, 'withRuleContexts'> {
  readonly application: string;
  readonly services: MailServices;
}

/** The mail of one application. */
export class MailStore {
  readonly ingest: MailIngest;
  readonly blobs: BlobStore;
  readonly images: RemoteImages;
  readonly accountDeletion: AccountDeletion;
  readonly rebuild: BackgroundWorker;
  readonly authenticity: AuthenticityChecks;
  /** Stores what mail servers report. */
  readonly server: ServerMail;
  /** The changes that mail servers have yet to receive. */
  readonly operations: MailOperations;
  /** Finds and tests the mail servers of accounts, for requests. */
  readonly connections: AccountConnections;
  /** Synchronises accounts with their IMAP servers. */
  readonly sync: MailSync;
  /** Rules for arriving mail, and vacation replies. */
  readonly automation: MailAutomation;
  /** Sends campaigns. */
  readonly campaigns: CampaignSender;
  /** Opens snoozed and closed conversations again. */
  readonly snoozes: SnoozeReturns;
  /** Sends Web Push messages to the browsers of users. */
  readonly push: PushNotifications;
  /** Sends what waits in the outbox. */
  readonly delivery: MailDelivery;
  readonly #parts: MailStoreParts;
  readonly #closing = new AbortController();
  #rebuilding: Promise<void> = Promise.resolve();
  #lastSweepTime = 0;
  #onOperations: (account: number) => void = () => {};
  readonly #bodies: BodyFetcher;
  #fetchBody: (emailId: number) => Promise<boolean>;

  constructor(given: MailStoreParts) {
    const parts = { ...given, presence: new AccountPresence(given.database) };
    this.#parts = parts;
    const { parser, dns } = parts.services;
    this.authenticity = new AuthenticityChecks({ ...parts, parser, dns });
    this.automation = new MailAutomation({ ...parts, mail: this });
    this.campaigns = new CampaignSender({ ...parts, mail: this });
    this.push = new PushNotifications({
      ...parts,
      outbound: parts.services.push,
      publicUrl: parts.services.oauth.publicUrl,
      encryptSecret: (...secret) => this.encryptSecret(...secret),
      decryptSecret: (...secret) => this.decryptSecret(...secret),
    });
    this.snoozes = new SnoozeReturns({ ...parts, wakePush: () => this.push.wake() });
    this.ingest = new MailIngest({
      ...parts,
      parser,
      arrivals: new DeliveryArrivals({ ...parts, onSettled: () => this.delivery.wake() }),
      wakeChecks: () => this.authenticity.wake(),
      onNewMail: async (transaction, account, emails) => {
        await this.snoozes.reopenAnswered(transaction, emails);
        await this.automation.enqueue(transaction, account, emails);
        await this.push.queueNewMail(transaction, emails);
      },
    });
    this.blobs = parts.blobs;
    this.connections = new AccountConnections(parts);
    this.images = new RemoteImages(parts.services.outbound);
    this.accountDeletion = new AccountDeletion(parts);
    this.rebuild = createIndexRebuild(parts);
    const serverParts = { ...parts, wakeOperations: (account: number) => this.wakeOperations(account) };
    this.server = new ServerMail({ ...serverParts, ingest: this.ingest });
    this.operations = new MailOperations(serverParts);
    const running = new RunningBodies();
    this.sync = new MailSync(parts, { serverMail: this.server, operations: this.operations, running });
    this.#bodies = new BodyFetcher({ ...parts, running }, this.server);
    this.#fetchBody = (emailId) => this.#bodies.fetch(emailId);
    this.setOperationListener((account) => this.sync.wakeOperations(account));
    this.delivery = new MailDelivery({
      ...parts,
      ingest: this.ingest,
      connector: createSmtpConnector(parts),
      findSentCopy: (account, messageId, signal) => findSentCopy(parts, account, messageId, signal),
    });
  }

  /** Starts the background work, beginning with what an earlier run left. */
  begin(): void {
    this.sync.begin(this.delivery.isShared);
    this.accountDeletion.begin();
    this.rebuild.start();
    void this.rebuild.runNow();
    this.authenticity.begin();
    this.automation.begin();
    if (this.#parts.services.delivers) {
      this.delivery.begin();
      this.campaigns.begin();
      this.push.begin();
    }
    this.snoozes.begin();
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

  /** Sets what is called after a commit that queued operations for the mail server of an account. */
  setOperationListener(listener: (account: number) => void): void {
    this.#onOperations = listener;
  }

  /** Reports that operations of an account wait. */
  wakeOperations(account: number): void {
    this.#onOperations(account);
  }

  /** Replaces what reads the body of a headers-first e-mail from its mail server, in tests. It returns whether the body is stored now. */
  setBodyFetcher(fetchBody: (emailId: number) => Promise<boolean>): void {
    this.#fetchBody = fetchBody;
  }

  /**
   * Reads the body of an e-mail from its mail server, if only its headers are stored.
   *
   * @returns false if it cannot be read now.
   * @throws ApiError `MAIL_BODY_REMOTE` with the reason and the cure; `MAIL_BODY_DELETED` if the server no longer has
   * the message.
   */
  fetchBody(emailId: number): Promise<boolean> {
    return this.#fetchBody(emailId);
  }

  /** Sends the server's own e-mails; null: SMTP_URL is not set. */
  get mailer(): Pick<Mailer, 'send'> | null {
    return this.#parts.services.mailer;
  }

  /** Leaves a mailing list, see {@link sendOneClick}. */
  unsubscribe(url: string): Promise<void> {
    return sendOneClick(this.#parts.services.outbound, url);
  }

  /** The address of the server in messages; null: it is not known. */
  get publicUrl(): string | null {
    return this.#parts.services.oauth.publicUrl;
  }

  /** Why a browser may not be subscribed with an address of a push service; null: it may. Only private addresses need no TLS. */
  findPushProblem(endpoint: unknown): string | null {
    const problem = this.#parts.services.push.findUrlProblem(endpoint);
    if (problem !== null || /^https:/i.test(String(endpoint))) return problem;
    return new OutboundClient().findUrlProblem(endpoint) === null ? 'The endpoint must begin with https://.' : null;
  }

  /** The key pair by which push services recognise the application. */
  async loadPushKeys(): Promise<PushKeys> {
    const { loadPushKeys } = await import('./push/push-keys.ts');
    return loadPushKeys({
      database: this.#parts.database,
      encryptSecret: (...secret) => this.encryptSecret(...secret),
      decryptSecret: (...secret) => this.decryptSecret(...secret),
    });
  }

  /** The name of the application. */
  get application(): string {
    return this.#parts.application;
  }

  /** What recipients of campaigns do by the links in their message. */
  async loadRecipientActions(): Promise<RecipientActions> {
    const { RecipientActions } = await import('./campaigns/recipient-actions.ts');
    return new RecipientActions(this.#parts, this);
  }

  /** Looks for due messages in the outbox. */
  wakeDelivery(): void {
    this.delivery.wake();
  }

  /** Sends push messages that were queued. */
  wakePush(): void {
    this.push.wake();
  }

  /** Looks for the next end of a snooze. */
  wakeSnoozes(): void {
    this.snoozes.wake();
  }

  /** Why an account may not name a host as its mail server; null: it may. */
  hostProblem(host: string): string | null {
    return findHostProblem(host, this.#parts.services.allowed, 'MAIL_ALLOWED_PRIVATE_HOSTS');
  }

  /** Why an account may not use a host without TLS; null: it may, or its addresses are checked when it is resolved. */
  plainProblem(host: string): string | null {
    return findPlainProblem(host, this.#parts.services.allowed);
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
    return parts.database.tryWithLock(`rethread ${account.id}`, async () => {
      const { ConversationRebuild } = await import('./store/rebuild-conversations.ts');
      return new ConversationRebuild(parts, account, ingestActor).run();
    });
  }

  /** Removes blobs without references and old tombstones, at most once a day. @param now milliseconds since the Unix epoch. */
  async sweep(now: number): Promise<void> {
    if (now - this.#lastSweepTime < unreferencedGraceMilliseconds) return;
    this.#lastSweepTime = now;
    await sweepBlobs(this.#parts.database, this.#parts.blobs, now);
    await this.operations.sweepTombstones(now);
    await this.automation.prune(now);
    await pruneNotifications(this.#parts.database, isoTime(now - mailLimits.notificationDays * 86_400_000));
  }

  /** Starts to synchronise an account with its changed settings. Called after the commit. */
  wakeSync(): void {
    this.sync.wake();
  }

  /**
   * Synchronises an account now. One that waits after a failure is tried again.
   *
   * @returns its status; null where it has no IMAP server.
   */
  async retrySync(account: number): Promise<string | null> {
    const status = await readSyncStatus(this.#parts.database, account);
    if (status !== null) await this.sync.retry(account);
    return status;
  }

  /** Whether background work is running, so that the application should not stay closed. */
  get isBusy(): boolean {
    const workers = [this.accountDeletion, this.rebuild, this.authenticity, this.automation, this.campaigns, this.push];
    return this.mustStayOpen || this.delivery.isBusy || workers.some((worker) => worker.isRunning);
  }

  /** Whether accounts are synchronised, so that the application must stay open. */
  get mustStayOpen(): boolean {
    return this.sync.isBusy;
  }

  /**
   * When a message of the outbox or a campaign is due, or a snooze ends, in milliseconds since the Unix epoch; null if nothing waits.
   */
  async nextDue(): Promise<number | null> {
    const waits = this.#parts.services.delivers
      ? [this.delivery, this.campaigns, this.push, this.snoozes]
      : [this.snoozes];
    const due = (await Promise.all(waits.map((each) => each.nextDue()))).filter((each) => each !== null);
    return due.length === 0 ? null : Math.min(...due);
  }

  /** Stops storing messages and all background work. */
  async close(): Promise<void> {
    this.connections.close();
    this.sync.signalEnd();
    await this.campaigns.end();
    await Promise.all([this.delivery.end(), this.#bodies.close()]);
    this.ingest.close();
    this.#closing.abort();
    await Promise.all([
      this.sync.end(),
      this.accountDeletion.end(),
      this.rebuild.stop(),
      this.authenticity.end(),
      this.automation.end(),
      this.snoozes.end(),
      this.push.end(),
      this.#rebuilding,
    ]);
  }
}
