/** Extends, prunes and verifies one chain of a journal's store. Whoever calls holds {@link auditTurn}. */
import {
  type AuditContent,
  type AuditRow,
  type ChainEnds,
  type ChainName,
  deleteEntries,
  entriesAfter,
  highest,
  insertEntries,
  type NewAuditRow,
  prunable,
  readEnds,
  writeEnds,
} from '../database/audit-rows.ts';
import type { Database, Transaction } from '../database/database.ts';
import { brokenHash, emptyEnds, entryHash, type Seals } from './hash-chain.ts';

/** An entry about to be chained, and the act that it was made from. */
export type NewEntry = AuditContent & { readonly source: string | null };

/** Entries looked at at once: about 2 ms. */
const pageSize = 500;
/** Entries pruned in one transaction. */
export const prunedAtOnce = 5000;

/** How far a chain had come once, as the application's own store remembers it. */
export type Witness = { readonly place: number; readonly hash: string } | null;

/** Where a chain ends after it was extended, and whether it was whole before. */
export interface Extended {
  readonly end: ChainEnds;
  readonly whole: boolean;
}

/**
 * Chains entries after the newest one. Where the chain's end is not as it was left, it goes on from a hash that fits
 * nothing, so that it can never be taken for whole again.
 */
export async function extend(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
  entries: readonly NewEntry[],
  seals: Seals,
  witness: Witness,
): Promise<Extended> {
  const known = await readEnds(journal, chain, transaction);
  const rows = await highest(journal, transaction, chain);
  const ends = known ?? seals.sealed(chain, emptyEnds);
  const whole = (known ? seals.endHolds(chain, known) : rows.place === 0) && reaches(ends, witness);
  let former = whole ? ends.hash : brokenHash();
  let place = Math.max(ends.place, rows.place);
  let { id } = rows;
  const chained = entries.map((entry): NewAuditRow => {
    place += 1;
    id += 1;
    const hash = entryHash(former, chain, { ...entry, id, place });
    former = hash;
    return { ...entry, id, place, hash };
  });
  await insertEntries(journal, transaction, chain, chained);
  const sealed = seals.sealed(chain, { ...ends, place, lastId: id, hash: former });
  // A beginning that somebody moved is not made good by signing it again.
  const next = seals.anchorHolds(chain, ends) ? sealed : { ...sealed, anchorSeal: ends.anchorSeal };
  await writeEnds(journal, transaction, chain, next);
  return { end: next, whole };
}

function reaches({ place, hash }: ChainEnds, witness: Witness): boolean {
  return witness === null || place > witness.place || (place === witness.place && hash === witness.hash);
}

/** What may stay: entries from a moment on, and so many of them. */
export interface Retention {
  readonly after: string;
  readonly most: number;
}

/**
 * Removes the oldest entries that are out of retention, at most {@link prunedAtOnce} of them; the anchor says where the
 * chain begins from then on. A chain whose beginning was tampered with is left as it is.
 *
 * @returns how many.
 */
export async function prune(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
  { after, most }: Retention,
  seals: Seals,
): Promise<number> {
  const ends = await readEnds(journal, chain, transaction);
  if (!ends || !seals.anchorHolds(chain, ends) || !seals.endHolds(chain, ends)) return 0;
  const last = await prunable(journal, transaction, chain, { before: after, upTo: ends.place - most }, prunedAtOnce);
  if (!last) {
    // Sealed under the former APP_KEY: signed anew while that one is still known.
    const sealed = seals.sealed(chain, ends);
    if (sealed.seal !== ends.seal) await writeEnds(journal, transaction, chain, sealed);
    return 0;
  }
  const count = await deleteEntries(journal, transaction, chain, last.place);
  const anchored = { ...ends, anchorPlace: last.place, anchorHash: last.hash };
  await writeEnds(journal, transaction, chain, seals.sealed(chain, anchored));
  return count;
}

/** What a look at every entry of a chain found. */
export interface ChainReport {
  readonly entries: number;
  /** When the oldest and the newest entry were written; null without any. */
  readonly from: string | null;
  readonly to: string | null;
  readonly valid: boolean;
  /** Id of the first entry that is not as it was written, or of the first one that is missing where that is known. */
  readonly firstBroken: number | null;
}

/** Looks at every entry, in pieces: a long journal holds up nobody. */
export async function verify(
  journal: Database,
  chain: ChainName,
  witness: Witness,
  seals: Seals,
): Promise<ChainReport> {
  const ends = await readEnds(journal, chain);
  const start = ends ?? seals.sealed(chain, emptyEnds);
  const walk = new Walk(chain, start, witness);
  for (let end: ChainEnds | null = null; ; ) {
    const rows = await entriesAfter(journal, chain, walk.reached, pageSize);
    for (const row of rows) walk.pass(row);
    await new Promise((resolve) => setImmediate(resolve));
    if (rows.length > 0) continue;
    const known = end?.place;
    end = await readEnds(journal, chain);
    // An end that is further on was made while this looked: the entries are there by now, or they are missing.
    if (end && walk.reached < end.place && known !== end.place) continue;
    return walk.report(end, end === null || (seals.endHolds(chain, end) && seals.anchorHolds(chain, end)));
  }
}

/** Passes the entries of a chain in their order. */
class Walk {
  readonly #chain: ChainName;
  readonly #witness: Witness;
  readonly #anchor: number;
  #former: string;
  #entries = 0;
  #from: string | null = null;
  #to: string | null = null;
  #lastId: number | null = null;
  #firstBroken: number | null = null;
  reached: number;

  constructor(chain: ChainName, { anchorPlace, anchorHash }: ChainEnds, witness: Witness) {
    this.#chain = chain;
    this.#witness = witness;
    this.#anchor = anchorPlace;
    this.#former = anchorHash;
    this.reached = anchorPlace;
  }

  pass(row: AuditRow): void {
    const follows = row.place === this.reached + 1 && row.hash === entryHash(this.#former, this.#chain, row);
    const witnessed = this.#witness?.place !== row.place || this.#witness.hash === row.hash;
    if (!follows || !witnessed) this.#firstBroken ??= row.id;
    this.#entries += 1;
    this.#from ??= row.at;
    this.#to = row.at;
    this.#lastId = row.id;
    this.#former = row.hash;
    this.reached = row.place;
  }

  report(end: ChainEnds | null, sealed: boolean): ChainReport {
    const ended = end ? end.place === this.reached && end.hash === this.#former : this.#entries === 0;
    const remembered = this.#witness === null || this.#witness.place <= Math.max(this.reached, this.#anchor);
    const valid = this.#firstBroken === null && ended && sealed && remembered;
    const missing = end && end.place > this.reached ? end.lastId : this.#lastId;
    return {
      entries: this.#entries,
      from: this.#from,
      to: this.#to,
      valid,
      firstBroken: valid ? null : (this.#firstBroken ?? missing),
    };
  }
}
