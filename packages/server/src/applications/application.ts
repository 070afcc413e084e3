/**
 * One application: database, registry, access table, credentials, event log, and the plans made from them. Enters a
 * verified caller; leaves a {@link RecordContext} for the operations.
 */
import type { AccessTable } from '../access/access-table.ts';
import { buildGrants } from '../access/grants.ts';
import { makeAccessTable } from '../access/load-access.ts';
import type { BlobStore } from '../base/blob-store.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { SecretCipher } from '../base/secret-cipher.ts';
import { TokenHasher } from '../base/token.ts';
import { ChangeLog } from '../changes/change-log.ts';
import { type EventLimits, EventRetention } from '../changes/retention.ts';
import type { DefinitionContext, DefinitionDryRun } from '../collections/definition-context.ts';
import { readDefinitions, readVersions, type Versions } from '../database/catalogue.ts';
import { type Database, DatabaseFault, StaleVersion } from '../database/database.ts';
import { readPermissions, readRoles } from '../database/identity-store.ts';
import { EventManager } from '../extensions/event-manager.ts';
import type { Extension } from '../extensions/extension.ts';
import { Authenticator, anonymous } from '../identity/authenticator.ts';
import { type Caller, formatActor } from '../identity/caller.ts';
import type { SignInContext } from '../identity/sign-in.ts';
import { auditRegistry } from '../journal/audit-collection.ts';
import { AuditJournal } from '../journal/audit-journal.ts';
import { ChainSigner } from '../journal/hash-chain.ts';
import { type MailServices, MailStore } from '../mail/mail-store.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { GrantLookup } from '../query/grant.ts';
import { variableValues } from '../query/variables.ts';
import { createPlanCache, type PlanCache } from '../records/plan-cache.ts';
import type { RecordContext } from '../records/record-context.ts';
import { type GrantsKey, roleGrantsKey } from '../records/with-grants.ts';
import { buildNextRegistry } from '../schema/load-registry.ts';
import { Registry } from '../schema/registry.ts';
import { type Outbound, Webhooks } from '../webhooks/webhooks.ts';

/** The application that every server has; it keeps the list of the others. */
export const mainApplicationName = 'main';

export interface ApplicationParts {
  readonly name: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly appKey: string;
  readonly appKeyPrevious: string | null;
  readonly maxFields: number;
  readonly maxCollections: number;
  /** How long entries of the audit journal are kept, and how many. */
  readonly audit: { readonly days: number; readonly entries: number };
  readonly extensions: readonly Extension[];
  readonly mailServices: MailServices;
  /** Where the bytes of mail lie. */
  readonly blobs: BlobStore;
  /** What webhooks are sent through. */
  readonly outbound: Outbound;
  /** How long events are kept, and how many. */
  readonly events: EventLimits;
  /** Opens the store of the audit journal; null where its tables lie beside the application's. */
  readonly openJournal: () => Promise<Database | null>;
  /** Asked where other servers may have stopped or destroyed it meanwhile. @throws ApiError when it is not served now. */
  readonly requireServed: (() => Promise<void>) | null;
}

/** The grants of a role, and their part of the keys of cached plans. */
interface RoleGrants {
  readonly findGrant: GrantLookup;
  readonly key: GrantsKey;
}

interface Snapshot {
  readonly versions: Versions;
  readonly registry: Registry;
  readonly access: AccessTable;
  readonly grants: Map<string, RoleGrants>;
  readonly cache: PlanCache;
}

const maxAttempts = 10;
/** The longest wait before another attempt: writers that change who may do what step aside for each other. */
const maxBackoffMilliseconds = 100;
const keyUsageFlushMilliseconds = 30_000;

export class Application {
  readonly name: string;
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly authenticator: Authenticator;
  readonly journal: AuditJournal;
  readonly webhooks: Webhooks;
  readonly mail: MailStore;
  readonly clock: Clock;
  readonly #parts: ApplicationParts;
  readonly #hashers: readonly TokenHasher[];
  readonly #hooks: EventManager | null;
  readonly #retention: EventRetention;
  readonly #closing = new AbortController();
  #snapshot: Snapshot;
  #loading: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ApplicationParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.database = parts.database;
    this.clock = parts.clock;
    this.journal = createJournal(parts);
    const hooks = EventManager.of(parts.extensions, parts.name, parts.logger);
    this.#hooks = hooks;
    this.changes = new ChangeLog(
      parts.database,
      () => this.journal.wake(),
      hooks && ((events, time) => hooks.emitEvents(events, time)),
    );
    this.#retention = new EventRetention(this.changes, parts.events, parts.clock, parts.logger);
    const previousHashers = parts.appKeyPrevious === null ? [] : [new TokenHasher(parts.appKeyPrevious)];
    this.#hashers = [new TokenHasher(parts.appKey), ...previousHashers];
    this.authenticator = new Authenticator(parts.database, this.#hashers, parts.clock, () =>
      this.registry.get('users'),
    );
    this.webhooks = this.#createWebhooks(parts);
    this.mail = new MailStore({
      ...parts,
      application: parts.name,
      services: parts.mailServices,
      changes: this.changes,
      asServer: (work) => this.withCurrentSnapshot(() => work(this.recordContext(anonymous, null))),
    });
    this.#snapshot = createSnapshot({ version: 0, schema: -1 }, new Registry(0, new Map()), { roles: new Map() });
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

  /** Moves on with definitions, and with who may do what. */
  get version(): number {
    return this.#snapshot.versions.version;
  }

  /** Aborted when it is about to be closed: who holds it open for long lets go. */
  get closingSignal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Asks those who hold it open for long to let go. */
  signalClosing(): void {
    this.#closing.abort();
  }

  /** Forgets events that are over their time, as the clock would have it done. */
  pruneEvents(): Promise<void> {
    return this.#retention.prune();
  }

  /** Reads definitions and access; the stores must be there. */
  async open(): Promise<void> {
    await this.refresh();
    await this.changes.open();
    this.journal.begin();
    this.#retention.begin();
    this.#timer = setInterval(() => void this.#flushLastUsed(), keyUsageFlushMilliseconds);
    this.#timer.unref();
  }

  /** Writes what is only in memory and closes the database; everything acknowledged is on the disk before. */
  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#hooks?.close();
    await this.webhooks.close();
    await this.mail.close();
    this.signalClosing();
    await this.#retention.end();
    await this.#flushLastUsed();
    await this.journal.close();
    await this.database.close();
  }

  /** Takes up the current versions. Changes that come while it reads are taken up by the next statement that notices. */
  refresh(): Promise<void> {
    const reloading = (this.#loading ?? Promise.resolve()).then(() => this.#load());
    const settled = reloading.catch(() => {});
    this.#loading = settled;
    void settled.then(() => {
      if (this.#loading === settled) this.#loading = null;
    });
    return reloading;
  }

  /** Before work that carries no version in its statements: other nodes may have changed who may do what. */
  async ensureCurrent(): Promise<void> {
    if (await this.#isOutdated(this.#snapshot.versions.version)) await this.refresh();
  }

  /** Whether a credential holds here now. */
  async acceptsToken(token: string): Promise<boolean> {
    try {
      await this.authenticator.authenticate(token);
      return true;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  /** A token as it may be stored: under the current APP_KEY first. */
  hashTokenWithAllKeys(token: string): string[] {
    return this.#hashers.map((hasher) => hasher.hash(token));
  }

  /**
   * Runs work under the current snapshot, again when it moves on meanwhile. Where other nodes change it, a refusal may
   * come from what this one has not heard of yet: it holds only if the snapshot is still the current one, or if the work
   * has written something already ({@link ApiError.isFinal}).
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
          throw new ApiError('BUSY', 'The definitions change faster than the request can follow; try again.', {
            retryAfter: 1,
          });
        if (attempt > 1) await backOff(attempt);
        await this.refresh();
      }
    }
  }

  async #isOutdated(version: number): Promise<boolean> {
    return this.database.multiNode && (await readVersions(this.database)).version !== version;
  }

  recordContext(caller: Caller, requestId: string | null, zone = 'UTC'): RecordContext {
    const { registry, access, versions, cache } = this.#snapshot;
    const { findGrant, key } = this.#roleGrants(caller.role);
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
      changes: this.changes,
      clock: this.clock,
      webhooks: this.webhooks,
      mail: this.mail,
      hooks: this.#hooks,
      requestId,
      grants: key,
      tx: null,
      secrets: null,
      zone,
      requireCurrent: () => {
        if (this.#snapshot.versions.schema !== versions.schema) throw new StaleVersion();
      },
      hashToken: (token) => this.#hashers[0]!.hash(token),
      refresh: () => this.refresh(),
    };
  }

  /** A context in which the audit journal is read like a collection. */
  async auditContext(caller: Caller, requestId: string | null, zone: string): Promise<RecordContext> {
    const database = await this.journal.openFlushedStore();
    return { ...this.recordContext(caller, requestId, zone), database, registry: auditRegistry };
  }

  /** What logins are made with. */
  get signInContext(): SignInContext {
    const { database, clock } = this;
    return { database, clock, users: this.registry.get('users'), hashToken: (token) => this.#hashers[0]!.hash(token) };
  }

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
      actor: caller && formatActor(caller),
      caller: caller,
      requestId,
      hooks: this.#hooks,
      mayList: (name) => {
        const grant = caller && this.#roleGrants(caller.role).findGrant(name, 'list');
        return caller === null || (grant !== null && grant.rows === null);
      },
      maxFields: this.#parts.maxFields,
      maxCollections: this.#parts.maxCollections,
      dryRun,
      collectedEvents: null,
      tx: null,
      recordContext: (transaction) => ({
        ...this.recordContext(caller ?? anonymous, requestId),
        registry,
        snapshotVersion: { version: versions.version + 1 },
        tx: transaction,
        refresh: async () => {}, // the change itself is taken up when it is committed
      }),
      refresh: () => this.refresh(),
    };
  }

  #roleGrants(role: string): RoleGrants {
    const { grants, access, registry } = this.#snapshot;
    let roleGrants = grants.get(role);
    if (!roleGrants) {
      roleGrants = { findGrant: buildGrants(role, access, registry), key: roleGrantsKey(role) };
      grants.set(role, roleGrants);
    }
    return roleGrants;
  }

  /** The versions are read first: what changes after that makes the next guarded statement notice. */
  async #load(): Promise<void> {
    if (this.database.multiNode) await this.#parts.requireServed?.();
    const versions = await readVersions(this.database);
    const previous = this.#snapshot;
    let { registry } = previous;
    if (versions.schema !== previous.versions.schema) {
      registry = buildNextRegistry(
        registry,
        versions.schema,
        await readDefinitions(this.database, previous.versions.schema),
      );
    }
    // While an application is born its roles and permissions are not there yet.
    const hasSystemCollections = registry.find('permissions') !== null;
    const access = makeAccessTable(
      hasSystemCollections ? await readRoles(this.database) : [],
      hasSystemCollections ? await readPermissions(this.database) : [],
    );
    this.#snapshot = createSnapshot(versions, registry, access);
    this.authenticator.invalidate();
    this.webhooks.reload();
  }

  #createWebhooks({ name, database, clock, logger, outbound, appKey, appKeyPrevious }: ApplicationParts): Webhooks {
    const sealer = new SecretCipher(appKeyPrevious === null ? [appKey] : [appKey, appKeyPrevious]);
    return new Webhooks({
      application: name,
      database,
      changes: this.changes,
      clock,
      logger,
      secretCipher: sealer,
      outbound,
      runAs: (role, work) =>
        this.withCurrentSnapshot(() => work(this.recordContext({ ...anonymous, role, roles: [role] }, null))),
    });
  }

  async #flushLastUsed(): Promise<void> {
    try {
      await this.authenticator.flushLastUsed();
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'the last use of API keys could not be noted');
    }
  }
}

function createJournal(parts: ApplicationParts): AuditJournal {
  const { name, database, openJournal, clock, logger, appKey, appKeyPrevious, audit } = parts;
  const seals = new ChainSigner(name, appKeyPrevious === null ? [appKey] : [appKey, appKeyPrevious]);
  return new AuditJournal({ database, openStore: openJournal, signer: seals, clock, logger, ...audit });
}

function backOff(attempt: number): Promise<void> {
  const wait = Math.random() * Math.min(maxBackoffMilliseconds, 5 * 2 ** attempt);
  return new Promise((resolve) => setTimeout(resolve, wait));
}

function isStale(error: unknown): boolean {
  return error instanceof StaleVersion || (error instanceof DatabaseFault && error.kind === 'stale');
}

function createSnapshot(versions: Versions, registry: Registry, access: AccessTable): Snapshot {
  return {
    versions,
    registry,
    access,
    grants: new Map(),
    cache: createPlanCache(),
  };
}
