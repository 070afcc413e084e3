/**
 * The audit journal and the key statistics of one application, in a store of their own. Enter: acts that wait beside the
 * data, refused requests, uses of keys. Leave: chained entries, whether the chain holds, and counts.
 *
 * Acts lose nothing: they wait in the application's store, committed with what was done, until they are chained here.
 * Refusals and counts are gathered in memory and written twice a minute and at the end; a crash loses the last of them.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { FifoLock } from '../base/fifo-lock.ts';
import type { Logger } from '../base/logger.ts';
import { type Act, noteAct } from '../changes/acts.ts';
import {
  type AuditContent,
  auditTurn,
  type ChainEnds,
  type ChainName,
  deleteActs,
  hasActs,
  knownSources,
  makeAuditTables,
  noteWitness,
  readActs,
  readWitness,
  type StoredAct,
} from '../database/audit-rows.ts';
import { type Database, DatabaseFault, type Transaction } from '../database/database.ts';
import {
  addKeyUse,
  deleteKeyUse,
  existingKeys,
  keysWithUse,
  readKeyUse,
  type StoredKeyUse,
} from '../database/key-use-rows.ts';
import { type ChainReport, extend, type NewEntry, prune, prunedAtOnce, verify, type Witness } from './chain.ts';
import type { Seals } from './hash-chain.ts';
import { endpointsCounted, KeyUse } from './key-use.ts';
import { type Refusal, Refusals, refusalEntries } from './refusals.ts';

export interface AuditJournalParts {
  /** Of the application: acts wait in it. */
  readonly database: Database;
  /** Opens the journal's own store; null where its tables lie beside the application's. */
  readonly openStore: () => Promise<Database | null>;
  readonly seals: Seals;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Days that entries are kept. */
  readonly days: number;
  /** Entries that are kept; of refusals a quarter of it. */
  readonly entries: number;
}

/** Acts that come close behind each other are chained together. */
const gatherMilliseconds = 20;
const flushMilliseconds = 30_000;
/** Refusals are counted for this long before they become entries. */
const refusalMilliseconds = 60_000;
const pruneMilliseconds = 3_600_000;
const pruneEntries = 1000;
const actsAtOnce = 200;
const keysAtOnce = 200;
/** An act on more targets is one entry with their number. */
const mostTargets = 100;
const mostUsedEndpoints = 10;
const day = 86_400_000;
const chains: readonly ChainName[] = ['acts', 'refusals'];

export class AuditJournal {
  readonly #parts: AuditJournalParts;
  readonly #refusals = new Refusals();
  readonly #keyUse = new KeyUse();
  /** Work on the store, one piece at a time. */
  readonly #turn = new FifoLock();
  #store: Promise<Database> | null = null;
  #verifying: Promise<ChainReport> | null = null;
  #gathering: NodeJS.Timeout | null = null;
  #timer: NodeJS.Timeout | null = null;
  #refusalsSince = 0;
  #prunedAt = 0;
  #entriesSincePrune = 0;
  #closed = false;

  constructor(parts: AuditJournalParts) {
    this.#parts = parts;
  }

  /** Begins to write down what is gathered, and takes over what an earlier run left. */
  begin(): void {
    this.#timer = setInterval(() => void this.#quietly(() => this.#flush(false)), flushMilliseconds).unref();
    this.wake();
  }

  /** There are acts to be chained. */
  wake(): void {
    if (this.#closed) return;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      void this.#quietly(() => this.#turn.run(() => this.#takeOver()));
    }, gatherMilliseconds).unref();
  }

  /** Writes down what was gathered and closes the store. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#quietly(() => this.#flush(true));
    const { database } = this.#parts;
    const store = await this.#store?.catch(() => null);
    if (store && store !== database) await store.close();
  }

  /** Notes an act that has no event of its own; durable when this resolves. */
  async note(act: Omit<Act, 'uid'>): Promise<void> {
    const { database } = this.#parts;
    await database.write((transaction) => noteAct(database, transaction, act));
    this.wake();
  }

  /** Costs a look into a map. */
  refused(refusal: Refusal): void {
    if (this.#refusals.size === 0) this.#refusalsSince = this.#parts.clock.now();
    this.#refusals.note(refusal);
  }

  /** Counts of keys, made on the path of every request. */
  get keyUse(): KeyUse {
    return this.#keyUse;
  }

  /** The store with all that was gathered in it: what a reader sees is up to date on this server. */
  async settled(): Promise<Database> {
    await this.#flush(true);
    return this.#opened();
  }

  /** Looks at every entry; callers at the same time share one look. */
  verify(): Promise<ChainReport> {
    this.#verifying ??= this.#verified().finally(() => {
      this.#verifying = null;
    });
    return this.#verifying;
  }

  /** What is known of a key's use on all servers; null for one that was never used. Others are up to a minute behind. */
  async useOf(key: number): Promise<StoredKeyUse | null> {
    return readKeyUse(await this.settled(), key, mostUsedEndpoints);
  }

  async #verified(): Promise<ChainReport> {
    const store = await this.settled();
    const reports: ChainReport[] = [];
    for (const chain of chains) reports.push(await this.#verifiedChain(store, chain));
    return both(reports);
  }

  /** Somebody may prune meanwhile: what looks broken is looked at once more. */
  async #verifiedChain(store: Database, chain: ChainName): Promise<ChainReport> {
    const { database, seals } = this.#parts;
    const look = async (): Promise<ChainReport> => verify(store, chain, await readWitness(database, chain), seals);
    const first = await look();
    return first.valid ? first : look();
  }

  #flush(all: boolean): Promise<void> {
    this.#gatherNoMore();
    return this.#turn.run(async () => {
      await this.#takeOver();
      const now = this.#parts.clock.now();
      if (this.#refusals.size > 0 && (all || now - this.#refusalsSince >= refusalMilliseconds))
        await this.#writeRefusals();
      if (this.#keyUse.size > 0) await this.#writeKeyUse();
      await this.#considerPruning(now);
    });
  }

  /** What was to be taken over soon is taken over now. */
  #gatherNoMore(): void {
    if (this.#gathering) clearTimeout(this.#gathering);
    this.#gathering = null;
  }

  /** Chains the acts that wait beside the data. */
  async #takeOver(): Promise<void> {
    const { database } = this.#parts;
    while (await hasActs(database)) {
      const store = await this.#opened();
      const taken = store === database ? await this.#takeInOne(store) : await this.#takeAcross(store);
      this.#entriesSincePrune += taken;
    }
  }

  /** One transaction where both lie in one store. */
  #takeInOne(store: Database): Promise<number> {
    return store.write(
      async (transaction) => {
        const acts = await readActs(store, transaction, actsAtOnce);
        const { count } = await this.#chainActs(store, transaction, acts, null);
        await deleteActs(store, transaction, idsOf(acts));
        return count;
      },
      { turn: auditTurn },
    );
  }

  /** Two stores: an act is chained before it is deleted, and passed over where an earlier run came so far. */
  async #takeAcross(store: Database): Promise<number> {
    const { database } = this.#parts;
    // In a write, since that resolves when what it has read is on the disk: nothing is chained that could be taken back.
    const acts = await database.write((transaction) => readActs(database, transaction, actsAtOnce));
    const witness = await readWitness(database, 'acts');
    const { count, end } = await store.write((transaction) => this.#chainActs(store, transaction, acts, witness), {
      turn: auditTurn,
    });
    await database.write(async (transaction) => {
      await deleteActs(database, transaction, idsOf(acts));
      if (end) await noteWitness(database, transaction, 'acts', end);
    });
    return count;
  }

  async #chainActs(
    store: Database,
    transaction: Transaction,
    waiting: readonly StoredAct[],
    witness: Witness,
  ): Promise<{ count: number; end: ChainEnds | null }> {
    const acts = waiting.map(({ act }) => act as Act);
    const known = await knownSources(
      store,
      transaction,
      acts.map(({ uid }) => uid),
    );
    const entries = acts.filter(({ uid }) => !known.has(uid)).flatMap(entriesOf);
    const gone = acts.filter(({ resource, destroyed }) => destroyed && resource === 'apiKeys');
    if (gone.length > 0)
      await deleteKeyUse(
        store,
        transaction,
        gone.flatMap(({ targets }) => targets.map(Number)),
      );
    if (entries.length === 0) return { count: 0, end: null };
    const { end, whole } = await extend(store, transaction, 'acts', entries, this.#parts.seals, witness);
    this.#look('acts', whole);
    return { count: entries.length, end };
  }

  async #writeRefusals(): Promise<void> {
    const counted = this.#refusals.take();
    try {
      await this.#chain('refusals', refusalEntries(counted));
    } catch (error) {
      this.#refusals.giveBack(counted);
      throw error;
    }
  }

  async #chain(chain: ChainName, entries: readonly NewEntry[]): Promise<void> {
    const { database, seals } = this.#parts;
    const store = await this.#opened();
    const witness = await readWitness(database, chain);
    const { end, whole } = await store.write(
      (transaction) => extend(store, transaction, chain, entries, seals, witness),
      {
        turn: auditTurn,
      },
    );
    this.#look(chain, whole);
    this.#entriesSincePrune += entries.length;
    if (store !== database) await database.write((transaction) => noteWitness(database, transaction, chain, end));
  }

  #look(chain: ChainName, whole: boolean): void {
    const what = 'the audit journal is not as this server left it, or APP_KEY is another one; audit:verify says more';
    if (!whole) this.#parts.logger.error({ chain }, what);
  }

  async #writeKeyUse(): Promise<void> {
    const { database } = this.#parts;
    const store = await this.#opened();
    const use = this.#keyUse.take();
    for (let from = 0; from < use.length; from += keysAtOnce) {
      const piece = use.slice(from, from + keysAtOnce);
      const there = await existingKeys(
        database,
        piece.map(({ id }) => id),
      );
      const kept = piece.filter(({ id }) => there.has(id));
      await store.write((transaction) => addKeyUse(store, transaction, kept, endpointsCounted), { turn: 'key use' });
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #considerPruning(now: number): Promise<void> {
    if (this.#store === null) return;
    if (now - this.#prunedAt < pruneMilliseconds && this.#entriesSincePrune < pruneEntries) return;
    this.#prunedAt = now;
    this.#entriesSincePrune = 0;
    for (const chain of chains) await this.#prune(chain, now);
    await this.#forgetKeys();
  }

  async #prune(chain: ChainName, now: number): Promise<void> {
    const { days, entries, seals } = this.#parts;
    const store = await this.#opened();
    const most = chain === 'refusals' ? Math.ceil(entries / 4) : entries;
    const retention = { after: isoTime(now - days * day), most };
    let count = 0;
    for (let pruned = prunedAtOnce; pruned >= prunedAtOnce; count += pruned)
      pruned = await store.write((transaction) => prune(store, transaction, chain, retention, seals), {
        turn: auditTurn,
      });
    if (count > 0) await this.#chain('acts', [{ ...prunedEntry(chain, count), at: isoTime(now) }]);
  }

  /** Keys that fell with their user left no act. */
  async #forgetKeys(): Promise<void> {
    const { database } = this.#parts;
    const store = await this.#opened();
    const known = await keysWithUse(store);
    const there = await existingKeys(database, known);
    const gone = known.filter((id) => !there.has(id));
    if (gone.length > 0)
      await store.write((transaction) => deleteKeyUse(store, transaction, gone), { turn: 'key use' });
  }

  /** Opened when first needed: an application of which nothing is to be noted keeps no second store open. */
  #opened(): Promise<Database> {
    if (this.#store) return this.#store;
    const { database, openStore } = this.#parts;
    const opening = (async () => {
      const own = await openStore().catch(unreachable);
      try {
        await makeAuditTables(own ?? database);
      } catch (error) {
        await own?.close();
        throw error;
      }
      return own ?? database;
    })();
    this.#store = opening;
    opening.catch(() => {
      this.#store = null;
    });
    return opening;
  }

  /** Nobody waits for this work: acts stay where they are, and the next flush tries again. */
  async #quietly(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'the audit journal could not be written');
    }
  }
}

function unreachable(error: unknown): never {
  throw error instanceof DatabaseFault ? error : new DatabaseFault('disk', error);
}

function idsOf(acts: readonly StoredAct[]): number[] {
  return acts.map(({ id }) => id);
}

function entriesOf({ uid, credential, targets, resource: _, destroyed: __, ...act }: Act): NewEntry[] {
  const shown = { ...act, credential: credential && JSON.stringify(credential) };
  const entry = (target: string | null, count: number): NewEntry => ({
    ...shown,
    target,
    count,
    outcome: 'done',
    code: null,
    source: uid,
  });
  if (targets.length > mostTargets) return [entry(null, targets.length)];
  return targets.length === 0 ? [entry(null, 1)] : targets.map((target) => entry(target, 1));
}

/** That entries went out of retention is an entry itself. */
function prunedEntry(chain: ChainName, count: number): Omit<AuditContent, 'at'> & { source: null } {
  const nobody = { actor: null, credential: null, role: null, code: null, address: null, requestId: null };
  return { ...nobody, action: 'audit:prune', target: chain, outcome: 'done', count, source: null };
}

function both(reports: readonly ChainReport[]): ChainReport {
  const least = <T extends string | number>(values: readonly (T | null)[]): T | null =>
    values.reduce((one, other) => (one === null || (other !== null && other < one) ? other : one), null);
  return {
    entries: reports.reduce((sum, { entries }) => sum + entries, 0),
    from: least(reports.map(({ from }) => from)),
    to: reports.reduce<string | null>((one, { to }) => (one === null || (to !== null && to > one) ? to : one), null),
    valid: reports.every(({ valid }) => valid),
    firstBroken: least(reports.map(({ firstBroken }) => firstBroken)),
  };
}
