/**
 * The conversations of an account as its e-mails would have them, beside those that they are in. Enter stored e-mails, the oldest first;
 * leave groups, each with the conversation that it keeps. Pure; holds a number for each e-mail and each key, and what is needed of the
 * last thirty days.
 */

import { PartyTimeline } from './party-timeline.ts';
import { addParties, buildPartyEntries, type PartyKind } from './subject-matches.ts';
import type { ThreadIndexKeys } from './thread-index-keys.ts';

/** An e-mail as it is stored. */
export interface StoredThreadEmail {
  readonly id: number;
  readonly conversation: number | null;
  readonly threadKeys: ThreadIndexKeys;
}

/** E-mails of one conversation. */
export interface RebuiltGroup {
  readonly oldest: number;
  /** The conversation that they keep, the oldest of those that are theirs; null: they need one of their own. */
  readonly keptConversation: number | null;
  /** Conversations that are theirs too: they lead to the one that is kept. */
  readonly merged: readonly number[];
  /** Those of them that are in another conversation, each with that one. */
  readonly misplaced: readonly MisplacedEmail[];
}

export interface MisplacedEmail {
  readonly id: number;
  readonly from: number | null;
}

/** How often timelines are looked through for those that are over. */
const sweepEvery = 5000;
/** E-mails that are looked at in about a millisecond. */
const yieldEvery = 1000;

export class GroupRebuild {
  readonly #accountAddresses: ReadonlySet<string>;
  readonly #ids: number[] = [];
  readonly #conversations: (number | null)[] = [];
  readonly #parents: number[] = [];
  /** Of each key the first e-mail that has it. */
  readonly #keys = new Map<string, number>();
  /** Of each subject and party what the last thirty days have brought. */
  readonly #timelines = new Map<string, PartyTimeline>();

  /** @param accountAddresses addresses of the account, in lower case. */
  constructor(accountAddresses: ReadonlySet<string>) {
    this.#accountAddresses = accountAddresses;
  }

  get size(): number {
    return this.#ids.length;
  }

  /** Takes the next e-mail in the order of ids. */
  add({ id, conversation, threadKeys }: StoredThreadEmail): void {
    const index = this.#ids.push(id) - 1;
    this.#conversations.push(conversation);
    this.#parents.push(index);
    for (const key of threadKeys.keys) {
      const first = this.#keys.get(key);
      if (first === undefined) this.#keys.set(key, index);
      else this.#join(first, index);
    }
    for (const { key, kind } of buildPartyEntries(addParties(threadKeys, this.#accountAddresses)))
      this.#joinByParty(key, kind, index, threadKeys.threaded.at);
    if (this.size % sweepEvery === 0) this.#pruneTimelines(threadKeys.threaded.at);
  }

  /** The oldest e-mail of the group that has a key, which is then looked for no more; null where none has it. */
  takeKey(key: string): number | null {
    const index = this.#keys.get(key);
    if (index === undefined) return null;
    this.#keys.delete(key);
    return this.#ids[this.#root(index)]!;
  }

  /** Keys that were not taken. */
  remainingKeys(): IterableIterator<string> {
    return this.#keys.keys();
  }

  /** The groups, by their oldest e-mails; null now and then, so that who takes them may let others in. */
  *groups(): Generator<RebuiltGroup | null> {
    const members = new Map<number, number[]>();
    const owned = new Map<number, number[]>();
    const taken = new Set<number>();
    for (const [index, conversation] of this.#conversations.entries()) {
      const root = this.#root(index);
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
      .map((index): MisplacedEmail => ({ id: this.#ids[index]!, from: this.#conversations[index]! }))
      .filter(({ from }) => from === null || from !== keptConversation);
    return {
      oldest: this.#ids[indexes[0]!]!,
      keptConversation,
      merged: ownConversations.filter((each) => each !== keptConversation),
      misplaced,
    };
  }

  #joinByParty(key: string, kind: PartyKind, index: number, time: number): void {
    const timeline = this.#timelines.get(key) ?? new PartyTimeline();
    this.#timelines.set(key, timeline);
    for (const other of timeline.add(kind, index, time)) this.#join(other, index);
  }

  #pruneTimelines(now: number): void {
    for (const [key, timeline] of this.#timelines) if (timeline.prune(now)) this.#timelines.delete(key);
  }

  /** The older of two stays the root, so that a root is the oldest of its group. */
  #join(one: number, other: number): void {
    const [low, high] = [this.#root(one), this.#root(other)].sort((a, b) => a - b) as [number, number];
    this.#parents[high] = low;
  }

  #root(index: number): number {
    let root = index;
    while (this.#parents[root] !== root) {
      this.#parents[root] = this.#parents[this.#parents[root]!]!;
      root = this.#parents[root]!;
    }
    return root;
  }
}

function add(lists: Map<number, number[]>, key: number, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
