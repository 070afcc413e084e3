import type { AccessTable } from '../access/access-table.ts';
import { loadSnapshot, Snapshot } from '../applications/snapshot.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import { TokenHasher } from '../base/token.ts';
import type { Row } from '../database/database.ts';
import type { ReadOnlyStore } from '../database/shared-store.ts';
import { Authenticator } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { KeyUsageCounter } from '../journal/key-use.ts';
import { variableValues } from '../query/variables.ts';
import type { RecordContext } from '../records/record-context.ts';
import { RequestShapes } from '../records/request-shapes.ts';
import type { SentWrite } from '../records/sent-write.ts';
import type { SystemTraits } from '../schema/system-traits.ts';
import type { ReaderUses } from './reader-messages.ts';
import type { WriteSender } from './write-sender.ts';

export interface ReaderApplicationParts {
  readonly name: string;
  readonly store: ReadOnlyStore;
  readonly appKeys: readonly string[];
  readonly systemTraits: ReadonlyMap<string, SystemTraits>;
  readonly clock: Clock;
  readonly writes: WriteSender;
}

/** Parts of a context that only writes in the main thread use. */
const mainThreadOnly = {
  hooks: null,
  changes: undefined as never,
  webhooks: undefined as never,
  mail: undefined as never,
  requireCurrent: () => {},
  hashToken: (): never => {
    throw new Error('a reader creates no tokens');
  },
  refresh: async () => {},
} as const;

/**
 * An application as a reader sees it: its snapshot, its verified callers, and contexts for reads and for the writes that it plans.
 *
 * Every read is checked against the version of the snapshot, in the read transaction in which it runs. A cached credential belongs to the
 * same version. A revoked key or a changed permission therefore takes effect with the next request.
 */
export class ReaderApplication {
  readonly name: string;
  readonly authenticator: Authenticator;
  readonly keyUse = new KeyUsageCounter();
  readonly #shapes: RequestShapes;
  readonly #store: ReadOnlyStore;
  readonly #clock: Clock;
  readonly #writes: WriteSender;
  #snapshot: Snapshot;
  #loading: Promise<void> | null = null;
  #running = 0;
  #whenUnused: (() => void) | null = null;
  #isLoaded = false;

  constructor({ name, store, appKeys, systemTraits, clock, writes }: ReaderApplicationParts) {
    this.name = name;
    this.#snapshot = Snapshot.empty(systemTraits);
    this.#store = store;
    this.#clock = clock;
    this.#writes = writes;
    this.#shapes = new RequestShapes({ inspect: (statement) => store.inspect(statement), clock });
    const hashers = appKeys.map((key) => new TokenHasher(key));
    this.authenticator = new Authenticator(store, hashers, clock, () => this.#snapshot.registry.get('users'));
  }

  get registry(): Snapshot['registry'] {
    return this.#snapshot.registry;
  }

  get access(): AccessTable {
    return this.#snapshot.access;
  }

  /** Loads the definitions and permissions. */
  async open(): Promise<void> {
    await this.#load();
  }

  /**
   * Whether writes can be planned now. The main thread refuses those that were planned with a snapshot that is not current, so this opens no
   * read transaction, for which a checkpoint of the main thread might wait.
   */
  get isLoaded(): boolean {
    return this.#isLoaded && !this.#store.isClosed && !this.#loading;
  }

  /** Whether reads can be answered now. Begins to load the snapshot again if it is not current. */
  isCurrent(): boolean {
    if (this.#store.isClosed || this.#loading) return false;
    if (this.#isLoaded && this.#store.readVersion() === this.#snapshot.versions.version) return true;
    this.#load().catch(() => {}); // the next request tries again
    return false;
  }

  /** A view of the current snapshot for one caller. @param requestId of a write; null for a read. */
  createContext(caller: Caller, zone: string, requestId: string | null): RecordContext {
    const { registry, access, versions, cache } = this.#snapshot;
    const { version } = versions;
    const { findGrant, key } = this.#snapshot.findRoleGrants(caller.role);
    let values: Readonly<Record<string, unknown>> | undefined;
    return {
      ...mainThreadOnly,
      database: this.#store,
      registry,
      access,
      snapshotVersion: { version },
      findGrant,
      caller,
      variables: () => (values ??= variableValues(caller.role, caller.user, isoTime(this.#clock.now()))),
      cache,
      shapes: this.#shapes,
      clock: this.#clock,
      requestId,
      sendWrite: (write) => this.#sendWrite(version, write),
      grants: key,
      tx: null,
      secrets: null,
      zone,
    };
  }

  /** Runs a request. The application is closed after it. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#whenUnused?.();
    }
  }

  /** Resolves when no request is running. */
  async settle(): Promise<void> {
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenUnused = resolve;
    });
  }

  /** Counts a successful request of a key. */
  countSuccess({ type, credentialId }: Caller, endpoint: string): void {
    if (type === 'apiKey' && credentialId !== null) this.keyUse.countSuccess(credentialId, endpoint, this.#clock.now());
  }

  /** Returns the uses of credentials and indexes, and resets them; null if there are none. */
  takeUses(): ReaderUses | null {
    const credentials = this.authenticator.takeUses();
    const keys = this.keyUse.drain();
    const shapes = this.#shapes.drain();
    if (keys.length + credentials.keys.size + credentials.logins.size + shapes.length === 0) return null;
    return { name: this.name, keys, credentials, shapes };
  }

  async close(): Promise<void> {
    this.#shapes.close();
    await this.#loading?.catch(() => {});
    await this.#store.close();
  }

  async #sendWrite(version: number, write: SentWrite): Promise<Row[]> {
    try {
      return await this.#writes.send(this.name, version, write);
    } catch (error) {
      this.isCurrent(); // the snapshot is loaded again if that was the reason
      throw error;
    }
  }

  #load(): Promise<void> {
    this.#store.requireVersion(null);
    const loading = loadSnapshot(this.#store, this.#snapshot)
      .then((snapshot) => {
        this.#shapes.noteDefinitions(this.#snapshot.registry, snapshot.registry);
        this.#snapshot = snapshot;
        this.#isLoaded = true;
        this.authenticator.invalidate();
        this.#store.requireVersion(snapshot.versions.version);
      })
      .finally(() => {
        this.#loading = null;
      });
    this.#loading = loading;
    return loading;
  }
}
