import { DisjointSets } from './disjoint-sets.ts';
import { computeThreadKey, joinsBySubject, type ThreadedMail, type ThreadKey } from './thread-key.ts';

/**
 * Computes the conversations of a set of messages from the rule itself, without an index. Tests compare the incremental index of a
 * store with it.
 *
 * @returns indexes into `mails`; each group in that order, the groups by their first.
 */
export function partitionIntoThreads(
  mails: readonly ThreadedMail[],
  accountAddresses: ReadonlySet<string> = new Set(),
): number[][] {
  const messages = mails.map((mail, index): Message => ({ index, mail, key: computeThreadKey(mail) }));
  const sets = new DisjointSets();
  for (const _ of messages) sets.add();
  joinByIds(messages, sets);
  joinOrphans(messages, accountAddresses, sets);
  return [...Map.groupBy(messages.keys(), (index) => sets.findRoot(index)).values()];
}

interface Message {
  readonly index: number;
  readonly mail: ThreadedMail;
  readonly key: ThreadKey;
}

function joinByIds(messages: readonly Message[], sets: DisjointSets): void {
  const first = new Map<string, number>();
  for (const { index, key } of messages) {
    for (const id of key.ids) {
      const pair = JSON.stringify([id, key.base]);
      const known = first.get(pair);
      if (known === undefined) first.set(pair, index);
      else sets.join(known, index);
    }
  }
}

function joinOrphans(messages: readonly Message[], accountAddresses: ReadonlySet<string>, sets: DisjointSets): void {
  const byBase = Map.groupBy(messages, ({ key }) => key.base);
  for (const one of messages) {
    if (!one.key.orphan) continue;
    for (const other of byBase.get(one.key.base) ?? [])
      if (other !== one && joinsBySubject(one.mail, other.mail, accountAddresses)) sets.join(one.index, other.index);
  }
}
