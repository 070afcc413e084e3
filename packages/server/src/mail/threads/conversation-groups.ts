/** Groups messages into conversations by their keys, without I/O. */

/** A message to group. */
export interface JoinCandidate {
  /** All messages with the same key belong to the same conversation. */
  readonly keys: readonly string[];
  /** Conversations to which the message belongs by its subject. */
  readonly conversations: readonly number[];
  /** Indexes of other messages in the same list to which it belongs by its subject. */
  readonly matchedIndexes: readonly number[];
}

/** Where a message belongs: an existing conversation, or the index of the first message of a new one. */
export type ConversationPlacement = { readonly conversation: number } | { readonly first: number };

export interface Groups {
  /** For each message, in their order. */
  readonly placements: readonly ConversationPlacement[];
  /** Conversations that must be merged; the oldest one is kept. */
  readonly merges: readonly { readonly into: number; readonly others: readonly number[] }[];
}

/**
 * Joins messages with each other and with existing conversations. This is a union over keys, so the order of arrival does not
 * matter.
 *
 * @param known the conversations of known keys.
 */
export function groupIntoConversations(messages: readonly JoinCandidate[], known: ReadonlyMap<string, number>): Groups {
  const sets = new DisjointSets();
  messages.forEach(({ keys, conversations, matchedIndexes }, index) => {
    const self = `m${index}`;
    for (const key of keys) {
      sets.join(self, `k${key}`);
      const conversation = known.get(key);
      if (conversation !== undefined) sets.join(self, `c${conversation}`);
    }
    for (const each of conversations) sets.join(self, `c${each}`);
    for (const each of matchedIndexes) sets.join(self, `m${each}`);
  });
  const present = findConversations(sets);
  const firsts = new Map<string, number>();
  const placements = messages.map((_, index): ConversationPlacement => {
    const root = sets.root(`m${index}`);
    const existing = present.get(root);
    if (existing) return { conversation: Math.min(...existing) };
    if (!firsts.has(root)) firsts.set(root, index);
    return { first: firsts.get(root)! };
  });
  const merges = [...present.values()]
    .filter((each) => each.length > 1)
    .map((each) => {
      const into = Math.min(...each);
      return { into, others: each.filter((id) => id !== into) };
    });
  return { placements, merges };
}

/** The existing conversations, by the set that they are in. */
function findConversations(sets: DisjointSets): Map<string, number[]> {
  const present = new Map<string, number[]>();
  for (const member of [...sets.members()].filter((each) => each.startsWith('c'))) {
    const root = sets.root(member);
    present.set(root, [...(present.get(root) ?? []), Number(member.slice(1))]);
  }
  return present;
}

/** A union-find over names, with path halving. */
class DisjointSets {
  readonly #parents = new Map<string, string>();

  members(): IterableIterator<string> {
    return this.#parents.keys();
  }

  root(member: string): string {
    if (!this.#parents.has(member)) this.#parents.set(member, member);
    let node = member;
    for (;;) {
      const above = this.#parents.get(node) ?? node;
      if (above === node) return node;
      const next = this.#parents.get(above) ?? above;
      this.#parents.set(node, next);
      node = next;
    }
  }

  join(one: string, other: string): void {
    const [left, right] = [this.root(one), this.root(other)];
    if (left !== right) this.#parents.set(right, left);
  }
}
