import { computeThreadKey, joinsBySubject, type ThreadedMail, type ThreadKey } from './thread-key.ts';

/**
 * The conversations of a set of messages, by the rule itself and without an index: what the incremental index of a store is held against.
 *
 * @returns indexes into `mails`; each group in that order, the groups by their first.
 */
export function partitionIntoThreads(
  mails: readonly ThreadedMail[],
  accountAddresses: ReadonlySet<string> = new Set(),
): number[][] {
  const groups = new Groups(mails.length);
  const keys = mails.map(computeThreadKey);
  joinByIds(keys, groups);
  joinOrphans(mails, keys, accountAddresses, groups);
  return groups.all();
}

function joinByIds(keys: readonly ThreadKey[], groups: Groups): void {
  const first = new Map<string, number>();
  for (const [index, { ids, base }] of keys.entries()) {
    for (const id of ids) {
      const pair = JSON.stringify([id, base]);
      const known = first.get(pair);
      if (known === undefined) first.set(pair, index);
      else groups.join(known, index);
    }
  }
}

function joinOrphans(
  mails: readonly ThreadedMail[],
  keys: readonly ThreadKey[],
  accountAddresses: ReadonlySet<string>,
  groups: Groups,
): void {
  const byBase = Map.groupBy(keys.keys(), (index) => keys[index]!.base);
  for (const [index, { orphan, base }] of keys.entries()) {
    if (!orphan) continue;
    for (const other of byBase.get(base)!)
      if (other !== index && joinsBySubject(mails[index]!, mails[other]!, accountAddresses)) groups.join(index, other);
  }
}

/** Disjoint sets of numbers. */
class Groups {
  readonly #parents: number[];

  constructor(size: number) {
    this.#parents = Array.from({ length: size }, (_, index) => index);
  }

  join(one: number, other: number): void {
    const [low, high] = [this.#root(one), this.#root(other)].sort((a, b) => a - b) as [number, number];
    this.#parents[high] = low;
  }

  all(): number[][] {
    return [...Map.groupBy(this.#parents.keys(), (index) => this.#root(index)).values()];
  }

  #root(index: number): number {
    let root = index;
    while (this.#parents[root] !== root) root = this.#parents[root]!;
    this.#parents[index] = root;
    return root;
  }
}
