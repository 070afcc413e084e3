/**
 * Computes the conversations of an account from all of its e-mails, without I/O.
 *
 * Input: stored e-mails, oldest first. Output: groups, each with the conversation that it keeps. It holds one number
 * for each e-mail and each key in memory, and the messages of the last thirty days to which later ones can belong.
 */
import { getElement, getFirst } from '../../base/aligned-lists.ts';
import { DisjointSets } from './disjoint-sets.ts';
import { PartyTimeline } from './party-timeline.ts';
import { addParties, buildPartyEntries, type PartyKind } from './subject-matches.ts';
import type { ThreadIndexKeys } from './thread-index-keys.ts';

/** A stored e-mail. */
export interface StoredThreadEmail {
  readonly id: number;
  readonly conversation: number | null;
  readonly threadKeys: ThreadIndexKeys;
}

/** E-mails of one conversation. */
export interface RebuiltGroup {
  readonly oldest: number;
  /** The conversation that the group keeps, the oldest of its own; null: a new one must be created. */
  readonly keptConversation: number | null;
  /** Other conversations of the group: they are merged into the one that is kept. */
  readonly merged: readonly number[];
  /** E-mails of the group that are in another conversation, each with that conversation. */
  readonly misplaced: readonly MisplacedEmail[];
}

/** An e-mail that is not in the conversation of its group. */
export interface MisplacedEmail {
  readonly id: number;
  readonly from: number | null;
}

/** After how many e-mails old timelines are removed. */
const sweepEvery = 5000;
/** E-mails that are processed in about a millisecond. */
const yieldEvery = 1000;

/**
 * Groups the e-mails of one account.
 *
 * @example `const grouping = new GroupRebuild(addresses); grouping.add(email); for (const group of grouping.groups()) …`
 */
export class GroupRebuild {
  readonly #accountAddresses: ReadonlySet<string>;
  readonly #ids: number[] = [];
  readonly #conversations: (number | null)[] = [];
  readonly #sets = new DisjointSets();
  /** The first e-mail that has a key, by the key. */
  readonly #keys = new Map<string, number>();
  /** The messages of the last thirty days, by subject and correspondent. */
  readonly #timelines = new Map<string, PartyTimeline>();

  /** @param accountAddresses addresses of the account, in lower case. */
  constructor(accountAddresses: ReadonlySet<string>) {
    this.#accountAddresses = accountAddresses;
  }

  /** How many e-mails were added. */
  get size(): number {
    return this.#ids.length;
  }

  /** Adds the next e-mail in the order of ids. */
  add({ id, conversation, threadKeys }: StoredThreadEmail): void {
    const index = this.#ids.push(id) - 1;
    this.#conversations.push(conversation);
    this.#sets.add();
    for (const key of threadKeys.keys) {
      const first = this.#keys.get(key);
      if (first === undefined) this.#keys.set(key, index);
      else this.#sets.join(first, index);
    }
    for (const { key, kind } of buildPartyEntries(addParties(threadKeys, this.#accountAddresses)))
      this.#joinByParty(key, kind, index, threadKeys.threaded.at);
    if (this.size % sweepEvery === 0) this.#pruneTimelines(threadKeys.threaded.at);
  }

  /** Removes a key. @returns the oldest e-mail of the group that has it; null where no e-mail has it. */
  takeKey(key: string): number | null {
    const index = this.#keys.get(key);
    if (index === undefined) return null;
    this.#keys.delete(key);
    return getElement(this.#ids, this.#sets.findRoot(index));
  }

  /** Keys that were not removed by {@link takeKey}. */
  remainingKeys(): IterableIterator<string> {
    return this.#keys.keys();
  }

  /** The groups, in the order of their oldest e-mails. Yields null now and then, so that the caller can let other work run. */
  *groups(): Generator<RebuiltGroup | null> {
    const members = new Map<number, number[]>();
    const owned = new Map<number, number[]>();
    const taken = new Set<number>();
    for (const [index, conversation] of this.#conversations.entries()) {
      const root = this.#sets.findRoot(index);
      add(members, root, index);
      // A conversation belongs to the group of its oldest e-mail.
      if (conversation !== null && !taken.has(conversation)) add(owned, root, conversation);
      if (conversation !== null) taken.add(conversation);
      if (index % yieldEvery === 0) yield null;
    }
    for (const [root, indexes] of members) {
      yield this.#buildGroup(indexes, owned.get(root) ?? []);
      if (root % yieldEvery === 0) yield null;
    }
  }

  #buildGroup(indexes: readonly number[], ownConversations: readonly number[]): RebuiltGroup {
    const keptConversation =
      ownConversations.length === 0 ? null : ownConversations.reduce((one, other) => Math.min(one, other));
    const misplaced = indexes
      .map((index): MisplacedEmail => ({ id: getElement(this.#ids, index), from: this.#conversations[index] ?? null }))
      .filter(({ from }) => from === null || from !== keptConversation);
    return {
      oldest: getElement(this.#ids, getFirst(indexes)),
      keptConversation,
      merged: ownConversations.filter((each) => each !== keptConversation),
      misplaced,
    };
  }

  #joinByParty(key: string, kind: PartyKind, index: number, time: number): void {
    const timeline = this.#timelines.get(key) ?? new PartyTimeline();
    this.#timelines.set(key, timeline);
    for (const other of timeline.add(kind, index, time)) this.#sets.join(other, index);
  }

  #pruneTimelines(now: number): void {
    for (const [key, timeline] of this.#timelines) if (timeline.prune(now)) this.#timelines.delete(key);
  }
}

function add(lists: Map<number, number[]>, key: number, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
