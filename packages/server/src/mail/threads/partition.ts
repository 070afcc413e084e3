import { joinsBySubject, type ThreadedMail, type ThreadKey, threadKey } from './thread-key.ts';

/**
 * The conversations of a set of messages, by the rule itself and without an index: what the incremental index of a store is held against.
 *
 * @returns indexes into `mails`; each group in that order, the groups by their first.
 */
export function partition(mails: readonly ThreadedMail[], own: ReadonlySet<string> = new Set()): number[][] {
  const groups = new Groups(mails.length);
  const keys = mails.map(threadKey);
  joinByIds(keys, groups);
  joinOrphans(mails, keys, own, groups);
  return groups.all();
}

function joinByIds(keys: readonly ThreadKey[], groups: Groups): void {
  const first = new Map<string, number>();
  for (const [at, { ids, base }] of keys.entries()) {
    for (const id of ids) {
      const pair = JSON.stringify([id, base]);
      const known = first.get(pair);
      if (known === undefined) first.set(pair, at);
      else groups.join(known, at);
    }
  }
}

function joinOrphans(
  mails: readonly ThreadedMail[],
  keys: readonly ThreadKey[],
  own: ReadonlySet<string>,
  groups: Groups,
): void {
  const byBase = Map.groupBy(keys.keys(), (at) => keys[at]!.base);
  for (const [at, { orphan, base }] of keys.entries()) {
    if (!orphan) continue;
    for (const other of byBase.get(base)!)
      if (other !== at && joinsBySubject(mails[at]!, mails[other]!, own)) groups.join(at, other);
  }
}

/** Disjoint sets of numbers. */
class Groups {
  readonly #parents: number[];

  constructor(size: number) {
    this.#parents = Array.from({ length: size }, (_, at) => at);
  }

  join(one: number, other: number): void {
    const [low, high] = [this.#root(one), this.#root(other)].sort((a, b) => a - b) as [number, number];
    this.#parents[high] = low;
  }

  all(): number[][] {
    return [...Map.groupBy(this.#parents.keys(), (at) => this.#root(at)).values()];
  }

  #root(at: number): number {
    let root = at;
    while (this.#parents[root] !== root) root = this.#parents[root]!;
    this.#parents[at] = root;
    return root;
  }
}
