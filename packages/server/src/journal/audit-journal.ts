/**
 * The audit journal and the usage of keys of one application, in a separate store. Input: administrative actions,
 * refused requests, uses of keys. Output: hash-chained entries, the result of verifying the chain, and counts.
 *
 * No action is lost: it is stored in the application's store, in the transaction of the change, until it is chained
 * here. Refusals and counts are collected in memory and written twice a minute and at the end. A crash loses those that
 * have not been written yet.
 */
import { BackgroundWorker } from '../base/background-worker.ts';
import { type Clock, dayMilliseconds, isoTime } from '../base/clock.ts';
import { FifoLock } from '../base/fifo-lock.ts';
import type { Logger } from '../base/logger.ts';
import { type AdminAction, recordAdminAction } from '../changes/admin-actions.ts';
import {
  type ChainEnds,
  type ChainName,
  deleteAdminActions,
  findKnownSources,
  hasAdminActions,
  readAdminActions,
  readAuditCheckpoint,
  type StoredAdminAction,
  writeAuditCheckpoint,
} from '../database/audit-rows.ts';
import { auditLockKey, createAuditTables } from '../database/audit-tables.ts';
import { type Database, DatabaseFault, type Transaction } from '../database/database.ts';
import {
  addKeyUse,
  deleteKeyUse,
  findExistingKeys,
  readKeysWithUse,
  readKeyUse,
  type StoredKeyUse,
} from '../database/key-use-rows.ts';
import {
  type ChainCheckpoint,
  type ChainReport,
  chainNames,
  extendChain,
  type NewEntry,
  type OpenChain,
  pruneBatchSize,
  pruneChain,
  verifyChain,
} from './chain.ts';
import type { ChainSigner } from './hash-chain.ts';
import { makePrunedEntry, toEntries } from './journal-entries.ts';
import { KeyUsageCounter, maxCountedEndpoints } from './key-use.ts';
import { type Refusal, RefusalCounter, toRefusalEntries } from './refusals.ts';

export interface AuditJournalParts {
  /** The application's store, in which actions wait. */
  readonly database: Database;
  /** Opens the separate store of the journal; null if its tables are in the application's store. */
  readonly openStore: () => Promise<Database | null>;
  readonly signer: ChainSigner;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Days after which entries are deleted, and their maximum number. The maximum for refusals is a quarter of it. Both
   * settings may change.
   */
  readonly retention: { readonly days: number; readonly entries: number };
}

/** Actions within this time are chained together. */
const chainDelayMilliseconds = 20;
const flushMilliseconds = 30_000;
/** Refusals are counted for this long before they become entries. */
const refusalWindowMilliseconds = 60_000;
const pruneIntervalMilliseconds = 3_600_000;
const pruneEntries = 1000;
const adminActionBatchSize = 200;
const keyBatchSize = 200;
const maxUsedEndpoints = 10;

/** The audit journal of one application. */
export class AuditJournal {
  readonly #parts: AuditJournalParts;
  readonly #refusals = new RefusalCounter();
  readonly #keyUsage = new KeyUsageCounter();
  /** Serialises work on the store. */
  readonly #lock = new FifoLock();
  readonly #chaining: BackgroundWorker;
  readonly #flushing: BackgroundWorker;
  #store: Promise<Database> | null = null;
  #verifying: Promise<ChainReport> | null = null;
  #refusalsSince = 0;
  #prunedAt = 0;
  #entriesSincePrune = 0;

  constructor(parts: AuditJournalParts) {
    this.#parts = parts;
    const onError = (error: unknown): void => this.#logError(error);
    this.#chaining = new BackgroundWorker({
      run: () => this.#lock.run(() => this.#chainPending()),
      onError,
      debounceMilliseconds: chainDelayMilliseconds,
    });
    this.#flushing = new BackgroundWorker({
      run: () => this.#flush(false),
      onError,
      intervalMilliseconds: flushMilliseconds,
    });
  }

  /** Starts background work, and chains the actions that an earlier run left. */
  begin(): void {
    this.#chaining.start();
    this.#flushing.start();
    this.wake();
  }

  /** Chains waiting actions soon. */
  wake(): void {
    this.#chaining.wake();
  }

  /** Writes what is collected in memory and closes the store. */
  async close(): Promise<void> {
    const isBegun = !this.#flushing.isStopped;
    await Promise.all([this.#chaining.stop(), this.#flushing.stop()]);
    // An application that is opened only to check a login may be stopped for a move, so nothing may be written to its store.
    if (isBegun) await this.#flush(true).catch((error: unknown) => this.#logError(error));
    const { database } = this.#parts;
    const store = await this.#store?.catch(() => null);
    if (store && store !== database) await store.close();
  }

  /** Stores an action that has no event; it is durable when this resolves. */
  async appendAdminAction(adminAction: Omit<AdminAction, 'uid'>): Promise<void> {
    const { database } = this.#parts;
    await database.write((transaction) => recordAdminAction(database, transaction, adminAction));
    this.wake();
  }

  /** Counts a refused request, or a call of a tool that changed nothing, in memory. */
  recordRefusal(refusal: Refusal): void {
    if (this.#refusals.size === 0) this.#refusalsSince = this.#parts.clock.now();
    this.#refusals.count(refusal);
  }

  /** Counts uses of keys in memory. */
  get keyUse(): KeyUsageCounter {
    return this.#keyUsage;
  }

  /** The store, after everything that is in memory has been written to it. */
  async openFlushedStore(): Promise<Database> {
    await this.#flush(true);
    return this.#openStore();
  }

  /** Verifies every entry. Concurrent calls share one run. */
  verify(): Promise<ChainReport> {
    this.#verifying ??= this.#verifyChains().finally(() => {
      this.#verifying = null;
    });
    return this.#verifying;
  }

  /** The usage of a key on all servers; null if it was never used. Counts of other servers are up to a minute old. */
  async readUsage(key: number): Promise<StoredKeyUse | null> {
    return readKeyUse(await this.openFlushedStore(), key, maxUsedEndpoints);
  }

  async #verifyChains(): Promise<ChainReport> {
    const store = await this.openFlushedStore();
    const reports: ChainReport[] = [];
    for (const chain of chainNames) reports.push(await this.#verifyOneChain(store, chain));
    return mergeReports(reports);
  }

  /** Verifies again after a failure: entries may have been pruned during the first run. */
  async #verifyOneChain(store: Database, chain: ChainName): Promise<ChainReport> {
    const { database, signer } = this.#parts;
    const verifyOnce = async (): Promise<ChainReport> =>
      verifyChain(store, chain, await readAuditCheckpoint(database, chain), signer);
    const first = await verifyOnce();
    return first.valid ? first : verifyOnce();
  }

  #flush(all: boolean): Promise<void> {
    return this.#lock.run(async () => {
      await this.#chainPending();
      const now = this.#parts.clock.now();
      if (this.#refusals.size > 0 && (all || now - this.#refusalsSince >= refusalWindowMilliseconds))
        await this.#writeRefusals();
      if (this.#keyUsage.size > 0) await this.#writeKeyUse();
      await this.#considerPruning(now);
    });
  }

  /** Chains the actions that wait in the application's store. */
  async #chainPending(): Promise<void> {
    const { database } = this.#parts;
    while (await hasAdminActions(database)) {
      const store = await this.#openStore();
      const chainedCount =
        store === database ? await this.#chainInOneStore(store) : await this.#chainAcrossStores(store);
      this.#entriesSincePrune += chainedCount;
    }
  }

  /** Uses one transaction, because the journal is in the application's store. */
  #chainInOneStore(store: Database): Promise<number> {
    return store.write(
      async (transaction) => {
        const adminActions = await readAdminActions(store, transaction, adminActionBatchSize);
        const { count } = await this.#chainAdminActions(store, transaction, adminActions, null);
        await deleteAdminActions(store, transaction, listIds(adminActions));
        return count;
      },
      { lockKey: auditLockKey },
    );
  }

  /** With two stores, an action is chained before it is deleted, and skipped if an earlier run has already chained it. */
  async #chainAcrossStores(store: Database): Promise<number> {
    const { database } = this.#parts;
    // A write resolves only when what it has read is durable: nothing is chained that a crash could undo.
    const adminActions = await database.write((transaction) =>
      readAdminActions(database, transaction, adminActionBatchSize),
    );
    const checkpoint = await readAuditCheckpoint(database, 'acts');
    const { count: chainedCount, end } = await store.write(
      (transaction) => this.#chainAdminActions(store, transaction, adminActions, checkpoint),
      {
        lockKey: auditLockKey,
      },
    );
    await database.write(async (transaction) => {
      await deleteAdminActions(database, transaction, listIds(adminActions));
      if (end) await writeAuditCheckpoint(database, transaction, 'acts', end);
    });
    return chainedCount;
  }

  async #chainAdminActions(
    store: Database,
    transaction: Transaction,
    pending: readonly StoredAdminAction[],
    checkpoint: ChainCheckpoint,
  ): Promise<{ count: number; end: ChainEnds | null }> {
    const adminActions = pending.map(({ act: adminAction }) => adminAction as AdminAction);
    const known = await findKnownSources(
      store,
      transaction,
      adminActions.map(({ uid }) => uid),
    );
    const entries = adminActions.filter(({ uid }) => !known.has(uid)).flatMap(toEntries);
    const destroyedKeys = adminActions.filter(({ resource, destroyed }) => destroyed && resource === 'apiKeys');
    if (destroyedKeys.length > 0)
      await deleteKeyUse(
        store,
        transaction,
        destroyedKeys.flatMap(({ targets }) => targets.map(Number)),
      );
    if (entries.length === 0) return { count: 0, end: null };
    const chain: OpenChain = { journal: store, transaction, name: 'acts', signer: this.#parts.signer };
    const { end, isIntact } = await extendChain(chain, entries, checkpoint);
    this.#reportBrokenChain('acts', isIntact);
    return { count: entries.length, end };
  }

  async #writeRefusals(): Promise<void> {
    const counts = this.#refusals.drain();
    try {
      await this.#chain('refusals', toRefusalEntries(counts));
    } catch (error) {
      this.#refusals.restore(counts);
      throw error;
    }
  }

  async #chain(chain: ChainName, entries: readonly NewEntry[]): Promise<void> {
    const { database, signer } = this.#parts;
    const store = await this.#openStore();
    const checkpoint = await readAuditCheckpoint(database, chain);
    const { end, isIntact } = await store.write(
      (transaction) => extendChain({ journal: store, transaction, name: chain, signer }, entries, checkpoint),
      { lockKey: auditLockKey },
    );
    this.#reportBrokenChain(chain, isIntact);
    this.#entriesSincePrune += entries.length;
    if (store !== database)
      await database.write((transaction) => writeAuditCheckpoint(database, transaction, chain, end));
  }

  #reportBrokenChain(chain: ChainName, isIntact: boolean): void {
    const message =
      'The audit journal was changed outside of the server, or APP_KEY has changed. Call audit:verify for details.';
    if (!isIntact) this.#parts.logger.error({ chain }, message);
  }

  async #writeKeyUse(): Promise<void> {
    const { database } = this.#parts;
    const store = await this.#openStore();
    const usage = this.#keyUsage.drain();
    for (let from = 0; from < usage.length; from += keyBatchSize) {
      const batch = usage.slice(from, from + keyBatchSize);
      const existing = await findExistingKeys(
        database,
        batch.map(({ id }) => id),
      );
      const existingUsage = batch.filter(({ id }) => existing.has(id));
      await store.write((transaction) => addKeyUse(store, transaction, existingUsage, maxCountedEndpoints), {
        lockKey: 'key use',
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #considerPruning(now: number): Promise<void> {
    if (this.#store === null) return;
    if (now - this.#prunedAt < pruneIntervalMilliseconds && this.#entriesSincePrune < pruneEntries) return;
    this.#prunedAt = now;
    this.#entriesSincePrune = 0;
    for (const chain of chainNames) await this.#prune(chain, now);
    await this.#deleteUnusedKeys();
  }

  async #prune(chain: ChainName, now: number): Promise<void> {
    const { retention: limits, signer } = this.#parts;
    const { days, entries } = limits;
    const store = await this.#openStore();
    const maxEntries = chain === 'refusals' ? Math.ceil(entries / 4) : entries;
    const retention = { after: isoTime(now - days * dayMilliseconds), maxEntries };
    let count = 0;
    for (let pruned = pruneBatchSize; pruned >= pruneBatchSize; count += pruned)
      pruned = await store.write(
        (transaction) => pruneChain({ journal: store, transaction, name: chain, signer }, retention),
        { lockKey: auditLockKey },
      );
    if (count > 0) await this.#chain('acts', [{ ...makePrunedEntry(chain, count), at: isoTime(now) }]);
  }

  /** Removes the usage of keys that no longer exist. Keys that were deleted with their user left no action. */
  async #deleteUnusedKeys(): Promise<void> {
    const { database } = this.#parts;
    const store = await this.#openStore();
    const known = await readKeysWithUse(store);
    const existing = await findExistingKeys(database, known);
    const deletedKeys = known.filter((id) => !existing.has(id));
    if (deletedKeys.length > 0)
      await store.write((transaction) => deleteKeyUse(store, transaction, deletedKeys), { lockKey: 'key use' });
  }

  /** Opens the store on first use, so that an application without entries has no second store open. */
  #openStore(): Promise<Database> {
    if (this.#store) return this.#store;
    const { database, openStore } = this.#parts;
    const opening = (async () => {
      const ownStore = await openStore().catch(throwUnavailable);
      try {
        await createAuditTables(ownStore ?? database);
      } catch (error) {
        await ownStore?.close();
        throw error;
      }
      return ownStore ?? database;
    })();
    this.#store = opening;
    opening.catch(() => {
      this.#store = null;
    });
    return opening;
  }

  /** For work without a caller. Pending actions stay stored, and the next flush tries again. */
  #logError(error: unknown): void {
    this.#parts.logger.warn({ err: error }, 'The audit journal could not be written. The next flush tries again.');
  }
}

function throwUnavailable(error: unknown): never {
  throw error instanceof DatabaseFault ? error : new DatabaseFault('disk', error);
}

function listIds(adminActions: readonly StoredAdminAction[]): number[] {
  return adminActions.map(({ id }) => id);
}

function mergeReports(reports: readonly ChainReport[]): ChainReport {
  const findMinimum = <T extends string | number>(values: readonly (T | null)[]): T | null =>
    values.reduce((one, other) => (one === null || (other !== null && other < one) ? other : one), null);
  return {
    entries: reports.reduce((sum, { entries }) => sum + entries, 0),
    from: findMinimum(reports.map(({ from }) => from)),
    to: reports.reduce<string | null>((one, { to }) => (one === null || (to !== null && to > one) ? to : one), null),
    valid: reports.every(({ valid }) => valid),
    firstBroken: findMinimum(reports.map(({ firstBroken }) => firstBroken)),
  };
}
