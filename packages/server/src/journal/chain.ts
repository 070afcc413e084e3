/** Extends, prunes and verifies one chain of a journal's store. Writes require the lock {@link auditLockKey}. */
import {
  type AuditContent,
  type AuditRow,
  type ChainEnds,
  type ChainName,
  deleteAuditEntries,
  findPrunableEntry,
  insertAuditEntries,
  type NewAuditRow,
  readChainEnds,
  readEntriesAfter,
  readHighest,
  writeChainEnds,
} from '../database/audit-rows.ts';
import { auditLockKey, createAuditTables } from '../database/audit-tables.ts';
import type { Database, Transaction } from '../database/database.ts';
import { type ChainSigner, computeEntryHash, emptyEnds, makeBrokenHash } from './hash-chain.ts';

/** An entry to be chained. `source`: the id of its action. */
export type NewEntry = AuditContent & { readonly source: string | null };

/** Entries that are verified at once: about 2 ms. */
const pageSize = 500;
export const chainNames: readonly ChainName[] = ['acts', 'refusals'];
/** Entries pruned in one transaction. */
export const pruneBatchSize = 5000;

/** A chain in a transaction of the store of its journal. */
export interface OpenChain {
  readonly journal: Database;
  readonly transaction: Transaction;
  readonly name: ChainName;
  readonly signer: ChainSigner;
}

/** An earlier end of a chain, which is also stored in the application's store. */
export type ChainCheckpoint = { readonly place: number; readonly hash: string } | null;

/** The new end of a chain, and whether the chain was intact before. */
export interface ChainExtension {
  readonly end: ChainEnds;
  readonly isIntact: boolean;
}

/**
 * Chains entries after the newest one. If the chain's end was tampered with, it continues from a hash that matches nothing, so
 * that it never verifies again.
 */
export async function extendChain(
  { journal, transaction, name: chain, signer }: OpenChain,
  entries: readonly NewEntry[],
  checkpoint: ChainCheckpoint,
): Promise<ChainExtension> {
  const known = await readChainEnds(journal, chain, transaction);
  const rows = await readHighest(journal, transaction, chain);
  const ends = known ?? signer.sign(chain, emptyEnds);
  const isIntact = (known ? signer.isEndValid(chain, known) : rows.place === 0) && reachesCheckpoint(ends, checkpoint);
  let previousHash = isIntact ? ends.hash : makeBrokenHash();
  let position = Math.max(ends.place, rows.place);
  let { id } = rows;
  const chained = entries.map((entry): NewAuditRow => {
    position += 1;
    id += 1;
    const hash = computeEntryHash(previousHash, chain, { ...entry, id, place: position });
    previousHash = hash;
    return { ...entry, id, place: position, hash };
  });
  await insertAuditEntries(journal, transaction, chain, chained);
  const signed = signer.sign(chain, { ...ends, place: position, lastId: id, hash: previousHash });
  // An anchor that was tampered with must not get a new signature.
  const next = signer.isAnchorValid(chain, ends) ? signed : { ...signed, anchorSeal: ends.anchorSeal };
  await writeChainEnds(journal, transaction, chain, next);
  return { end: next, isIntact };
}

function reachesCheckpoint({ place, hash }: ChainEnds, checkpoint: ChainCheckpoint): boolean {
  return checkpoint === null || place > checkpoint.place || (place === checkpoint.place && hash === checkpoint.hash);
}

/** The entries to keep: those after a time, and at most `maxEntries`. */
export interface Retention {
  readonly after: string;
  readonly maxEntries: number;
}

/**
 * Removes the oldest entries that exceed the retention, at most {@link pruneBatchSize} of them, and moves the anchor to the new
 * beginning of the chain. A chain that was tampered with is not pruned.
 *
 * @returns the number of removed entries.
 */
export async function pruneChain(
  { journal, transaction, name: chain, signer }: OpenChain,
  { after, maxEntries }: Retention,
): Promise<number> {
  const ends = await readChainEnds(journal, chain, transaction);
  if (!ends || !signer.isAnchorValid(chain, ends) || !signer.isEndValid(chain, ends)) return 0;
  const last = await findPrunableEntry(journal, transaction, chain, {
    before: after,
    upTo: ends.place - maxEntries,
    limit: pruneBatchSize,
  });
  if (!last) {
    // Signed under the previous APP_KEY: signed again while that one is still known.
    const signed = signer.sign(chain, ends);
    if (signed.seal !== ends.seal) await writeChainEnds(journal, transaction, chain, signed);
    return 0;
  }
  const count = await deleteAuditEntries(journal, transaction, chain, last.place);
  const movedAnchor = { ...ends, anchorPlace: last.place, anchorHash: last.hash };
  await writeChainEnds(journal, transaction, chain, signer.sign(chain, movedAnchor));
  return count;
}

/** Signs the chains of a copied application under its own name. An end that was tampered with keeps its invalid signature. */
export async function signCopiedChains(journal: Database, original: ChainSigner, copy: ChainSigner): Promise<void> {
  await createAuditTables(journal);
  await journal.write(
    async (transaction) => {
      for (const chain of chainNames) {
        const ends = await readChainEnds(journal, chain, transaction);
        if (!ends || !original.isEndValid(chain, ends) || !original.isAnchorValid(chain, ends)) continue;
        await writeChainEnds(journal, transaction, chain, copy.sign(chain, ends));
      }
    },
    { lockKey: auditLockKey },
  );
}

/** The result of verifying every entry of a chain. */
export interface ChainReport {
  readonly entries: number;
  /** When the oldest and the newest entry were written; null without entries. */
  readonly from: string | null;
  readonly to: string | null;
  readonly valid: boolean;
  /** The id of the first changed entry, or of the first missing one if it is known. */
  readonly firstBroken: number | null;
}

/** Verifies every entry, in pages, so that a long journal does not block the event loop. */
export async function verifyChain(
  journal: Database,
  chain: ChainName,
  checkpoint: ChainCheckpoint,
  signer: ChainSigner,
): Promise<ChainReport> {
  const ends = await readChainEnds(journal, chain);
  const start = ends ?? signer.sign(chain, emptyEnds);
  const walk = new ChainVerification(chain, start, checkpoint);
  for (let end: ChainEnds | null = null; ; ) {
    const rows = await readEntriesAfter(journal, chain, walk.position, pageSize);
    for (const row of rows) walk.check(row);
    await new Promise((resolve) => setImmediate(resolve));
    if (rows.length > 0) continue;
    const known = end?.place;
    end = await readChainEnds(journal, chain);
    // The chain was extended during the run: the new entries exist now, or they are missing.
    if (end && walk.position < end.place && known !== end.place) continue;
    return walk.report(end, end === null || (signer.isEndValid(chain, end) && signer.isAnchorValid(chain, end)));
  }
}

/** Checks the entries of a chain in their order. */
class ChainVerification {
  readonly #chain: ChainName;
  readonly #checkpoint: ChainCheckpoint;
  readonly #anchor: number;
  #previousHash: string;
  #entries = 0;
  #from: string | null = null;
  #to: string | null = null;
  #lastId: number | null = null;
  #firstBroken: number | null = null;
  position: number;

  constructor(chain: ChainName, { anchorPlace, anchorHash }: ChainEnds, checkpoint: ChainCheckpoint) {
    this.#chain = chain;
    this.#checkpoint = checkpoint;
    this.#anchor = anchorPlace;
    this.#previousHash = anchorHash;
    this.position = anchorPlace;
  }

  check(row: AuditRow): void {
    const isLinked =
      row.place === this.position + 1 && row.hash === computeEntryHash(this.#previousHash, this.#chain, row);
    const matchesCheckpoint = this.#checkpoint?.place !== row.place || this.#checkpoint.hash === row.hash;
    if (!isLinked || !matchesCheckpoint) this.#firstBroken ??= row.id;
    this.#entries += 1;
    this.#from ??= row.at;
    this.#to = row.at;
    this.#lastId = row.id;
    this.#previousHash = row.hash;
    this.position = row.place;
  }

  report(end: ChainEnds | null, isSignatureValid: boolean): ChainReport {
    const endMatches = end ? end.place === this.position && end.hash === this.#previousHash : this.#entries === 0;
    const includesCheckpoint =
      this.#checkpoint === null || this.#checkpoint.place <= Math.max(this.position, this.#anchor);
    const valid = this.#firstBroken === null && endMatches && isSignatureValid && includesCheckpoint;
    const missing = end && end.place > this.position ? end.lastId : this.#lastId;
    return {
      entries: this.#entries,
      from: this.#from,
      to: this.#to,
      valid,
      firstBroken: valid ? null : (this.#firstBroken ?? missing),
    };
  }
}
