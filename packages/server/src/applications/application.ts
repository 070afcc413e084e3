/**
 * One application: database, registry, access table, credentials and event log. Input: a verified caller. Output: a
 * {@link RecordContext} for the operations.
 */

import type { BlobStore } from '../base/blob-store.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import { ConcurrencyLimiter } from '../base/concurrency-limiter.ts';
import { listAppKeys } from '../base/config.ts';
import type { Logger } from '../base/logger.ts';
import { SecretCipher } from '../base/secret-cipher.ts';
import type { ServerHealth } from '../base/server-health.ts';
import { TokenHasher } from '../base/token.ts';
import { ChangeLog } from '../changes/change-log.ts';
import { type EventLimits, EventRetention } from '../changes/retention.ts';
import type { DefinitionContext, DefinitionDryRun } from '../collections/definition-context.ts';
import { SearchIndexBuilder } from '../collections/search-index-builder.ts';
import { type Database, StaleVersion } from '../database/database.ts';
import { loadUser } from '../database/user-rows.ts';
import { EventManager } from '../extensions/event-manager.ts';
import type { Extension } from '../extensions/extension.ts';
import { FileStore } from '../files/file-store.ts';
import type { UploadLimits } from '../files/multipart.ts';
import type { ThumbnailPool } from '../files/thumbnail-pool.ts';
import { Authenticator, anonymous } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import type { SignInContext } from '../identity/sign-in.ts';
import { auditRegistry } from '../journal/audit-collection.ts';
import { AuditJournal } from '../journal/audit-journal.ts';
import { ChainSigner } from '../journal/hash-chain.ts';
import { type MailServices, MailStore, type MailStoreParts } from '../mail/mail-store.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { variableValues } from '../query/variables.ts';
import type { RecordContext } from '../records/record-context.ts';
import { RequestShapes } from '../records/request-shapes.ts';
import type { Registry } from '../schema/registry.ts';
import { ImportJobs } from '../transfer/import/import-jobs.ts';
import type { Outbound } from '../webhooks/send-message.ts';
import { Webhooks } from '../webhooks/webhooks.ts';
import { createImportCallers } from './import-callers.ts';
import { loadSnapshot, Snapshot } from './snapshot.ts';
import { backOff, hasOtherVersion, isStale } from './stale-snapshot.ts';
import { systemTraits } from './system-definitions.ts';

/** The application that every server has; its store holds the list of the others. */
export const mainApplicationName = 'main';

export interface ApplicationParts extends Pick<MailStoreParts, 'handOver'> {
  /** Whether the store of an earlier version may be upgraded. */
  readonly mayUpgrade: boolean;
  readonly name: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly appKey: string;
  readonly appKeyPrevious: string | null;
  /** Limits of definitions. They may change while the application is open. */
  readonly definitionLimits: { readonly maxFields: number; readonly maxCollections: number };
  readonly uploadLimits: UploadLimits;
  /** Retention of the audit journal: days and number of entries. */
  readonly audit: { readonly days: number; readonly entries: number };
  readonly extensions: readonly Extension[];
  readonly mailServices: MailServices;
  readonly thumbnailPool: ThumbnailPool;
  /** Stores the bytes of files and mail. */
  readonly blobs: BlobStore;
  readonly outbound: Outbound;
  readonly health: ServerHealth;
  /** Retention of events: days and number of entries. */
  readonly events: EventLimits;
  /** Opens the separate store of the audit journal; null if its tables are in the application's store. */
  readonly openJournal: () => Promise<Database | null>;
  /** Checks that no other server has stopped or destroyed it. @throws ApiError if it is not served now. */
  readonly requireServed: (() => Promise<void>) | null;
}

/** The parts that all applications of a server share. */
export type CommonParts = Omit<ApplicationParts, OwnPart>;
type OwnPart = 'name' | 'database' | 'blobs' | 'openJournal' | 'requireServed' | 'handOver';

const maxAttempts = 10;
const keyUsageFlushMilliseconds = 30_000;

/**
 * One application and everything that works on its store.
 *
 *     const application = new Application(parts);
 *     await application.open(); // the tables must exist, see bootstrap.ts
 *     application.webhooks.begin();
 *     const caller = await application.authenticator.authenticate(token);
 *     await application.withCurrentSnapshot(() => {
 *       const context = application.recordContext(caller, requestId);
 *       return listRecords(context, context.registry.get('posts'), request);
 *     });
 *     await application.close();
 */
export class Application {
  readonly name: string;
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly authenticator: Authenticator;
  readonly journal: AuditJournal;
  readonly webhooks: Webhooks;
  readonly mail: MailStore;
  readonly files: FileStore;
  /** The exports that are under way, by sender. */
  readonly exportSlots = new ConcurrencyLimiter(limits.exportsOfSender, limits.exports);
  readonly imports: ImportJobs;
  /** The shapes of the reads of this application on this server. */
  readonly shapes: RequestShapes;
  readonly clock: Clock;
  readonly #parts: ApplicationParts;
  readonly #hasher: TokenHasher;
  readonly #previousHashers: readonly TokenHasher[];
  readonly #hooks: EventManager | null;
  readonly #retention: EventRetention;
  readonly #searchIndexes: SearchIndexBuilder;
  readonly #closing = new AbortController();
  #snapshot = Snapshot.empty(systemTraits);
  #loading: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ApplicationParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.database = parts.database;
    this.clock = parts.clock;
    this.shapes = new RequestShapes({ clock: parts.clock, inspect: (statement) => parts.database.inspect(statement) });
    this.journal = createJournal(parts);
    const hooks = EventManager.of(parts.extensions, parts.name, parts.logger);
    this.#hooks = hooks;
    this.changes = new ChangeLog(
      parts.database,
      () => this.journal.wake(),
      hooks && ((events, time) => hooks.emitEvents(events, time)),
    );
    this.#retention = new EventRetention({ ...parts, log: this.changes, limits: parts.events });
    this.#searchIndexes = new SearchIndexBuilder(this, parts.health.reporter(`${parts.name}: search indexes`));
    this.#hasher = new TokenHasher(parts.appKey);
    this.#previousHashers = parts.appKeyPrevious === null ? [] : [new TokenHasher(parts.appKeyPrevious)];
    const hashers = [this.#hasher, ...this.#previousHashers];
    this.authenticator = new Authenticator(parts.database, hashers, parts.clock, () => this.registry.get('users'));
    this.webhooks = this.#createWebhooks(parts);
    const asServer = <T>(work: (context: RecordContext) => Promise<T>): Promise<T> =>
      this.withCurrentSnapshot(() => work(this.recordContext(anonymous, null)));
    this.files = new FileStore({ ...parts, asServer });
    const importCallers = createImportCallers(this, (user, role) => this.#getUserContext(user, role));
    this.imports = new ImportJobs({ ...parts, changes: this.changes, ...importCallers });
    this.mail = new MailStore({
      ...parts,
      application: parts.name,
      services: parts.mailServices,
      changes: this.changes,
      asServer,
      withRuleContexts: (work) =>
        this.withCurrentSnapshot(() =>
          work({
            server: this.recordContext(anonymous, null),
            getUserContext: (user, role) => this.#getUserContext(user, role),
          }),
        ),
    });
  }

  get extensions(): readonly Extension[] {
    return this.#parts.extensions;
  }

  get registry(): Registry {
    return this.#snapshot.registry;
  }

  get logger(): Logger {
    return this.#parts.logger;
  }

  /** Whether other servers may use the same store. */
  get isShared(): boolean {
    return this.database.multiNode;
  }

  /** Increases with every change of definitions or permissions. */
  get version(): number {
    return this.#snapshot.versions.version;
  }

  /** Aborted before the application is closed: long-lived users of it must end. */
  get closingSignal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Signals long-lived users of the application, such as sockets, to end. */
  signalClosing(): void {
    this.#closing.abort();
  }

  /** Deletes events that exceed the retention now. */
  pruneEvents(): Promise<void> {
    return this.#retention.prune();
  }

  /** Reads definitions and permissions and starts background work. The tables must exist. */
  async open(): Promise<void> {
    await this.refresh();
    await this.changes.open();
    this.journal.begin();
    this.#retention.start();
    this.#searchIndexes.start();
    this.#timer = setInterval(() => void this.#flushLastUsed(), keyUsageFlushMilliseconds);
    this.#timer.unref();
  }

  /**
   * Ends background work, writes everything that is only in memory, and closes the database. Acknowledged writes are
   * already on disk. Each part is ended even if another one fails, for example because the store no longer exists.
   *
   * @throws the first error.
   */
  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.shapes.close();
    const errors: unknown[] = [];
    for (const part of [this.#hooks, this.imports, this.webhooks, this.mail])
      await part?.close().catch((error: unknown) => errors.push(error));
    this.signalClosing();
    await Promise.all([this.#retention.stop(), this.#searchIndexes.stop()]);
    await this.#flushLastUsed();
    for (const part of [this.journal, this.database]) await part.close().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }

  /** Loads the current snapshot. A change during the load is detected by the next guarded statement. */
  refresh(): Promise<void> {
    const reloading = (this.#loading ?? Promise.resolve()).then(() => this.#load());
    const settled = reloading.catch(() => {});
    this.#loading = settled;
    void settled.then(() => {
      if (this.#loading === settled) this.#loading = null;
    });
    return reloading;
  }

  /** For work whose statements do not check the version: another server may have changed permissions. */
  async ensureCurrent(): Promise<void> {
    if (await this.#isOutdated(this.#snapshot.versions.version)) await this.refresh();
  }

  /** Whether a credential is valid in this application now. */
  async acceptsToken(token: string): Promise<boolean> {
    try {
      await this.authenticator.authenticate(token);
      return true;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  /** The hash under which a new token is stored. */
  hashToken(token: string): string {
    return this.#hasher.hash(token);
  }

  /** The hashes under which a token may be stored: first by the current APP_KEY, then by the previous one. */
  hashTokenWithAllKeys(token: string): string[] {
    return [this.#hasher, ...this.#previousHashers].map((hasher) => hasher.hash(token));
  }

  /**
   * Runs work under the current snapshot, and repeats it if the snapshot is outdated. If other servers share the store,
   * a refusal may come from an outdated snapshot. It is final only if the snapshot is still current, or if the work has
   * already written something ({@link ApiError.isFinal}).
   *
   * @throws ApiError `BUSY` if definitions or permissions changed during every attempt.
   */
  async withCurrentSnapshot<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const { version } = this.#snapshot.versions;
      try {
        return await work();
      } catch (error) {
        const refused = error instanceof ApiError && error.code !== 'RATE_LIMITED' && !error.isFinal;
        if (!(isStale(error) || (refused && (await this.#isOutdated(version))))) throw error;
        if (attempt === maxAttempts)
          throw new ApiError(
            'BUSY',
            'Definitions or permissions changed during every attempt of the request. Try again.',
            {
              retryAfter: 1,
            },
          );
        if (attempt > 1) await backOff(attempt);
        await this.refresh();
      }
    }
  }

  async #isOutdated(version: number): Promise<boolean> {
    return this.isShared && (await hasOtherVersion(this.database, version));
  }

  /** What operations on records need: a view of the current snapshot for one caller. */
  recordContext(caller: Caller, requestId: string | null, zone = 'UTC'): RecordContext {
    const { registry, access, versions, cache } = this.#snapshot;
    const { findGrant, key } = this.#snapshot.findRoleGrants(caller.role);
    let values: Readonly<Record<string, unknown>> | undefined;
    return {
      database: this.database,
      registry,
      access,
      snapshotVersion: { version: versions.version },
      findGrant,
      caller,
      variables: () => (values ??= variableValues(caller.role, caller.user, isoTime(this.clock.now()))),
      cache,
      shapes: this.shapes,
      changes: this.changes,
      clock: this.clock,
      webhooks: this.webhooks,
      mail: this.mail,
      hooks: this.#hooks,
      sendWrite: null,
      requestId,
      grants: key,
      tx: null,
      secrets: null,
      zone,
      requireCurrent: () => {
        if (this.#snapshot.versions.schema !== versions.schema) throw new StaleVersion();
      },
      hashToken: (token) => this.hashToken(token),
      refresh: () => this.refresh(),
    };
  }

  /**
   * The context of a user without a request, in one of the user's roles; null if the user is not active or does not
   * have the role.
   */
  async #getUserContext(id: number, role: string): Promise<RecordContext | null> {
    const user = await loadUser(this.database, this.registry.get('users'), id);
    if (user?.['status'] !== 'active' || !user.roles.includes(role)) return null;
    return this.recordContext({ ...anonymous, type: 'session', role, roles: user.roles, user }, null);
  }

  /** A context that reads the audit journal like a collection. */
  async auditContext(caller: Caller, requestId: string | null, zone: string): Promise<RecordContext> {
    const database = await this.journal.openFlushedStore();
    return { ...this.recordContext(caller, requestId, zone), database, registry: auditRegistry };
  }

  /** What creating a login needs. */
  get signInContext(): SignInContext {
    const { database, clock } = this;
    return { database, clock, users: this.registry.get('users'), hashToken: (token) => this.hashToken(token) };
  }

  /** What changes of definitions need. @param caller null: the server itself. */
  definitionContext(
    caller: Caller | null,
    requestId: string | null,
    dryRun: DefinitionDryRun | null = null,
  ): DefinitionContext {
    const { registry, versions } = this.#snapshot;
    return {
      database: this.database,
      registry,
      version: versions.version,
      changes: this.changes,
      clock: this.clock,
      caller,
      requestId,
      hooks: this.#hooks,
      mayList: (name) => {
        const grant = caller && this.#snapshot.findRoleGrants(caller.role).findGrant(name, 'list');
        return caller === null || (grant !== null && grant.rows === null);
      },
      maxFields: this.#parts.definitionLimits.maxFields,
      maxCollections: this.#parts.definitionLimits.maxCollections,
      dryRun,
      collectedEvents: null,
      tx: null,
      recordContext: (transaction) => ({
        ...this.recordContext(caller ?? anonymous, requestId),
        registry,
        snapshotVersion: { version: versions.version + 1 },
        tx: transaction,
        refresh: async () => {}, // the snapshot is loaded again after the commit
      }),
      refresh: () => this.refresh(),
    };
  }

  async #load(): Promise<void> {
    if (this.isShared) await this.#parts.requireServed?.();
    const { registry } = this.#snapshot;
    this.#snapshot = await loadSnapshot(this.database, this.#snapshot);
    this.shapes.noteDefinitions(registry, this.#snapshot.registry);
    this.authenticator.invalidate();
    this.webhooks.reload();
    this.#searchIndexes.wake();
  }

  #createWebhooks({ name, database, clock, logger, outbound, ...keys }: ApplicationParts): Webhooks {
    const secretCipher = new SecretCipher(listAppKeys(keys));
    return new Webhooks({
      application: name,
      database,
      changes: this.changes,
      clock,
      logger,
      secretCipher,
      outbound,
      runAs: (role, work) =>
        this.withCurrentSnapshot(() => work(this.recordContext({ ...anonymous, role, roles: [role] }, null))),
    });
  }

  async #flushLastUsed(): Promise<void> {
    const warn = (err: unknown): void => this.logger.warn({ err }, 'The last use of API keys could not be stored.');
    await this.authenticator.flushLastUsed().catch(warn);
  }
}

function createJournal(parts: ApplicationParts): AuditJournal {
  const signer = new ChainSigner(parts.name, listAppKeys(parts));
  return new AuditJournal({ ...parts, openStore: parts.openJournal, signer, retention: parts.audit });
}
