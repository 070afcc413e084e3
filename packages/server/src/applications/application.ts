/**
 * One application: database, registry, access table, credentials, event log, and the plans made from them. Enters a
 * verified caller; leaves a {@link RecordContext} for the operations.
 */
import type { AccessTable } from '../access/access-table.ts';
import { grantsOf } from '../access/grants.ts';
import { makeAccessTable } from '../access/load-access.ts';
import type { BlobStore } from '../base/blob-store.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Sealer } from '../base/seal.ts';
import { TokenHasher } from '../base/token.ts';
import { ChangeLog } from '../changes/change-log.ts';
import { type EventLimits, EventRetention } from '../changes/retention.ts';
import type { DefinitionContext, Trial } from '../collections/definition-context.ts';
import { readDefinitions, readVersions, type Versions } from '../database/catalogue.ts';
import { type Database, DatabaseFault, StaleVersion } from '../database/database.ts';
import { readPermissions, readRoles } from '../database/identity-store.ts';
import { EventManager } from '../extensions/event-manager.ts';
import type { Extension } from '../extensions/extension.ts';
import { Authenticator, anonymous } from '../identity/authenticator.ts';
import { actorOf, type Caller } from '../identity/caller.ts';
import type { SignInContext } from '../identity/sign-in.ts';
import { auditRegistry } from '../journal/audit-collection.ts';
import { AuditJournal } from '../journal/audit-journal.ts';
import { Seals } from '../journal/hash-chain.ts';
import { type MailMeans, MailStore } from '../mail/mail-store.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { GrantOf } from '../query/grant.ts';
import { variableValues } from '../query/variables.ts';
import { type PlanCache, planCache } from '../records/plan-cache.ts';
import type { RecordContext } from '../records/record-context.ts';
import { type GrantsKey, roleGrantsKey } from '../records/with-grants.ts';
import { changedRegistry } from '../schema/load-registry.ts';
import { Registry } from '../schema/registry.ts';
import { type Outbound, Webhooks } from '../webhooks/webhooks.ts';

/** The application that every server has; it keeps the list of the others. */
export const mainName = 'main';

export interface ApplicationParts {
  readonly name: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly appKey: string;
  readonly appKeyPrevious: string | null;
  readonly maximumFields: number;
  readonly maximumCollections: number;
  /** How long entries of the audit journal are kept, and how many. */
  readonly audit: { readonly days: number; readonly entries: number };
  readonly extensions: readonly Extension[];
  readonly mailMeans: MailMeans;
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
  readonly grantOf: GrantOf;
  readonly key: GrantsKey;
}

interface Snapshot {
  readonly versions: Versions;
  readonly registry: Registry;
  readonly access: AccessTable;
  readonly grants: Map<string, RoleGrants>;
  readonly cache: PlanCache;
}

const attempts = 10;
/** The longest wait before another attempt: writers that change who may do what step aside for each other. */
const longestWaitMilliseconds = 100;
const useFlushMilliseconds = 30_000;

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
  readonly #leaving = new AbortController();
  #snapshot: Snapshot;
  #loading: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ApplicationParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.database = parts.database;
    this.clock = parts.clock;
    this.journal = journalOf(parts);
    const hooks = EventManager.of(parts.extensions, parts.name, parts.logger);
    this.#hooks = hooks;
    this.changes = new ChangeLog(
      parts.database,
      () => this.journal.wake(),
      hooks && ((events, at) => hooks.told(events, at)),
    );
    this.#retention = new EventRetention(this.changes, parts.events, parts.clock, parts.logger);
    const former = parts.appKeyPrevious === null ? [] : [new TokenHasher(parts.appKeyPrevious)];
    this.#hashers = [new TokenHasher(parts.appKey), ...former];
    this.authenticator = new Authenticator(parts.database, this.#hashers, parts.clock, () =>
      this.registry.get('users'),
    );
    this.webhooks = this.#webhooksOf(parts);
    this.mail = new MailStore({
      ...parts,
      application: parts.name,
      means: parts.mailMeans,
      changes: this.changes,
      asServer: (work) => this.current(() => work(this.recordContext(anonymous, null))),
    });
    this.#snapshot = snapshot({ version: 0, schema: -1 }, new Registry(0, new Map()), { roles: new Map() });
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
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Asks those who hold it open for long to let go. */
  withdraw(): void {
    this.#leaving.abort();
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
    this.#timer = setInterval(() => void this.#flushUse(), useFlushMilliseconds);
    this.#timer.unref();
  }

  /** Writes what is only in memory and closes the database; everything acknowledged is on the disk before. */
  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#hooks?.close();
    await this.webhooks.close();
    await this.mail.close();
    this.withdraw();
    await this.#retention.end();
    await this.#flushUse();
    await this.journal.close();
    await this.database.close();
  }

  /** Takes up the current versions. Changes that come while it reads are taken up by the next statement that notices. */
  refresh(): Promise<void> {
    const after = (this.#loading ?? Promise.resolve()).then(() => this.#load());
    const settled = after.catch(() => {});
    this.#loading = settled;
    void settled.then(() => {
      if (this.#loading === settled) this.#loading = null;
    });
    return after;
  }

  /** Before work that carries no version in its statements: other nodes may have changed who may do what. */
  async ensureCurrent(): Promise<void> {
    if (await this.#movedOn(this.#snapshot.versions.version)) await this.refresh();
  }

  /** Whether a credential holds here now. */
  async accepts(token: string): Promise<boolean> {
    try {
      await this.authenticator.authenticate(token);
      return true;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  /** A token as it may be stored: under the current APP_KEY first. */
  hashesOf(token: string): string[] {
    return this.#hashers.map((hasher) => hasher.hash(token));
  }

  /**
   * Runs work under the current snapshot, again when it moves on meanwhile. Where other nodes change it, a refusal may
   * come from what this one has not heard of yet: it holds only if the snapshot is still the current one, or if the work
   * has written something already ({@link ApiError.isFinal}).
   */
  async current<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const { version } = this.#snapshot.versions;
      try {
        return await work();
      } catch (error) {
        const refused = error instanceof ApiError && error.code !== 'RATE_LIMITED' && !error.isFinal;
        if (!(isStale(error) || (refused && (await this.#movedOn(version))))) throw error;
        if (attempt === attempts)
          throw new ApiError('BUSY', 'The definitions change faster than the request can follow; try again.', {
            retryAfter: 1,
          });
        if (attempt > 1) await aside(attempt);
        await this.refresh();
      }
    }
  }

  async #movedOn(version: number): Promise<boolean> {
    return this.database.dialect.shared && (await readVersions(this.database)).version !== version;
  }

  recordContext(caller: Caller, requestId: string | null, zone = 'UTC'): RecordContext {
    const { registry, access, versions, cache } = this.#snapshot;
    const { grantOf, key } = this.#grantsOf(caller.role);
    let values: Readonly<Record<string, unknown>> | undefined;
    return {
      database: this.database,
      registry,
      access,
      at: { version: versions.version },
      grantOf,
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
      inside: null,
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
    const database = await this.journal.settled();
    return { ...this.recordContext(caller, requestId, zone), database, registry: auditRegistry };
  }

  /** What logins are made with. */
  get signInContext(): SignInContext {
    const { database, clock } = this;
    return { database, clock, users: this.registry.get('users'), hashToken: (token) => this.#hashers[0]!.hash(token) };
  }

  definitionContext(caller: Caller | null, requestId: string | null, trial: Trial | null = null): DefinitionContext {
    const { registry, versions } = this.#snapshot;
    return {
      database: this.database,
      registry,
      version: versions.version,
      changes: this.changes,
      clock: this.clock,
      actor: caller && actorOf(caller),
      by: caller,
      requestId,
      hooks: this.#hooks,
      mayList: (name) => {
        const grant = caller && this.#grantsOf(caller.role).grantOf(name, 'list');
        return caller === null || (grant !== null && grant.rows === null);
      },
      maximumFields: this.#parts.maximumFields,
      maximumCollections: this.#parts.maximumCollections,
      trial,
      noted: null,
      inside: null,
      recordContext: (transaction) => ({
        ...this.recordContext(caller ?? anonymous, requestId),
        registry,
        at: { version: versions.version + 1 },
        inside: transaction,
        refresh: async () => {}, // the change itself is taken up when it is committed
      }),
      refresh: () => this.refresh(),
    };
  }

  #grantsOf(role: string): RoleGrants {
    const { grants, access, registry } = this.#snapshot;
    let ofRole = grants.get(role);
    if (!ofRole) {
      ofRole = { grantOf: grantsOf(role, access, registry), key: roleGrantsKey(role) };
      grants.set(role, ofRole);
    }
    return ofRole;
  }

  /** The versions are read first: what changes after that makes the next guarded statement notice. */
  async #load(): Promise<void> {
    if (this.database.dialect.shared) await this.#parts.requireServed?.();
    const versions = await readVersions(this.database);
    const former = this.#snapshot;
    let { registry } = former;
    if (versions.schema !== former.versions.schema) {
      registry = changedRegistry(
        registry,
        versions.schema,
        await readDefinitions(this.database, former.versions.schema),
      );
    }
    // While an application is born its roles and permissions are not there yet.
    const born = registry.find('permissions') !== null;
    const access = makeAccessTable(
      born ? await readRoles(this.database) : [],
      born ? await readPermissions(this.database) : [],
    );
    this.#snapshot = snapshot(versions, registry, access);
    this.authenticator.forget();
    this.webhooks.reload();
  }

  #webhooksOf({ name, database, clock, logger, outbound, appKey, appKeyPrevious }: ApplicationParts): Webhooks {
    const sealer = new Sealer(appKeyPrevious === null ? [appKey] : [appKey, appKeyPrevious]);
    return new Webhooks({
      application: name,
      database,
      changes: this.changes,
      clock,
      logger,
      sealer,
      outbound,
      as: (role, work) => this.current(() => work(this.recordContext({ ...anonymous, role, roles: [role] }, null))),
    });
  }

  async #flushUse(): Promise<void> {
    try {
      await this.authenticator.flushUse();
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'the last use of API keys could not be noted');
    }
  }
}

function journalOf(parts: ApplicationParts): AuditJournal {
  const { name, database, openJournal, clock, logger, appKey, appKeyPrevious, audit } = parts;
  const seals = new Seals(name, appKeyPrevious === null ? [appKey] : [appKey, appKeyPrevious]);
  return new AuditJournal({ database, openStore: openJournal, seals, clock, logger, ...audit });
}

function aside(attempt: number): Promise<void> {
  const wait = Math.random() * Math.min(longestWaitMilliseconds, 5 * 2 ** attempt);
  return new Promise((resolve) => setTimeout(resolve, wait));
}

function isStale(error: unknown): boolean {
  return error instanceof StaleVersion || (error instanceof DatabaseFault && error.kind === 'stale');
}

function snapshot(versions: Versions, registry: Registry, access: AccessTable): Snapshot {
  return {
    versions,
    registry,
    access,
    grants: new Map(),
    cache: planCache(),
  };
}
