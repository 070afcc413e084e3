/**
 * The conversations of an account as its e-mails would have them, beside those that they are in. Enter stored e-mails, the oldest first;
 * leave groups, each with the conversation that it keeps. Pure; holds a number for each e-mail and each key, and what is needed of the
 * last thirty days.
 */

import { PartyTimeline } from './party-timeline.ts';
import { type PartyKind, partyEntries, withParties } from './subject-matches.ts';
import type { ThreadSigns } from './thread-signs.ts';

/** An e-mail as it is stored. */
export interface StoredThreaded {
  readonly id: number;
  readonly conversation: number | null;
  readonly signs: ThreadSigns;
}

/** E-mails of one conversation. */
export interface Regrouped {
  readonly oldest: number;
  /** The conversation that they keep, the oldest of those that are theirs; null: they need one of their own. */
  readonly keeps: number | null;
  /** Conversations that are theirs too: they lead to the one that is kept. */
  readonly merged: readonly number[];
  /** Those of them that are in another conversation, each with that one. */
  readonly strays: readonly Stray[];
}

export interface Stray {
  readonly id: number;
  readonly from: number | null;
}

/** How often timelines are looked through for those that are over. */
const sweepEvery = 5000;
/** E-mails that are looked at in about a millisecond. */
const breathEvery = 1000;

export class Regrouping {
  readonly #own: ReadonlySet<string>;
  readonly #ids: number[] = [];
  readonly #conversations: (number | null)[] = [];
  readonly #parents: number[] = [];
  /** Of each key the first e-mail that has it. */
  readonly #keys = new Map<string, number>();
  /** Of each subject and party what the last thirty days have brought. */
  readonly #timelines = new Map<string, PartyTimeline>();

  /** @param own addresses of the account, in lower case. */
  constructor(own: ReadonlySet<string>) {
    this.#own = own;
  }

  get size(): number {
    return this.#ids.length;
  }

  /** Takes the next e-mail in the order of ids. */
  add({ id, conversation, signs }: StoredThreaded): void {
    const place = this.#ids.push(id) - 1;
    this.#conversations.push(conversation);
    this.#parents.push(place);
    for (const key of signs.keys) {
      const first = this.#keys.get(key);
      if (first === undefined) this.#keys.set(key, place);
      else this.#join(first, place);
    }
    for (const { key, kind } of partyEntries(withParties(signs, this.#own)))
      this.#joinByParty(key, kind, place, signs.threaded.at);
    if (this.size % sweepEvery === 0) this.#forgetTimelines(signs.threaded.at);
  }

  /** The oldest e-mail of the group that has a key, which is then looked for no more; null where none has it. */
  take(key: string): number | null {
    const place = this.#keys.get(key);
    if (place === undefined) return null;
    this.#keys.delete(key);
    return this.#ids[this.#root(place)]!;
  }

  /** Keys that were not taken. */
  left(): IterableIterator<string> {
    return this.#keys.keys();
  }

  /** The groups, by their oldest e-mails; null now and then, so that who takes them may let others in. */
  *groups(): Generator<Regrouped | null> {
    const members = new Map<number, number[]>();
    const owned = new Map<number, number[]>();
    const taken = new Set<number>();
    for (const [place, conversation] of this.#conversations.entries()) {
      const root = this.#root(place);
      add(members, root, place);
      // A conversation belongs to the group of its oldest e-mail.
      if (conversation !== null && !taken.has(conversation)) add(owned, root, conversation);
      if (conversation !== null) taken.add(conversation);
      if (place % breathEvery === 0) yield null;
    }
    for (const [root, places] of members) {
      yield this.#grouped(places, owned.get(root) ?? []);
      if (root % breathEvery === 0) yield null;
    }
  }

  #grouped(places: readonly number[], own: readonly number[]): Regrouped {
    const keeps = own.length === 0 ? null : own.reduce((one, other) => Math.min(one, other));
    const strays = places
      .map((place): Stray => ({ id: this.#ids[place]!, from: this.#conversations[place]! }))
      .filter(({ from }) => from === null || from !== keeps);
    return { oldest: this.#ids[places[0]!]!, keeps, merged: own.filter((each) => each !== keeps), strays };
  }

  #joinByParty(key: string, kind: PartyKind, place: number, at: number): void {
    const timeline = this.#timelines.get(key) ?? new PartyTimeline();
    this.#timelines.set(key, timeline);
    for (const other of timeline.add(kind, place, at)) this.#join(other, place);
  }

  #forgetTimelines(now: number): void {
    for (const [key, timeline] of this.#timelines) if (timeline.prune(now)) this.#timelines.delete(key);
  }

  /** The older of two stays the root, so that a root is the oldest of its group. */
  #join(one: number, other: number): void {
    const [low, high] = [this.#root(one), this.#root(other)].sort((a, b) => a - b) as [number, number];
    this.#parents[high] = low;
  }

  #root(at: number): number {
    let root = at;
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
